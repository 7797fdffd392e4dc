/** Writes rows to a file or pipe in one of the formats, and never holds more than a piece of them. */

import { csvWriter } from './csv-writer.ts';
import { jsonlWriter } from './jsonl-writer.ts';
import type { FileFormat, Layout, Rows } from './layout.ts';
import type { Digits } from './parquet-schema.ts';
import { parquetWriter } from './parquet-writer.ts';

/** Takes bytes, and resolves when it can take more: a slow reader holds up who writes. */
export interface Output {
  write(bytes: Uint8Array): Promise<void>;
}

export interface RowWriter {
  write(rows: Rows): Promise<void>;
  /** Writes what is left. The output stays open. */
  end(): Promise<void>;
}

/** @param digits of each column of values, for Parquet: what its decimals must hold. */
export async function openRowWriter(
  format: FileFormat,
  { layout, digits, output }: { layout: Layout; digits: readonly Digits[]; output: Output },
): Promise<RowWriter> {
  switch (format) {
    case 'csv':
      return csvWriter(layout, output);
    case 'jsonl':
      return jsonlWriter(layout, output);
    case 'parquet':
      return parquetWriter(layout, digits, output);
  }
}
