/**
 * A second reading of JSON that keeps every digit, which shares nothing with the client's: the text of each number is
 * put into a string with a mark, and `JSON.parse` does the rest.
 */

import { isUtf8 } from 'node:buffer';

/** Private use: no source sends it, and the mutations do not either. */
const mark = '\uE000';
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** @returns undefined when the bytes are no JSON text in UTF-8. */
export function readExactly(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined;
  const text = body.toString('utf8').replace(/^\uFEFF/, '');
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return JSON.parse(text.replaceAll(token, (found) => (found.startsWith('"') ? found : `"${mark}${found}"`)));
}

/** The text of a number, or null for any other value. */
export function numberText(value: unknown): string | null {
  return typeof value === 'string' && value.startsWith(mark) ? value.slice(mark.length) : null;
}

/** A field of an object's own, be it a text or a number, as its text; null when there is none. */
export function fieldText(object: unknown, name: string): string | null {
  const value = field(object, name);
  return typeof value === 'string' ? (numberText(value) ?? value) : null;
}

export function field(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined;
}

/** What PostgreSQL shows of a decimal: without exponent, leading zeros and a sign of zero. Null when it is none. */
export function shown(decimal: string): string | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(decimal);
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const power = Number(exponent);
  if (Math.abs(power) > 1000) return null;
  const scale = Math.max(0, fraction.length - power);
  const digits = (whole + fraction + '0'.repeat(Math.max(0, power - fraction.length)))
    .replace(/^0+/, '')
    .padStart(scale + 1, '0');
  const places = digits.length - scale;
  const text = scale === 0 ? digits : `${digits.slice(0, places)}.${digits.slice(places)}`;
  return sign === '-' && /[1-9]/.test(digits) ? `-${text}` : text;
}
