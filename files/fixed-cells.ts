/**
 * Reads a column of integers of a fixed length, as their bytes stand in its pages. hyparquet makes an object of each
 * cell, which takes most of the memory and half of the time of a file of decimals.
 */

import type { AsyncBuffer, Compressors, PageHeader, RowGroup, SchemaElement } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';

export class FixedCells {
  readonly bytes: Uint8Array;
  /** Bytes of a cell. */
  readonly size: number;

  constructor(bytes: Uint8Array, size: number) {
    this.bytes = bytes;
    this.size = size;
  }

  at(place: number): Uint8Array {
    return this.bytes.subarray(place * this.size, (place + 1) * this.size);
  }
}

/** @returns null if its pages have another form, such as with a dictionary, or a cell is null. */
export async function readFixedCells(
  file: AsyncBuffer,
  group: RowGroup,
  { name, type, type_length: size = 0, repetition_type }: SchemaElement,
  compressors: Compressors,
): Promise<FixedCells | null> {
  const meta = group.columns.find((column) => column.meta_data?.path_in_schema.join('.') === name)?.meta_data;
  if (meta === undefined || type !== 'FIXED_LEN_BYTE_ARRAY' || size === 0) return null;
  if (meta.dictionary_page_offset !== undefined || repetition_type === 'REPEATED') return null;
  const start = Number(meta.data_page_offset);
  const view = new DataView(await file.slice(start, start + Number(meta.total_compressed_size)));
  const reader = { view, offset: 0 };
  const pages: Uint8Array[] = [];
  let bytes = 0;
  const expected = Number(group.num_rows) * size;
  while (bytes < expected && reader.offset < view.byteLength) {
    const header = parquetHeader(reader);
    const compressed = new Uint8Array(view.buffer, reader.offset, header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    const page = valuesOf(compressed, header, repetition_type !== 'REQUIRED', (part, length) =>
      decompressPage(part, length, meta.codec, compressors),
    );
    const values = (header.data_page_header ?? header.data_page_header_v2)?.num_values ?? 0;
    // Fewer cells than rows: some are null.
    if (page === null || page.length !== values * size) return null;
    pages.push(page);
    bytes += page.length;
  }
  if (bytes !== expected) return null;
  const [only, another] = pages;
  return new FixedCells(only !== undefined && another === undefined ? only : Buffer.concat(pages), size);
}

/** The values of a page, without the levels before them; null: it has another form. */
function valuesOf(
  page: Uint8Array,
  { type, uncompressed_page_size: length, data_page_header: first, data_page_header_v2: second }: PageHeader,
  hasLevels: boolean,
  decompress: (part: Uint8Array, length: number) => Uint8Array,
): Uint8Array | null {
  if (type === 'DATA_PAGE_V2' && second?.encoding === 'PLAIN') {
    const levels = second.repetition_levels_byte_length + second.definition_levels_byte_length;
    const values = page.subarray(levels);
    return second.is_compressed === false ? values : decompress(values, length - levels);
  }
  if (type !== 'DATA_PAGE' || first?.encoding !== 'PLAIN') return null;
  const all = decompress(page, length);
  // Their length stands before them.
  return hasLevels ? all.subarray(4 + new DataView(all.buffer, all.byteOffset).getUint32(0, true)) : all;
}
