import { expect, it } from 'vitest';
import { parseInterval } from '../../planning/time-text.ts';

it('a cadence is a duration from ten seconds to a year', () => {
  expect(['10s', '30s', '5m', '5min', '1h', '366d'].map(parseInterval)).toEqual([
    10_000,
    30_000,
    300_000,
    300_000,
    3_600_000,
    366 * 86_400_000,
  ]);
  for (const text of ['5', '9s', '0m', '-5m', '5 m', '367d', 'm5', '', '1w', '1.5h', '5m '])
    expect([text, parseInterval(text)]).toEqual([text, null]);
});
