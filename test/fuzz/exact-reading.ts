/**
 * A second JSON parser that keeps every digit and shares no code with the client: it puts the text of each number into
 * a marked string, and `JSON.parse` does the rest.
 */

import { isUtf8 } from 'node:buffer';

/** From the private use area: neither a source nor a mutation sends it. */
const mark = '\uE000';
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** @returns undefined when the bytes are not JSON text in UTF-8. */
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

/** The text of an object's own field, a string or a number. Null when there is none. */
export function fieldText(object: unknown, name: string): string | null {
  const value = field(object, name);
  return typeof value === 'string' ? (numberText(value) ?? value) : null;
}

export function field(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined;
}

/**
 * The form in which PostgreSQL shows a decimal: no exponent, leading zeros or sign of zero. Null when it is no decimal.
 */
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
