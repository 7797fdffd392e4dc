/** Names in a watch list: patterns with `*` (any characters) and `?` (one character), and suggestions for wrong ones. */

import { closest, distance } from 'fastest-levenshtein';

export function isPattern(text: string): boolean {
  return /[*?]/.test(text);
}

export type Matcher = (name: string) => boolean;

/** @returns whether a name equals one of the texts or matches a pattern among them. */
export function anyOf(texts: readonly string[]): Matcher {
  const literals = new Set(texts.filter((text) => !isPattern(text)));
  const patterns = texts.filter(isPattern).map(expressionOf);
  return (name) => literals.has(name) || patterns.some((pattern) => pattern.test(name));
}

function expressionOf(pattern: string): RegExp {
  const escaped = pattern.replace(/[\\^$.+()[\]{}|/]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\*+/g, '.*').replaceAll('?', '.')}$`, 'su');
}

/** The nearest known name, if at most one character in three differs (at least one may); else null. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const found = closest(name, [...known]);
  const most = Math.max(1, Math.floor(name.length / 3));
  return found !== undefined && distance(name, found) <= most ? found : null;
}

/** `: did you mean "bitcoin"?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  return meant === null ? '' : `: did you mean ${JSON.stringify(meant)}?`;
}
