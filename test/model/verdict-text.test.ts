import { expect, it } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import { verdictText } from '../../model/reasons.ts';

const timeMs = Date.UTC(2024, 0, 2, 12, 1);

it.each([
  ['a refresh whose newest point is late', 'cut_short', 'refresh', 12, 'partial: the newest point is not there yet'],
  ['a backfill of old points', 'cut_short', 'backfill', -1000, 'partial: the answer may be truncated'],
  ['a refresh that ends long ago', 'cut_short', 'refresh', -1000, 'partial: the answer may be truncated'],
  ['another verdict', 'confirmed_empty', 'refresh', 12, 'confirmed empty'],
  ['a kind of error', 'rate_limited', 'backfill', 12, 'rate limited'],
])('says what came of %s', (_, verdict, lane, endHour, text) => {
  const endMs = Date.UTC(2024, 0, 2, endHour);
  expect(verdictText({ verdict, lane, range: { startMs: endMs - 3 * hourMs, endMs }, timeMs }, 'h1')).toBe(text);
});
