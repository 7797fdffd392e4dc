/** Dates and times in UTC as people write them: `2024-01-31`, `2024-01-31T06:00`, `2024-01-31T06:00:00Z`. */

import type { EpochMs } from '../contract/intervals.ts';

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(?:Z|\+00:?00)?)?$/;

/** The moment; null when the text is none, such as a 31st of February, or lies before 1970. */
export function isoMoment(text: string): EpochMs | null {
  const parts = pattern.exec(text);
  if (parts === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const fraction = Number((parts[7] ?? '0').padEnd(3, '0'));
  const timeMs = Date.UTC(year, month - 1, day, hour, minute, second, fraction);
  const back = new Date(timeMs);
  // Date.UTC takes a 31st of February for a 2nd or 3rd of March.
  const exact =
    back.getUTCMonth() === month - 1 && back.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  return exact && timeMs > 0 ? timeMs : null;
}
