/** Validates names of exchanges and assets, and makes foreign text safe to display. */

import { stripVTControlCharacters } from 'node:util';

/** Ids are far shorter; a longer one is a mistake or an attack. */
const longestName = 200;
/**
 * Control and format characters, lone surrogates and line separators: invisible, or they reverse the following text.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

export function mayBeName(text: string): boolean {
  return text !== '' && text.trim() === text && text.length <= longestName && text.search(unseen) === -1;
}

/** Escapes invisible characters: `\u202e`. */
export function visible(text: string): string {
  return text.replace(unseen, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** Foreign text, such as a source's message, in one line and without control characters. */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
}

/** Whether a file within a zip is one of CSV: others, such as a directory or a readme, do no harm. */
export function isCsvFile(name: string): boolean {
  return /\.csv$/i.test(name) && !name.startsWith('__MACOSX/');
}
