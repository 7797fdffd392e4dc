/** Foreign text, fit to be shown: in one line, without control characters, cut to a length. */

const longestExcerpt = 300;

/** The beginning of `text`. Control characters go too: the text may reach a terminal. */
export function excerpt(text: string): string {
  // Cut before cleaning, so that a body of megabytes costs no more than its beginning.
  const line = text
    .slice(0, 4 * longestExcerpt)
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .trim();
  return line.length <= longestExcerpt ? line : `${line.slice(0, longestExcerpt - 1)}…`;
}
