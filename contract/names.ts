/** What may be the name of an exchange or an asset, and how foreign text is shown in a line of ours. */

/** Ids are far shorter; what is longer is no id but a slip, or an attack. */
const longestName = 200;
/** Control and format characters, lone surrogates, separators of lines: unseen, or they turn round what follows. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

export function mayBeName(text: string): boolean {
  return text !== '' && text.trim() === text && text.length <= longestName && text.search(unseen) === -1;
}

/** The text with what cannot be seen written out: `\u202e`. */
export function visible(text: string): string {
  return text.replace(unseen, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}
