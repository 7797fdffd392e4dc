/** The name that was probably meant. */

/** The nearest of the known names, where it is near enough to be meant; null: none is. */
export function nearest(name: string, known: Iterable<string>): string | null {
  // One slip in every three characters, and at least one.
  const most = Math.max(1, Math.floor(name.length / 3));
  let best: { readonly name: string; readonly distance: number } | null = null;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > most) continue;
    const distance = editDistance(name, candidate);
    if (distance <= most && (best === null || distance < best.distance)) best = { name: candidate, distance };
  }
  return best?.name ?? null;
}

/** `: did you mean "bitcoin"?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  return meant === null ? '' : `: did you mean ${JSON.stringify(meant)}?`;
}

/** Characters to insert, to leave out or to replace (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, place) => place);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
