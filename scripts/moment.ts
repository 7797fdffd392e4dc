/** The times that `--from` and `--to` take: ISO 8601 dates and times in UTC, and ages. */

import { dayMs, type EpochMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';
import { ageBefore, isAge } from '../planning/age.ts';

const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(?:Z|\+00:?00)?)?$/;

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
  const parts = isoPattern.exec(text);
  if (parts !== null) {
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
      .slice(1, 7)
      .map((part) => Number(part ?? 0));
    const fraction = Number((parts[7] ?? '0').padEnd(3, '0'));
    const timeMs = Date.UTC(year, month - 1, day, hour, minute, second, fraction);
    const back = new Date(timeMs);
    // Date.UTC takes a 31st of February for a 2nd or 3rd of March.
    const exact =
      back.getUTCMonth() === month - 1 &&
      back.getUTCDate() === day &&
      hour < 24 &&
      minute < 60 &&
      second < 60;
    if (exact && timeMs > 0) return timeMs;
  }
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
