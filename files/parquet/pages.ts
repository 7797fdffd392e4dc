/**
 * Encodes filled columns as pages of a Parquet file: PLAIN, or a dictionary where values repeat, compressed by
 * Zstandard. hyparquet-writer writes headers, levels and the metadata; its own columns take an object for each value.
 *
 * Source: parquet.apache.org/docs/file-format (pages, encodings), parquet.thrift (statistics: decimals are signed).
 */

import { compress, init } from '@bokuweb/zstd-wasm';
import type { ColumnChunk, ColumnMetaData, Encoding, SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import type { Output } from '../layout.ts';
import type { DictionaryValues, FilledColumn, FixedValues } from './columns.ts';

/** A row group as it stands in a file. */
export interface EncodedGroup {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Their offsets are those in the bytes. */
  readonly columns: readonly ColumnChunk[];
}

export interface PagesWriter {
  /** Writes a row group. */
  add(group: EncodedGroup): Promise<void>;
  /** Writes the metadata. */
  finish(): Promise<void>;
  /** Of the columns of each row group so far, in the order of the file. */
  statistics(): ReadonlyArray<ReadonlyArray<ColumnStatistics>>;
}

interface ColumnStatistics {
  readonly nulls: number;
  /** Of a DECIMAL unscaled, of a time in its unit; absent: there is no value, or it is text. */
  readonly least?: MinMax | undefined;
  readonly greatest?: MinMax | undefined;
}

/** DuckDB's, whose files are as large. */
const compressionLevel = 3;

const loading = Symbol.for('tidemark.zstd');
/**
 * The package has one state in a process, and a second `init` breaks the first one: its results are zeros from then on.
 * Tests load this module several times.
 */
const ofProcess = globalThis as { [loading]?: Promise<void> };

/** Loads what {@link encodeGroup} needs. */
export function loadCompression(): Promise<void> {
  ofProcess[loading] ??= init();
  return ofProcess[loading];
}

const firstByte = 0x28;

function compressed(bytes: Uint8Array): Uint8Array {
  const frame = compress(bytes, compressionLevel);
  if (frame[0] !== firstByte) throw new Error('the compression has given no frame of Zstandard');
  return frame;
}

/** As long as the longest row group so far: growing to it leaves several times as much behind. */
const encoded = new ByteWriter();

/** Encodes a row group. {@link loadCompression} comes first. @param columns in the order of the file. */
export function encodeGroup(columns: readonly FilledColumn[]): EncodedGroup {
  encoded.offset = 0;
  encoded.index = 0;
  const chunks = columns.map((column) => writeColumn(encoded, column));
  return { bytes: encoded.getBytes().slice(), rows: columns[0]?.rows ?? 0, columns: chunks };
}

/** @param schema the root, then the columns. */
export function openPages(schema: SchemaElement[], output: Output): PagesWriter {
  const bytes = new OutputWriter(output);
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'tidemark' });
  return {
    async add({ bytes: group, rows, columns }) {
      const from = BigInt(bytes.offset);
      await bytes.flush();
      await output.write(group);
      bytes.offset += group.length;
      const sizes = columns.map(({ meta_data }) => meta_data?.total_uncompressed_size ?? 0n);
      writer.num_rows += BigInt(rows);
      writer.row_groups.push({
        columns: columns.map((column) => movedBy(from, column)),
        num_rows: BigInt(rows),
        total_byte_size: sizes.reduce((sum, size) => sum + size, 0n),
        total_compressed_size: BigInt(group.length),
      });
    },
    finish: async () => writer.finish(),
    statistics: () =>
      writer.row_groups.map(({ columns }) =>
        columns.map(({ meta_data }) => {
          const { null_count = 0n, min_value, max_value } = meta_data?.statistics ?? {};
          return { nulls: Number(null_count), least: min_value as MinMax, greatest: max_value as MinMax };
        }),
      ),
  };
}

/** Passes the header and the metadata to the output, and waits for it. */
class OutputWriter extends ByteWriter {
  readonly #output: Output;

  constructor(output: Output) {
    super();
    this.#output = output;
  }

  async flush(): Promise<void> {
    if (this.index === 0) return;
    const bytes = Buffer.from(this.buffer.slice(0, this.index));
    this.index = 0;
    await this.#output.write(bytes);
  }

  override finish(): Promise<void> {
    return this.flush();
  }
}

function movedBy(from: bigint, { file_offset, meta_data, ...others }: ColumnChunk): ColumnChunk {
  if (meta_data === undefined) throw new RangeError('a column without metadata');
  const { data_page_offset, dictionary_page_offset: dictionary } = meta_data;
  return {
    ...others,
    file_offset: file_offset + from,
    meta_data: {
      ...meta_data,
      data_page_offset: data_page_offset + from,
      ...(dictionary === undefined ? {} : { dictionary_page_offset: dictionary + from }),
    },
  };
}

/** One page of values, and one of the dictionary if there is one. */
function writeColumn(writer: ByteWriter, column: FilledColumn): ColumnChunk {
  const { element, rows, nulls } = column;
  const from = writer.offset;
  const dictionary = dictionaryOf(column);
  let uncompressed = dictionary === null ? 0 : writeDictionary(writer, dictionary);
  const data = writer.offset;
  const encoding: Encoding = dictionary === null ? 'PLAIN' : 'RLE_DICTIONARY';
  uncompressed += writeData(writer, column, encoding, dictionary === null ? plainOf(column) : indexesOf(dictionary));
  const page = { page_type: 'DATA_PAGE_V2', encoding, count: 1 } as const;
  const pageOfDictionary = { page_type: 'DICTIONARY_PAGE', encoding: 'PLAIN', count: 1 } as const;
  const meta_data: ColumnMetaData = {
    type: element.type ?? 'BYTE_ARRAY',
    encodings: dictionary === null ? [encoding] : ['PLAIN', encoding],
    path_in_schema: [element.name],
    codec: 'ZSTD',
    num_values: BigInt(rows),
    total_compressed_size: BigInt(writer.offset - from),
    total_uncompressed_size: BigInt(uncompressed),
    data_page_offset: BigInt(data),
    ...(dictionary === null ? {} : { dictionary_page_offset: BigInt(from) }),
    statistics: { null_count: BigInt(nulls), ...extremesOf(column) },
    encoding_stats: dictionary === null ? [page] : [pageOfDictionary, page],
  };
  return { meta_data, file_offset: BigInt(from) };
}

interface Dictionary {
  /** As PLAIN has them. */
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly indexes: Uint32Array;
}

/** Null: its values hardly repeat. */
function dictionaryOf({ element, values }: FilledColumn): Dictionary | null {
  if (values.kind === 'dictionary') return textDictionary(values);
  return values.kind === 'fixed' && element.name !== 'time' ? repeatedValues(values) : null;
}

function textDictionary({ texts, indexes }: DictionaryValues): Dictionary {
  const writer = new ByteWriter();
  for (const text of texts) {
    const bytes = Buffer.from(text);
    writer.appendUint32(bytes.length);
    writer.appendBytes(bytes);
  }
  return { bytes: writer.getBytes(), count: texts.length, indexes };
}

/** Values of a dictionary, of those of a page: as DuckDB has it. */
const largestShare = 0.2;

function repeatedValues({ bytes, width }: FixedValues): Dictionary | null {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const each = width / 4;
  const rows = words.length / each;
  if (rows === 0) return null;
  const most = Math.floor(rows * largestShare);
  // Open addressing, at most half full.
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * most + 2))).fill(-1);
  const indexes = new Uint32Array(rows);
  const firsts: number[] = [];
  for (let row = 0; row < rows; row += 1) {
    const from = row * each;
    let hash = 0;
    for (let word = 0; word < each; word += 1) hash = Math.imul(hash ^ (words[from + word] ?? 0), 0x9e3779b1);
    let slot = (hash ^ (hash >>> 15)) & (slots.length - 1);
    let index = slots[slot] ?? -1;
    while (index !== -1 && !isSame(words, (firsts[index] ?? 0) * each, from, each)) {
      slot = (slot + 1) & (slots.length - 1);
      index = slots[slot] ?? -1;
    }
    if (index === -1) {
      if (firsts.length === most) return null;
      index = firsts.push(row) - 1;
      slots[slot] = index;
    }
    indexes[row] = index;
  }
  const distinct = new Uint8Array(firsts.length * width);
  for (const [place, row] of firsts.entries())
    distinct.set(bytes.subarray(row * width, (row + 1) * width), place * width);
  return { bytes: distinct, count: firsts.length, indexes };
}

function isSame(words: Int32Array, a: number, b: number, count: number): boolean {
  for (let word = 0; word < count; word += 1) if (words[a + word] !== words[b + word]) return false;
  return true;
}

/** @returns its bytes before compression, with the header. */
function writeDictionary(writer: ByteWriter, { bytes, count }: Dictionary): number {
  const frame = compressed(bytes);
  const from = writer.offset;
  writePageHeader(writer, {
    type: 'DICTIONARY_PAGE',
    uncompressed_page_size: bytes.length,
    compressed_page_size: frame.length,
    dictionary_page_header: { num_values: count, encoding: 'PLAIN' },
  });
  const headerBytes = writer.offset - from;
  writer.appendBytes(frame);
  return headerBytes + bytes.length;
}

function plainOf({ values }: FilledColumn): Uint8Array {
  return values.kind === 'dictionary' ? new Uint8Array() : values.bytes;
}

function indexesOf({ count, indexes }: Dictionary): Uint8Array {
  const writer = new ByteWriter(indexes.length * 2);
  const bits = Math.ceil(Math.log2(Math.max(1, count)));
  writer.appendUint8(bits);
  writeRleBitPackedHybrid(writer, indexes, bits);
  return writer.getBytes();
}

/** @returns its bytes before compression, with the header. */
function writeData(
  writer: ByteWriter,
  { rows, levels, nulls }: FilledColumn,
  encoding: Encoding,
  bytes: Uint8Array,
): number {
  const levelWriter = new ByteWriter();
  if (levels !== null) writeRleBitPackedHybrid(levelWriter, levels, 1);
  const levelBytes = levelWriter.getBytes();
  // A frame of nothing is longer.
  const isCompressed = bytes.length > 0;
  const content = isCompressed ? compressed(bytes) : bytes;
  const from = writer.offset;
  writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: levelBytes.length + bytes.length,
    compressed_page_size: levelBytes.length + content.length,
    data_page_header_v2: {
      num_values: rows,
      num_nulls: nulls,
      num_rows: rows,
      encoding,
      definition_levels_byte_length: levelBytes.length,
      repetition_levels_byte_length: 0,
      is_compressed: isCompressed,
    },
  });
  const headerBytes = writer.offset - from;
  writer.appendBytes(levelBytes);
  writer.appendBytes(content);
  return headerBytes + levelBytes.length + bytes.length;
}

/** The least and the greatest value; readers skip row groups by them. Decimals as text have none. */
function extremesOf({ element, values }: FilledColumn): { min_value?: MinMax; max_value?: MinMax } {
  if (values.kind === 'text' || plainCount(values) === 0) return {};
  if (values.kind === 'dictionary') {
    const sorted = values.texts.map((text) => Buffer.from(text)).sort(Buffer.compare);
    const [least, greatest] = [sorted[0]?.toString(), sorted.at(-1)?.toString()];
    return least === undefined || greatest === undefined ? {} : { min_value: least, max_value: greatest };
  }
  const { bytes, width } = values;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isLess = element.type === 'DOUBLE' ? isLessDouble : width === 8 ? isLessInteger : isLessLong;
  let [least, greatest] = [0, 0];
  for (let at = width; at < bytes.length; at += width) {
    if (isLess(view, at, least)) least = at;
    else if (isLess(view, greatest, at)) greatest = at;
  }
  const valueAt = (at: number): MinMax => {
    if (element.type === 'DOUBLE') return view.getFloat64(at, true);
    return width === 8 ? view.getBigInt64(at, true) : (view.getBigInt64(at) << 64n) | view.getBigUint64(at + 8);
  };
  return { min_value: valueAt(least), max_value: valueAt(greatest) };
}

type MinMax = bigint | number | string;

const plainCount = (values: DictionaryValues | FixedValues) =>
  values.kind === 'dictionary' ? values.indexes.length : values.bytes.length;

const isLessDouble = (view: DataView, a: number, b: number) => view.getFloat64(a, true) < view.getFloat64(b, true);

function isLessInteger(view: DataView, a: number, b: number): boolean {
  const high = view.getInt32(a + 4, true);
  const other = view.getInt32(b + 4, true);
  return high === other ? view.getUint32(a, true) < view.getUint32(b, true) : high < other;
}

/** Of 16 bytes. */
function isLessLong(view: DataView, a: number, b: number): boolean {
  const high = view.getInt32(a);
  const other = view.getInt32(b);
  if (high !== other) return high < other;
  for (let word = 4; word < 16; word += 4) {
    const one = view.getUint32(a + word);
    const two = view.getUint32(b + word);
    if (one !== two) return one < two;
  }
  return false;
}
