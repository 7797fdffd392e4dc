/**
 * The columns of a Parquet file: their cells as text, and as the values of tuples. hyparquet gives the stored integers
 * and bytes, as it gets a schema without logical types.
 */

import type { SchemaElement } from 'hyparquet';
import { writeDecimal, writeNull } from '../model/binary/numeric.ts';
import { type DecimalText, longestDecimal } from '../model/decimal.ts';
import { writeBytes, writeHalves } from './decimals/from-integers.ts';
import { decimalOf } from './decimals/text.ts';
import { FileProblem } from './file-problem.ts';
import type { FileRow } from './layout.ts';
import { type Cells, cellAt, DictionaryCells, FixedCells, type PlainCells, readingCells } from './parquet/cells.ts';

/**
 * Writes the cell at a place.
 *
 * @param digits after the point at least.
 * @returns where the value ends; -1: it is none that the column always has, to be read as text.
 */
type CellWriter = (place: number, digits: number, bytes: Buffer, to: number) => number;

export interface DecimalColumn {
  /** @param digits after the point; null: without trailing zeros. */
  textOf(cell: unknown, digits: number | null): string | null;
  writerOf(cells: Cells): CellWriter;
}

/** @throws FileProblem when the column holds neither text nor exact decimals. */
export function decimalColumn(element: SchemaElement, isOptional: boolean): DecimalColumn {
  const { name, type, converted_type, logical_type, scale = 0 } = element;
  const isDecimal = converted_type === 'DECIMAL' || logical_type?.type === 'DECIMAL';
  if (type === 'BYTE_ARRAY' && !isDecimal) return { textOf, writerOf: (cells) => textWriter(cells, isOptional) };
  const isUnsigned = converted_type?.startsWith('UINT') || (logical_type?.type === 'INTEGER' && !logical_type.isSigned);
  if (!isDecimal && ((type !== 'INT32' && type !== 'INT64') || isUnsigned))
    throw new FileProblem(
      `its column ${name} is of the type ${type ?? 'group'}, which holds no exact decimals`,
      'write it again with this column as a decimal or as text',
    );
  return {
    textOf(cell, digits) {
      const value = wholeOf(cell);
      return value === null ? null : decimalOf(value, isDecimal ? scale : 0, digits);
    },
    writerOf: (all) => readingCells(all, (cells) => integerWriter(cells, isDecimal ? scale : 0, isOptional)),
  };
}

/** With more digits after the point a value may have more than any may have, and its text tells. */
const mostDigits = longestDecimal / 2;

function integerWriter(cells: PlainCells, scale: number, isOptional: boolean): CellWriter {
  if (scale > mostDigits) return () => -1;
  if (cells instanceof FixedCells) {
    const { bytes: integers, size } = cells;
    const form = { size, scale };
    return (place, digits, bytes, to) =>
      digits > mostDigits ? -1 : writeBytes(integers, place * size, form, digits, bytes, to);
  }
  if (cells instanceof BigInt64Array) {
    const halves = halvesOf(cells);
    return (place, digits, bytes, to) =>
      digits > mostDigits
        ? -1
        : writeHalves(halves[2 * place + 1] ?? 0, halves[2 * place] ?? 0, scale, digits, bytes, to);
  }
  return (place, digits, bytes, to) => {
    const cell = cells[place];
    if (digits > mostDigits) return -1;
    if (cell instanceof Uint8Array) return writeBytes(cell, 0, { size: cell.length, scale }, digits, bytes, to);
    if (cell == null) return isOptional ? writeNull(bytes, to) : -1;
    const value = wholeOf(cell);
    if (value === null || BigInt.asIntN(64, value) !== value) return -1;
    return writeHalves(Number(value >> 32n), Number(BigInt.asIntN(32, value)), scale, digits, bytes, to);
  };
}

/** Two halves of each, the lower one first, as all machines have them that Node.js runs on. */
const halvesOf = (cells: BigInt64Array) => new Int32Array(cells.buffer, cells.byteOffset, 2 * cells.length);

/** Without an exponent, a zero before a digit, or the sign of a zero: the text that gives the value back. */
const shortest = /^(?:0|-?[1-9]\d*|-?0(?=\.0*[1-9]))(?:\.\d+)?$/;

function textWriter(cells: Cells, isOptional: boolean): CellWriter {
  return (place, _, bytes, to) => {
    const text = textOf(cellAt(cells, place));
    if (text === null) return isOptional ? writeNull(bytes, to) : -1;
    return text.length <= longestDecimal && shortest.test(text) ? writeDecimal(text as DecimalText, bytes, to) : -1;
  };
}

/** @returns what reads the cells of a row group. @throws FileProblem when the column is not a timestamp. */
export function timeReading(column: SchemaElement | undefined): (cells: Cells) => (place: number) => FileRow['time'] {
  const { type, converted_type, logical_type } = column ?? { name: 'time' };
  const unit = logical_type?.type === 'TIMESTAMP' ? logical_type.unit : converted_type?.replace('TIMESTAMP_', '');
  const perMs = { MILLIS: 1n, MICROS: 1000n, NANOS: 1_000_000n }[unit ?? ''];
  if (type !== 'INT64' || perMs === undefined)
    throw new FileProblem('its column time is not a timestamp', 'write it again with this column as a timestamp');
  const timeOf = (cell: unknown) => {
    const value = wholeOf(cell);
    if (value === null) return null;
    return value % perMs === 0n ? Number(value / perMs) : `${value} ${unit}`;
  };
  const unitsOfMs = Number(perMs);
  const readingOf = (cells: PlainCells) => {
    if (!(cells instanceof BigInt64Array)) return (place: number) => timeOf(cellAt(cells, place));
    const halves = halvesOf(cells);
    return (place: number) => {
      const timeMs = ((halves[2 * place + 1] ?? 0) * 2 ** 32 + ((halves[2 * place] ?? 0) >>> 0)) / unitsOfMs;
      return Number.isSafeInteger(timeMs * unitsOfMs) && Number.isInteger(timeMs) ? timeMs : timeOf(cells[place]);
    };
  };
  return (cells) => readingCells(cells, readingOf);
}

const utf8 = new TextDecoder();

/** @returns what reads the texts of rows. */
export function textReading(cells: Cells): (place: number) => string | null {
  if (cells instanceof FixedCells) return () => null;
  if (!(cells instanceof DictionaryCells)) return (place) => textOf(cells[place]);
  const { dictionary, indexes } = cells;
  const texts = dictionary instanceof FixedCells ? [] : Array.from(dictionary, textOf);
  return (place) => texts[indexes[place] ?? 0] ?? null;
}

/** Text without a logical type comes as bytes. */
function textOf(cell: unknown): string | null {
  if (cell instanceof Uint8Array) return utf8.decode(cell);
  return typeof cell === 'string' ? cell : null;
}

function wholeOf(cell: unknown): bigint | null {
  if (typeof cell === 'bigint') return cell;
  if (typeof cell === 'number' && Number.isSafeInteger(cell)) return BigInt(cell);
  if (!(cell instanceof Uint8Array)) return null;
  if (cell.length === 0) return 0n;
  return BigInt.asIntN(cell.length * 8, BigInt(`0x${Buffer.from(cell).toString('hex')}`));
}

/** Removes the logical type of a column, unless it is text. */
export function withoutMeaning(element: SchemaElement): SchemaElement {
  if (element.converted_type === 'UTF8' || element.logical_type?.type === 'STRING') return element;
  const { converted_type, logical_type, ...bare } = element;
  return bare;
}
