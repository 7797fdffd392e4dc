/**
 * Writes Parquet by row groups: one is filled while the one before is encoded. Memory holds these and a few hundred
 * bytes per written one.
 */

import { tupleReader } from '../copied-tuples.ts';
import type { Names, Output, RowWriter } from '../layout.ts';
import { encode } from './encoder.ts';
import { type EncodedGroup, openPages, type PagesWriter } from './pages.ts';
import { RowGroup } from './row-group.ts';
import { type Columns, parquetSchema } from './schema.ts';

/** As many as memory and readers like. */
const rowsOfGroup = 50_000;

export interface ParquetFormat extends Columns {
  readonly output: Output;
}

/** A file of Parquet. */
export class ParquetRows implements RowWriter {
  readonly takes = 'binary';
  readonly #columns: Columns;
  readonly #pages: PagesWriter;
  #group: RowGroup;
  /** That are encoded, in the order of the file. */
  readonly #encoding: Promise<EncodedGroup>[] = [];
  /** To be filled again. */
  readonly #spare: RowGroup[] = [];

  constructor({ output, ...columns }: ParquetFormat) {
    this.#columns = columns;
    this.#pages = openPages(parquetSchema(columns), output);
    this.#group = new RowGroup(columns, rowsOfGroup);
  }

  async writeSeries(names: Names, copied: AsyncIterable<Buffer>, onRows: (rows: number) => void): Promise<void> {
    this.#group.begin(names);
    const read = tupleReader(1 + this.#columns.layout.values.length, (bytes, at) => {
      if (this.#group.isFull) {
        this.#encode();
        this.#group.begin(names);
      }
      this.#group.take(bytes, at);
    });
    for await (const piece of copied) {
      onRows(read(piece));
      await this.#flush(1);
    }
  }

  #encode(): void {
    const group = this.#group;
    const encoded = encode(group.filled()).finally(() => {
      group.clear();
      this.#spare.push(group);
    });
    // Whoever awaits it gets its error.
    encoded.catch(() => {});
    this.#encoding.push(encoded);
    this.#group = this.#spare.pop() ?? new RowGroup(this.#columns, rowsOfGroup);
  }

  /** @param most row groups that may be encoded meanwhile. */
  async #flush(most: number): Promise<void> {
    while (this.#encoding.length > most) {
      const [encoded] = this.#encoding;
      if (encoded !== undefined) await this.#pages.add(await encoded);
      this.#encoding.shift();
    }
  }

  async end(): Promise<void> {
    if (this.#group.rows > 0) this.#encode();
    await this.#flush(0);
    await this.#pages.finish();
  }
}
