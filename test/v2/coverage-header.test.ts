import { expect, it } from 'vitest';
import { readCoverage, writeCoverage } from '../../v2/coverage-header.ts';

it('reads a header as it was written', () => {
  const missing = [
    { startMs: 0, endMs: 3_600_000 },
    { startMs: 7_200_000, endMs: 10_800_000 },
  ];
  const text = writeCoverage({ share: '0.5', gaps: 2, untilMs: 14_400_000, missing });
  expect(text).toBe('share=0.5, gaps=2, until=14400000, missing=0-3600000 7200000-10800000');
  expect(readCoverage(text)).toEqual({ untilMs: 14_400_000, missing });
  const whole = writeCoverage({ share: '1', gaps: 0, untilMs: 14_400_000, missing: [] });
  expect(readCoverage(whole)).toEqual({ untilMs: 14_400_000, missing: [] });
});

it.each([
  '',
  'share=1',
  'share=1, gaps=0, until=-1',
  'share=1, gaps=0, until=9999999999999999',
  'share=1, gaps=0, until=10, missing=',
  // What it counts it must tell.
  'share=0.5, gaps=1, until=10',
  'share=0.5, gaps=2, until=10, missing=0-5',
  'share=0.5, gaps=0, until=10, missing=0-5',
  // Backwards, empty, touching, out of order, beyond what it speaks of.
  'share=0.5, gaps=1, until=10, missing=5-0',
  'share=0.5, gaps=2, until=10, missing=0-5 5-6',
  'share=0.5, gaps=2, until=10, missing=6-7 0-5',
  'share=0.5, gaps=1, until=10, missing=5-11',
])('nothing is read of: %s', (text) => {
  expect(readCoverage(text)).toBe(null);
});
