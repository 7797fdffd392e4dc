/** The cells of a page of a column. An object of each, as hyparquet makes it, takes most of the memory and the time. */

import type { DecodedArray } from 'hyparquet';

/** Integers of a fixed length, as their bytes stand in a page. */
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

  slice(from: number, to: number): FixedCells {
    return new FixedCells(this.bytes.subarray(from * this.size, to * this.size), this.size);
  }
}

type Indexes = Uint8Array | Uint32Array;

/** Places in a dictionary. */
export class DictionaryCells {
  readonly dictionary: PlainCells;
  readonly indexes: Indexes;

  constructor(dictionary: PlainCells, indexes: Indexes) {
    this.dictionary = dictionary;
    this.indexes = indexes;
  }

  slice(from: number, to: number): DictionaryCells {
    return new DictionaryCells(this.dictionary, this.indexes.subarray(from, to));
  }
}

export type PlainCells = DecodedArray | FixedCells;
export type Cells = PlainCells | DictionaryCells;

export const lengthOfCells = (cells: Cells): number => {
  if (cells instanceof DictionaryCells) return cells.indexes.length;
  return cells instanceof FixedCells ? cells.bytes.length / cells.size : cells.length;
};

/** @param to excluded. */
export function sliceCells(cells: Cells, from: number, to: number): Cells {
  if (cells instanceof DictionaryCells || cells instanceof FixedCells) return cells.slice(from, to);
  if (cells instanceof BigInt64Array) return cells.subarray(from, to);
  return Array.prototype.slice.call(cells, from, to);
}

export function cellAt(cells: Cells, place: number): unknown {
  if (cells instanceof DictionaryCells) return cellAt(cells.dictionary, cells.indexes[place] ?? 0);
  return cells instanceof FixedCells ? cells.at(place) : cells[place];
}

/** Makes what reads the cell at a place: of a dictionary's cells, that of the entry. */
export function readingCells<Read extends (place: number, ...rest: never[]) => unknown>(
  cells: Cells,
  readingOf: (cells: PlainCells) => Read,
): Read {
  if (!(cells instanceof DictionaryCells)) return readingOf(cells);
  const read = readingOf(cells.dictionary);
  const { indexes } = cells;
  return ((place: number, ...rest: never[]) => read(indexes[place] ?? 0, ...rest)) as Read;
}

export const emptyIndexes = (entries: number, length: number): Indexes =>
  entries <= 1 << 8 ? new Uint8Array(length) : new Uint32Array(length);
