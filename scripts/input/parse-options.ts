/** Parses values of options: whole numbers, and times as ISO 8601 dates and times in UTC, or ages. */

import { badArgument, TidemarkError } from '../../errors.ts';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import { isAge, parseIsoTime, timeOfAge } from '../../model/time-text.ts';

/**
 * `2024-01-31`, `2024-01-31T06:00`, `2024-01-31T06:00:00Z` (all UTC), `2024-01-31T06:00+02:00`, milliseconds since
 * 1970, or an age back from now: `30min`, `6h`, `90d`, `8w`, `11y` (calendar years).
 *
 * @throws TidemarkError BAD_ARGUMENT naming the option.
 */
export function parseTime(text: string, option: string, nowMs: EpochMs): EpochMs {
  if (isAge(text)) {
    const timeMs = timeOfAge(text, nowMs);
    if (timeMs > 0) return timeMs;
    throw badArgument(`${option} ${text} lies before 1970`);
  }
  const timeMs = parseIsoTime(text);
  if (timeMs !== null) return timeMs;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `${option} ${JSON.stringify(text)} is not a date such as 2024-01-31, 2024-01-31T06:00Z or ` +
      '2024-01-31T06:00+02:00 (without an offset: UTC), an age such as 11y, 90d or 6h, or milliseconds since 1970',
    /^\d{9,10}$/.test(text) ? { remedy: `for seconds since 1970, append 000: ${text}000` } : {},
  );
}

/**
 * The time that lies an age of at least a day before now: `90d`, `8w`, `2y`.
 *
 * @throws TidemarkError BAD_ARGUMENT naming the option.
 */
export function parseAge(text: string, what: string, nowMs: EpochMs): EpochMs {
  const timeMs = isAge(text) ? timeOfAge(text, nowMs) : Number.NaN;
  if (timeMs > 0 && timeMs <= nowMs - dayMs) return timeMs;
  throw badArgument(
    `${what} ${JSON.stringify(text)} is not an age between a day and the years since 1970, such as 2y, 18w or 90d`,
  );
}

/** @throws TidemarkError BAD_ARGUMENT naming the option. */
export function parseWhole(text: string, option: string, min: number, max: number): number {
  if (/^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw badArgument(`${option} ${JSON.stringify(text)} is not a number from ${min} to ${max}`);
}
