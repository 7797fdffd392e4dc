/** Suggests the name that was probably meant. */

import { closest, distance } from 'fastest-levenshtein';

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
