/**
 * The response header that states the known part of a range; see docs/service.md. The service writes it. A second
 * Tidemark that uses this service as its source reads it, so that it does not take gaps here for an empty market.
 *
 *   share=0.9983, gaps=2, until=1714521600000, missing=1709251200000-1709254800000 1710000000000-1710003600000
 */

import { type EpochMs, latestMs, type Range } from '../model/intervals.ts';

export const coverageHeader = 'x-tidemark-coverage';
/** Interval of the stored series from which the rows of a response are derived. */
export const derivedFromHeader = 'x-tidemark-derived-from';

/** The known part of a response's range. */
interface StatedCoverage {
  /** End of the statement: later periods had not closed, or the header has no room for their gaps. */
  readonly untilMs: EpochMs;
  /** Missing ranges before `untilMs`, ascending and disjoint. */
  readonly missing: readonly Range[];
}

/** The known part of the closed periods of a response's range. */
export interface Coverage extends StatedCoverage {
  /** From `0` to `1`, rounded down: 1 means complete. */
  readonly share: string;
  /** Number of missing ranges, including those that `missing` omits. */
  readonly gaps: number;
}

/** They take 900 bytes. Some proxies allow 4 kB for all headers of a response. */
export const maxMissingRanges = 32;

export function writeCoverage({ share, gaps, untilMs, missing }: Coverage): string {
  const ranges = missing.map(({ startMs, endMs }) => `${startMs}-${endMs}`);
  return [
    `share=${share}, gaps=${gaps}, until=${untilMs}`,
    ...(ranges.length === 0 ? [] : [`missing=${ranges.join(' ')}`]),
  ].join(', ');
}

const time = '\\d{1,16}';
/** The header's syntax as a regular expression, also for the description of the service. */
export const coveragePattern =
  `^share=(?:0|1|0\\.\\d{1,4}), gaps=(\\d{1,9}), until=(${time})(?:, ` +
  `missing=(${time}-${time}(?: ` +
  `${time}-${time})*))?$`;
const pattern = new RegExp(coveragePattern);

/**
 * @returns null for a malformed or contradictory header, which must not be read as a complete range.
 */
export function readCoverage(text: string): StatedCoverage | null {
  const match = pattern.exec(text.trim());
  if (match === null) return null;
  const [, gaps, until, ranges = ''] = match;
  const untilMs = Number(until);
  const missing: Range[] = [];
  for (const range of ranges.match(/\S+/g) ?? []) {
    const [startMs = Number.NaN, endMs = Number.NaN] = range.split('-').map(Number);
    const previousMs = missing.at(-1)?.endMs ?? Number.NEGATIVE_INFINITY;
    if (!(previousMs < startMs && startMs < endMs && endMs <= untilMs)) return null;
    missing.push({ startMs, endMs });
  }
  const isWhole = missing.length === Math.min(Number(gaps), maxMissingRanges);
  return isWhole && untilMs <= latestMs ? { untilMs, missing } : null;
}
