import { expect, test } from 'vitest';
import type { Interval } from '../../model/intervals.ts';
import { pointReader } from '../../sources/rows.ts';

const noon = Date.UTC(2024, 4, 6, 12); // a Monday
const possible = { open: '2', high: '3.0', low: '1', close: '2.50', volume: '0', period: noon };

/** Why the candle is impossible; null: it is possible. */
function impossible(change: object, interval: Interval): string | null {
  const read = pointReader('candles', interval)({ ...possible, ...change });
  return typeof read === 'string' ? read : null;
}

test.each([
  {},
  { open: '3', close: '3.000', low: '3', high: '3.0' },
  { volume: '-0.00' },
  { open: '1.5e0', high: '1.60', low: '1.4', close: '1.6' },
])('possible: %o', (change) => {
  expect(impossible(change, 'h1')).toBeNull();
});

test.each([
  [{ high: '0.9' }, 'high is below low'],
  [{ open: '0.9999999999999999' }, 'open is below low'],
  [{ open: '3.0000000000000001' }, 'open is above high'],
  [{ close: '3.0000000000000001' }, 'close is above high'],
  [{ volume: '-0.0000000000000001' }, 'volume is negative'],
  [{ open: '1.5', high: '2.0', low: '1.0', close: '1.5e3' }, 'close is above high'],
  [{ open: '-1.5', high: '-1.6', low: '-1.5', close: '-1.6' }, 'high is below low'],
  [{ period: noon + 60_000 }, 'does not start a period of h1'],
])('impossible: %o', (change, reason) => {
  expect(impossible(change, 'h1')).toBe(reason);
});

test('a day must start at midnight, a week on any day', () => {
  const midnight = { period: Date.UTC(2024, 4, 8) };
  expect(impossible(midnight, 'd1')).toBeNull();
  expect(impossible(midnight, 'w1')).toBeNull();
  expect(impossible({}, 'w1')).toBe('does not start a period of w1');
});
