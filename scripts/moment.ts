/** The times that `--from` and `--to` take: ISO 8601 dates and times in UTC, and ages. */

import { dayMs, type EpochMs, hourMs, minuteMs, weekMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';

const agePattern = /^(\d{1,5})(min|h|d|w|y)$/;
const isoPattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(?:Z|\+00:?00)?)?$/;
const unitMs = { min: minuteMs, h: hourMs, d: dayMs, w: weekMs } as const;

/**
 * `2024-01-31`, `2024-01-31T06:00`, `2024-01-31T06:00:00Z` (all UTC), or an age back from now: `30min`, `6h`,
 * `90d`, `8w`, `11y` (calendar years).
 *
 * @throws TidemarkError BAD_ARGUMENT naming the option.
 */
export function parseMoment(text: string, option: string, nowMs: EpochMs): EpochMs {
  const age = agePattern.exec(text);
  if (age !== null) {
    const count = Number(age[1]);
    const unit = age[2] as keyof typeof unitMs | 'y';
    const timeMs = unit === 'y' ? yearsBefore(nowMs, count) : nowMs - count * unitMs[unit];
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

function yearsBefore(nowMs: EpochMs, years: number): EpochMs {
  const date = new Date(nowMs);
  date.setUTCFullYear(date.getUTCFullYear() - years);
  return date.getTime();
}
