/** The times that `--from` and `--to` take: ISO 8601 dates and times in UTC, and ages. */

import { dayMs, type EpochMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';
import { ageBefore, isAge } from '../planning/age.ts';
import { isoMoment } from '../planning/iso-moment.ts';

/**
 * `2024-01-31`, `2024-01-31T06:00`, `2024-01-31T06:00:00Z` (all UTC), or an age back from now: `30min`, `6h`,
 * `90d`, `8w`, `11y` (calendar years).
 *
 * @throws TidemarkError BAD_ARGUMENT naming the option.
 */
export function parseMoment(text: string, option: string, nowMs: EpochMs): EpochMs {
  if (isAge(text)) {
    const timeMs = ageBefore(text, nowMs);
    if (timeMs > 0) return timeMs;
    throw new TidemarkError('BAD_ARGUMENT', `${option} ${text} lies before 1970`);
  }
  const timeMs = isoMoment(text);
  if (timeMs !== null) return timeMs;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `${option} ${JSON.stringify(text)} is neither a date such as 2024-01-31 or 2024-01-31T06:00Z (UTC) nor an age such as 11y, 90d or 6h`,
  );
}

/**
 * The moment that lies an age before now: `90d`, `8w`, `2y`, at least a day.
 *
 * @throws TidemarkError BAD_ARGUMENT naming what it is for.
 */
export function parseAge(text: string, what: string, nowMs: EpochMs): EpochMs {
  const timeMs = isAge(text) ? ageBefore(text, nowMs) : Number.NaN;
  if (timeMs > 0 && timeMs <= nowMs - dayMs) return timeMs;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `${what} ${JSON.stringify(text)} is no age of at least a day and of no more years than since 1970, such as 2y, 18w or 90d`,
  );
}
