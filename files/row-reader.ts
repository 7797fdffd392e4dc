/** Reads rows from a file in one of the formats, a page at a time. */

import { stat } from 'node:fs/promises';
import type { StoredDataset } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { readCsv } from './csv-reader.ts';
import { readJsonl } from './jsonl-reader.ts';
import { type FileFormat, type FileRow, type Layout, layouts } from './layout.ts';
import { readParquet } from './parquet-reader.ts';

/** A row that is none, as it stands in the file. */
export interface BrokenRow {
  readonly raw: string;
  readonly reason: string;
}

export type ReadRow = FileRow | BrokenRow;

export interface RowFile {
  readonly layout: Layout;
  pages(): AsyncGenerator<ReadRow[]>;
}

/** Rows of a page. */
export const pageRows = 5000;

/**
 * @param dataset what a file is said to hold: JSON Lines without a line could not tell it themselves.
 * @throws TidemarkError FILE_NOT_USABLE, from the reading of the pages too.
 */
export async function openRows(
  path: string,
  format: FileFormat,
  dataset: StoredDataset | null = null,
): Promise<RowFile> {
  const open = { csv: readCsv, jsonl: readJsonl, parquet: readParquet }[format];
  const file = await usable(path, async () => {
    if (format === 'jsonl' && dataset !== null && (await stat(path)).size === 0) {
      return { layout: layouts[dataset], async *pages(): AsyncGenerator<ReadRow[]> {} };
    }
    return open(path);
  });
  return {
    layout: file.layout,
    async *pages() {
      const pages = file.pages();
      for (;;) {
        const page = await usable(path, () => pages.next());
        if (page.done) return;
        yield page.value;
      }
    },
  };
}

/** @throws TidemarkError FILE_NOT_USABLE for whatever speaks against the file. */
export async function usable<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new TidemarkError('FILE_NOT_USABLE', `${path}: ${reason}`, { cause: error });
  }
}

/** Says that the columns are none of an export. */
export function unknownColumns(columns: readonly string[]): Error {
  const shown = columns.slice(0, 12).join(', ').slice(0, 200);
  return new Error(`its columns are not those of an export of candles, history or rates: ${shown}`);
}
