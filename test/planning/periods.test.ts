import { expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import { askedRange, recencyOf, recencyText } from '../../planning/periods.ts';

const nowMs = Date.UTC(2024, 0, 31, 18, 1, 10);
const closedUpToMs = Date.UTC(2024, 0, 31, 18);
const graceMs = minuteMs;

it.each([
  // [periods without a point, of them unasked, seconds since the answer, what is said]
  [0, 0, 10, 'read 10 s ago'],
  [0, 0, 0, 'read 0 s ago'],
  [-1, 0, 90, 'read 1 min ago'],
  // It closed a minute ago: its request is on its way.
  [1, 1, 70, 'read 1 min ago'],
  [3, 3, 3 * 3600, 'behind by 3 periods'],
  [3, 2, 3600, 'behind by 2 periods'],
  [3, 0, 3, 'silent since 2024-01-31 15:00Z, asked 3 s ago'],
  [3, 1, 62, 'silent since 2024-01-31 15:00Z, asked 1 min ago'],
  [3, 0, null, 'silent since 2024-01-31 15:00Z'],
  [null, 0, 3, 'no point, asked 3 s ago'],
  [null, 0, null, ''],
  [0, 0, null, ''],
] as const)('says how current a series of h1 is: %s without a point, %s not asked, answered %s s ago', (...row) => {
  const [without, unasked, seconds, said] = row;
  const series = {
    ...{ periodMs: hourMs, closedUpToMs, unaskedMs: unasked * hourMs },
    newestMs: without === null ? null : closedUpToMs - (without + 1) * hourMs,
    refreshedMs: seconds === null ? null : nowMs - seconds * 1000,
  };
  const textOf = (toMs: number | null) => recencyText(recencyOf({ ...series, toMs }, { nowMs, graceMs }), nowMs);
  expect(textOf(null)).toBe(said);
  expect(textOf(nowMs + 1)).toBe(said);
  expect(textOf(nowMs)).toBe('');
});

it('asks for the closed periods that a range touches, as they are tracked, and for at least one', () => {
  const series = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'h1' } as const;
  const hours = (startHour: number, endHour: number | null, nowHour: number) => {
    const range = { startMs: startHour * hourMs, endMs: endHour === null ? null : endHour * hourMs };
    const { startMs, endMs } = askedRange(series, range, { nowMs: nowHour * hourMs, graceMs: minuteMs });
    return [startMs / hourMs, endMs / hourMs];
  };
  expect(hours(0.5, 4.5, 100)).toEqual([0, 5]);
  expect(hours(0, 4, 100)).toEqual([0, 4]);
  expect(hours(0, null, 100.5)).toEqual([0, 100]);
  // Its last period may still change.
  expect(hours(0, 100, 100)).toEqual([0, 99]);
  expect(hours(99.5, null, 100)).toEqual([99, 100]);
});
