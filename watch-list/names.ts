/** Names in a watch list: patterns with `*` (any characters) and `?` (one character). */

export function isPattern(text: string): boolean {
  return /[*?]/.test(text);
}

export type Matcher = (name: string) => boolean;

/** @returns whether a name equals one of the texts or matches a pattern among them. */
export function anyOf(texts: readonly string[]): Matcher {
  const literals = new Set(texts.filter((text) => !isPattern(text)));
  const patterns = texts.filter(isPattern);
  return (name) => literals.has(name) || patterns.some((pattern) => fits(name, pattern));
}

/** Linear in practice. A regular expression with several `*` may take exponential time. */
function fits(name: string, pattern: string): boolean {
  const text = [...name];
  const wanted = [...pattern];
  let at = 0;
  let place = 0;
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    const one = wanted[place];
    if (one === '*') {
      star = place;
      starAt = at;
      place += 1;
    } else if (one !== undefined && (one === '?' || one === text[at])) {
      at += 1;
      place += 1;
    } else if (star !== -1) {
      // Backtrack: the last star matches one more character.
      starAt += 1;
      at = starAt;
      place = star + 1;
    } else return false;
  }
  while (wanted[place] === '*') place += 1;
  return place === wanted.length;
}
