/**
 * The header in which a Tidemark says what of an answer's range it knows; docs/service.md. The service writes it, and the
 * client of a second Tidemark reads it, so that the gaps of the first are not taken for an empty market there.
 *
 *   share=0.9983, gaps=2, until=1714521600000, missing=1709251200000-1709254800000 1710000000000-1710003600000
 */

import { type EpochMs, latestMs } from './intervals.ts';

export const coverageHeader = 'x-tidemark-coverage';

/** Half-open. */
interface Span {
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
}

/** What the holder of an answer's series knows of the answer's range. */
export interface StatedCoverage {
  /** Nothing is said of what lies at this moment or later: it had not ended, or there is more to say than there is room. */
  readonly untilMs: EpochMs;
  /** What of the range, up to that moment, the holder does not have. Ascending, disjoint. */
  readonly missing: readonly Span[];
}

/** As many ranges take 900 bytes; proxies allow all headers of an answer together 4 kB, some of them. */
export const mostMissingRanges = 32;

/** @param share of the range that is known, from `0` to `1`. @param gaps how many ranges of it are missing in all. */
export function writeCoverage({
  share,
  gaps,
  untilMs,
  missing,
}: StatedCoverage & { readonly share: string; readonly gaps: number }): string {
  const ranges = missing.map(({ startMs, endMs }) => `${startMs}-${endMs}`);
  return [
    `share=${share}, gaps=${gaps}, until=${untilMs}`,
    ...(ranges.length === 0 ? [] : [`missing=${ranges.join(' ')}`]),
  ].join(', ');
}

const time = '\\d{1,16}';
/** What a header is made of, as text for a pattern: for descriptions of the service too. */
export const coveragePattern = `^share=(?:0|1|0\\.\\d{1,4}), gaps=(\\d{1,9}), until=(${time})(?:, missing=(${time}-${time}(?: ${time}-${time})*))?$`;
const pattern = new RegExp(coveragePattern);

/**
 * @returns null for a header that is none of this form, or contradicts itself: it says nothing, and least of all that
 * nothing is missing.
 */
export function readCoverage(text: string): StatedCoverage | null {
  const match = pattern.exec(text.trim());
  if (match === null) return null;
  const [, gaps, until, ranges = ''] = match;
  const untilMs = Number(until);
  const missing: Span[] = [];
  for (const range of ranges.match(/\S+/g) ?? []) {
    const [startMs = Number.NaN, endMs = Number.NaN] = range.split('-').map(Number);
    const previousMs = missing.at(-1)?.endMs ?? Number.NEGATIVE_INFINITY;
    if (!(previousMs < startMs && startMs < endMs && endMs <= untilMs)) return null;
    missing.push({ startMs, endMs });
  }
  const isWhole = missing.length === Math.min(Number(gaps), mostMissingRanges);
  return isWhole && untilMs <= latestMs ? { untilMs, missing } : null;
}
