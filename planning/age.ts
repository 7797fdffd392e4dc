/** Lengths of time as people write them: `30min`, `6h`, `90d`, `8w`, `11y`. */

import { dayMs, type EpochMs, hourMs, minuteMs, weekMs } from '../contract/intervals.ts';

const agePattern = /^(\d{1,5})(min|h|d|w|y)$/;
const unitMs = { min: minuteMs, h: hourMs, d: dayMs, w: weekMs } as const;

/** Whether the text is an age. */
export function isAge(text: string): boolean {
  return agePattern.test(text);
}

/**
 * The moment that lies the age before `nowMs`, UTC; years are calendar years. May lie before 1970.
 *
 * @throws RangeError when the text is no age.
 */
export function ageBefore(text: string, nowMs: EpochMs): EpochMs {
  const age = agePattern.exec(text);
  if (age === null) throw new RangeError(`not an age: ${text}`);
  const count = Number(age[1]);
  const unit = age[2] as keyof typeof unitMs | 'y';
  return unit === 'y' ? yearsBefore(nowMs, count) : nowMs - count * unitMs[unit];
}

function yearsBefore(nowMs: EpochMs, years: number): EpochMs {
  const date = new Date(nowMs);
  date.setUTCFullYear(date.getUTCFullYear() - years);
  return date.getTime();
}
