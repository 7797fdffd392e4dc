/**
 * Reads a column of a row group page by page, so that memory holds a page of each column, however long row groups are.
 * Pages with nulls, and of rare encodings, are left to hyparquet.
 *
 * Source: parquet.apache.org/docs/file-format/data-pages (levels, encodings).
 */

import type { FileHandle } from 'node:fs/promises';
import type { ColumnMetaData, Compressors, PageHeader, RowGroup, SchemaElement } from 'hyparquet';
import { parquetHeader, readPage } from 'hyparquet/src/column.js';
import { convert, DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { getSchemaPath } from 'hyparquet/src/schema.js';
import { type Cells, DictionaryCells, emptyIndexes, FixedCells, lengthOfCells, sliceCells } from './cells.ts';

type ColumnDecoder = Parameters<typeof readPage>[2];

/** Of the file; headers have statistics of any length, and this is most of them. */
const headerBytes = 1 << 10;

/** A file, or what is read as one. */
export type ByteSource = Pick<FileHandle, 'close'> & {
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
};

/** Pages of a file, compressed. Each is valid until the next one is read. */
export class PieceReader {
  readonly #file: ByteSource;
  #bytes = new Uint8Array();

  constructor(file: ByteSource) {
    this.#file = file;
  }

  /** @throws Error when the file ends before. */
  async read(position: number, length: number): Promise<Uint8Array> {
    if (this.#bytes.length < length) this.#bytes = new Uint8Array(length);
    const { bytesRead } = await this.#file.read(this.#bytes, 0, length, position);
    if (bytesRead < length) throw new Error('the file ends within a page');
    return this.#bytes.subarray(0, length);
  }
}

export interface ColumnSource {
  readonly pieces: PieceReader;
  readonly compressors: Compressors;
  /** The root, then the columns. */
  readonly schema: SchemaElement[];
}

export class ColumnReader {
  readonly name: string;
  readonly #pieces: PieceReader;
  readonly #decoder: ColumnDecoder;
  readonly #isOptional: boolean;
  /** As the file says, which may be silent. */
  readonly #hasNulls: boolean;
  /** Where the next page is, and where the last one ends. */
  #at: number;
  readonly #endAt: number;
  #dictionary: Exclude<Cells, DictionaryCells> | null = null;
  #cells: Cells = [];
  /** Rows of the group before the present page. */
  #from = 0;

  /** @throws Error when the row group has no such column. */
  constructor({ pieces, compressors, schema }: ColumnSource, group: RowGroup, name: string) {
    const meta = group.columns.find((column) => column.meta_data?.path_in_schema.join('.') === name)?.meta_data;
    const schemaPath = getSchemaPath(schema, [name]);
    const element = schemaPath.at(-1)?.element;
    if (meta === undefined || element === undefined) throw new Error(`a row group lacks the column ${name}`);
    const { type, codec, path_in_schema: pathInSchema } = meta;
    this.name = name;
    this.#pieces = pieces;
    // Otherwise the bytes of a decimal become text.
    const utf8 = false;
    this.#decoder = { pathInSchema, type, element, schemaPath, codec, parsers: DEFAULT_PARSERS, compressors, utf8 };
    this.#isOptional = element.repetition_type !== 'REQUIRED';
    this.#hasNulls = Number(meta.statistics?.null_count ?? 0) > 0 || element.repetition_type === 'REPEATED';
    this.#at = startOf(meta);
    this.#endAt = this.#at + Number(meta.total_compressed_size);
  }

  /** The row of the group after the present page. */
  get end(): number {
    return this.#from + lengthOfCells(this.#cells);
  }

  /** Reads the page with a row of the group. @param row not before the present page. */
  async reach(row: number): Promise<void> {
    while (row >= this.end) {
      if (this.#at >= this.#endAt) throw new Error(`the column ${this.name} ends before its row group`);
      this.#from = this.end;
      this.#cells = [];
      this.#cells = (await this.#nextPage()) ?? [];
    }
  }

  /** The cells of rows within the present page. */
  slice(from: number, to: number): Cells {
    return sliceCells(this.#cells, from - this.#from, to - this.#from);
  }

  /** Null: it is that of the dictionary. */
  async #nextPage(): Promise<Cells | null> {
    const header = await this.#nextHeader();
    const piece = await this.#pieces.read(this.#at, header.compressed_page_size);
    this.#at += header.compressed_page_size;
    const isPlain = this.#decoder.codec === 'UNCOMPRESSED' || header.data_page_header_v2?.is_compressed === false;
    // Cells are views of what is not decompressed.
    const page = isPlain ? piece.slice() : piece;
    if (header.type !== 'DICTIONARY_PAGE') return this.#wholePage(page, header) ?? this.#byLibrary(page, header);
    this.#dictionary = this.#dictionaryOf(page, header);
    return null;
  }

  #dictionaryOf(page: Uint8Array, header: PageHeader): Exclude<Cells, DictionaryCells> {
    const { type, element } = this.#decoder;
    if (type === 'FIXED_LEN_BYTE_ARRAY' && element.type_length)
      return new FixedCells(this.#decompressed(page, header.uncompressed_page_size), element.type_length);
    const { data = [] } = readPage(readerOf(page), header, this.#decoder, undefined, undefined, 0);
    return convert(data, this.#decoder);
  }

  #byLibrary(page: Uint8Array, header: PageHeader): Cells {
    const dictionary = this.#dictionary instanceof FixedCells ? cellsOf(this.#dictionary) : this.#dictionary;
    return readPage(readerOf(page), header, this.#decoder, dictionary ?? undefined, undefined, 0).data ?? [];
  }

  /** Null: a cell is null, or it is not of the usual encodings. */
  #wholePage(page: Uint8Array, header: PageHeader): Cells | null {
    const form = header.data_page_header_v2 ?? header.data_page_header;
    if (form === undefined || this.#hasNulls) return null;
    const values = this.#valuesOf(page, header, form.num_values);
    if (values === null) return null;
    if (form.encoding === 'PLAIN') return this.#plainCells(values, form.num_values);
    if (!form.encoding.endsWith('_DICTIONARY') || this.#dictionary === null) return null;
    const indexes = emptyIndexes(lengthOfCells(this.#dictionary), form.num_values);
    const bits = values[0] ?? 0;
    if (bits > 0) readRleBitPackedHybrid(readerOf(values.subarray(1)), bits, indexes, values.length - 1);
    return new DictionaryCells(this.#dictionary, indexes);
  }

  /** What follows the levels; null: a cell is null. */
  #valuesOf(page: Uint8Array, header: PageHeader, count: number): Uint8Array | null {
    const { uncompressed_page_size: length, data_page_header_v2: second } = header;
    if (second !== undefined) {
      if (second.num_nulls > 0) return null;
      const levels = second.repetition_levels_byte_length + second.definition_levels_byte_length;
      const values = page.subarray(levels);
      return second.is_compressed === false ? values : this.#decompressed(values, length - levels);
    }
    const all = this.#decompressed(page, length);
    if (!this.#isOptional) return all;
    const levels = new Uint8Array(count);
    const reader = readerOf(all);
    // Their length stands before them.
    readRleBitPackedHybrid(reader, 1, levels);
    return levels.includes(0) ? null : all.subarray(reader.offset);
  }

  #plainCells(values: Uint8Array, count: number): Cells | null {
    const { type, element } = this.#decoder;
    const size = type === 'INT64' ? 8 : type === 'FIXED_LEN_BYTE_ARRAY' ? (element.type_length ?? 0) : 0;
    if (size === 0 || values.length !== count * size) return null;
    if (type === 'FIXED_LEN_BYTE_ARRAY') return new FixedCells(values, size);
    const aligned = values.byteOffset % 8 === 0 ? values : values.slice();
    return new BigInt64Array(aligned.buffer, aligned.byteOffset, count);
  }

  #decompressed(page: Uint8Array, length: number): Uint8Array {
    return decompressPage(page, length, this.#decoder.codec, this.#decoder.compressors);
  }

  async #nextHeader(): Promise<PageHeader> {
    for (let length = headerBytes; ; length *= 8) {
      const piece = await this.#pieces.read(this.#at, Math.min(length, this.#endAt - this.#at));
      const reader = readerOf(piece);
      try {
        const header = parquetHeader(reader);
        this.#at += reader.offset;
        return header;
      } catch (error) {
        if (length >= this.#endAt - this.#at) throw error;
      }
    }
  }
}

const startOf = ({ dictionary_page_offset: dictionary, data_page_offset: data }: ColumnMetaData): number =>
  // Some writers state 0 where there is no dictionary.
  Number(dictionary ? dictionary : data);

const readerOf = (bytes: Uint8Array) => ({
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  offset: 0,
});

const cellsOf = (cells: FixedCells) => Array.from({ length: lengthOfCells(cells) }, (_, place) => cells.at(place));
