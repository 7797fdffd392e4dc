/**
 * Parses JSON without losing a digit. `JSON.parse` turns numbers into doubles, which changes a price with 16 fraction
 * digits. A number that a double might change is returned as text.
 */

import { parse } from 'lossless-json';

/**
 * Whether the text may hold a number that a double might change: one with a fraction, an exponent, 16 digits or more,
 * or `-0`. A number can only follow `:`, `,` or `[`, or be the whole text. What looks like that inside a string costs
 * the slower reading and nothing else; dates (`T00:00:00.000Z`) are in every newer history answer, hence the exception.
 */
const inexactNumber = /[:[,]\s*(?:-0|-?(?:\d{16}|\d{1,15}[.eE](?!\d*Z)))/;

/** A text that is a single number. As an alternative of the pattern above it would double its time. */
const bareNumber = /^\s*[-\d]/;

/** A double holds every number of up to 15 digits. */
const plainInteger = /^(?:0|-?[1-9]\d{0,14})$/;

/**
 * The value of a JSON text, in which every number is either a number that a double holds exactly as written,
 * or the text of the number. Of a repeated key the last value counts, as with `JSON.parse`.
 *
 * @throws SyntaxError when the text is not JSON, or nests too deeply to read.
 */
export function parseExactJson(text: string): unknown {
  if (!inexactNumber.test(text) && !bareNumber.test(text)) return JSON.parse(text);
  try {
    return parse(text, null, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue });
  } catch (error) {
    // The parser recurses: deep nesting overflows the stack, and counts as invalid JSON.
    if (error instanceof RangeError) throw new SyntaxError('nested too deeply', { cause: error });
    throw error;
  }
}

function exactNumber(text: string): number | string {
  return plainInteger.test(text) ? Number(text) : text;
}
