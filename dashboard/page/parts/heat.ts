/** Steps of a heat map. */

/** From 0, nothing covered, to 5, all of it. Only what is whole is 5, and only what is empty is 0. */
export function shadeOf(coveredMs: number, wantedMs: number): number {
  if (wantedMs <= 0 || coveredMs <= 0) return 0;
  if (coveredMs >= wantedMs) return 5;
  return Math.max(1, Math.min(4, Math.ceil((coveredMs / wantedMs) * 4)));
}
