/** Opens readers and writers of the file formats. */

import { stat } from 'node:fs/promises';
import { codeOf, messageOf, TidemarkError } from '../errors.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { readCsv } from './csv-reader.ts';
import { csvWriter } from './csv-writer.ts';
import type { Digits } from './decimals/decimal-type.ts';
import { FileProblem } from './file-problem.ts';
import { type FileFormat, type Layout, layouts, type Output, type RowWriter } from './layout.ts';
import { readParquet, readParquetContent } from './parquet-reader.ts';
import type { FilePage, RowFile } from './point-pages.ts';
import { jsonlWriter, readJsonl } from './text-formats.ts';

/**
 * @param dataset expected in the file: empty JSON Lines have no columns, and some datasets have the same.
 * @throws TidemarkError FILE_NOT_USABLE, from the reading of the pages too.
 */
export async function openRows(
  path: string,
  format: FileFormat,
  dataset: StoredDataset | null = null,
): Promise<RowFile> {
  const open = { csv: readCsv, jsonl: readJsonl, parquet: readParquet }[format];
  const file: RowFile = await usable(path, async () => {
    if (format === 'jsonl' && dataset !== null && (await stat(path)).size === 0) {
      return { layout: layouts[dataset], async *pages(): AsyncGenerator<FilePage> {} };
    }
    return open(path, dataset);
  });
  return { ...file, pages: () => usablePages(path, file.pages()) };
}

/** As {@link openRows}, of a file that is in memory. @param path for errors. */
export async function openParquet(path: string, content: Buffer, dataset: StoredDataset): Promise<RowFile> {
  const file = await usable(path, () => readParquetContent(content, dataset));
  return { ...file, pages: () => usablePages(path, file.pages()) };
}

/** @throws TidemarkError FILE_NOT_USABLE for any error of the pages. */
export async function* usablePages<Page>(path: string, pages: AsyncGenerator<Page>): AsyncGenerator<Page> {
  try {
    for (;;) {
      const page = await usable(path, () => pages.next());
      if (page.done) return;
      yield page.value;
    }
  } finally {
    // Who reads no further leaves no file open.
    await pages.return(undefined);
  }
}

/**
 * @param outcome begins the advice, such as `nothing was imported; `.
 * @throws TidemarkError FILE_NOT_USABLE for any error.
 */
export async function usable<Result>(path: string, work: () => Promise<Result>, outcome = ''): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    if (codeOf(error) === 'ENOENT')
      throw new TidemarkError('FILE_NOT_USABLE', `${path}: there is no such file`, {
        cause: error,
        remedy: 'check the path',
      });
    const advice = error instanceof FileProblem ? error.remedy : adviceFor(codeOf(error));
    throw new TidemarkError('FILE_NOT_USABLE', `${path}: ${messageOf(error)}`, {
      cause: error,
      remedy: `${outcome}${advice}`,
    });
  }
}

function adviceFor(code: unknown): string {
  if (code === 'EACCES' || code === 'EPERM') return 'give this user the right to read it';
  return 'check that the file is whole, and that it has the format that its name or --format says';
}

/** @param digits of each value column, for the decimals of Parquet. */
export async function openRowWriter(
  format: FileFormat,
  { layout, digits, output }: { layout: Layout; digits: readonly Digits[]; output: Output },
): Promise<RowWriter> {
  if (format !== 'parquet') return (format === 'csv' ? csvWriter : jsonlWriter)(layout, output);
  // The packages for Parquet take a while to load.
  const { ParquetRows } = await import('./parquet/writer.ts');
  return new ParquetRows({ layout, digits, output });
}
