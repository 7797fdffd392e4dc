/** Lines for a terminal: pieces of text, each with a style, which are cut to a width before any escape code is among them. */

import { stripVTControlCharacters } from 'node:util';

export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green';

export interface Span {
  readonly text: string;
  readonly style?: Style;
}

export type Line = readonly Span[];

/** Foreign words, such as a source's: in one line, and without what would move the cursor or turn the text around. */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
}

/** Columns that the text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += cellsOf(character);
  return width;
}

/** Letters of East Asia and pictures take two cells, marks that are written onto the letter before them none. */
function cellsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (/[\p{M}\u200d]/u.test(character)) return 0;
  const isWide =
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    code >= 0x1f000 ||
    /\p{Emoji_Presentation}/u.test(character);
  return isWide ? 2 : 1;
}

/** The line in at most `width` columns. @param more stands for what was left out. */
export function cut(line: Line, width: number, more: string): Line {
  const whole = line.reduce((sum, { text }) => sum + widthOf(text), 0);
  if (whole <= width) return line;
  const spans: Span[] = [];
  let room = width - widthOf(more);
  if (room < 0) return [];
  for (const span of line) {
    const text = startOf(span.text, room);
    spans.push({ ...span, text });
    room -= widthOf(text);
    if (text !== span.text) break;
  }
  return [...spans, { text: more }];
}

function startOf(text: string, width: number): string {
  let start = '';
  let room = width;
  for (const character of text) {
    room -= cellsOf(character);
    if (room < 0) break;
    start += character;
  }
  return start;
}

/** The text in exactly `width` columns, without its middle where it is longer: names of series differ at both ends. */
export function fitted(text: string, width: number, more: string): string {
  const excess = widthOf(text) - width;
  if (excess <= 0) return text + ' '.repeat(-excess);
  const characters = [...text];
  const room = Math.max(0, width - widthOf(more));
  const tail = characters.slice(characters.length - Math.floor(room / 2)).join('');
  const start = startOf(text, room - widthOf(tail));
  const short = room === 0 ? '' : start + more + tail;
  return short + ' '.repeat(Math.max(0, width - widthOf(short)));
}

/** As many of the parts as there is room for, the first in any case: what matters most comes first. */
export function asFits(parts: readonly Line[], width: number, separator = ', '): Line {
  const [first, ...rest] = parts;
  if (first === undefined) return [];
  const spans = [...first];
  let room = width - first.reduce((sum, { text }) => sum + widthOf(text), 0);
  for (const part of rest) {
    const needed = part.reduce((sum, { text }) => sum + widthOf(text), widthOf(separator));
    if (needed > room) break;
    room -= needed;
    spans.push({ text: separator }, ...part);
  }
  return spans;
}

export function textOf(line: Line): string {
  return line.map(({ text }) => text).join('');
}
