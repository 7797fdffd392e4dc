/** Names with `*` (any characters) and `?` (one character). */

export function isPattern(text: string): boolean {
  return /[*?]/.test(text);
}

export type Matcher = (name: string) => boolean;

/** Whether a name is one of the texts, or fits one of them that is a pattern. */
export function anyOf(texts: readonly string[]): Matcher {
  const literals = new Set(texts.filter((text) => !isPattern(text)));
  const patterns = texts.filter(isPattern);
  return (name) => literals.has(name) || patterns.some((pattern) => fits(name, pattern));
}

/** Not a regular expression: of several `*` that would take exponential time. */
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
      // The last star takes one character more.
      starAt += 1;
      at = starAt;
      place = star + 1;
    } else return false;
  }
  while (wanted[place] === '*') place += 1;
  return place === wanted.length;
}
