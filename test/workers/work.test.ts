import { expect, test } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import { assertWhole } from '../../workers/work.ts';

const range = { startMs: 0, endMs: 24 * hourMs };
const answer = { rows: [], rejected: [], sourceTimeMs: null, status: 200, bytes: 12, durationMs: 3 };

test('accepts an answer whose source states no missing range', () => {
  const saysNothing = { ...answer, known: null };
  const hasAll = { ...answer, known: { untilMs: range.endMs, missing: [] } };
  for (const whole of [answer, saysNothing, hasAll]) expect(assertWhole(whole, range)).toBe(whole);
});

test('refuses an answer whose source lacks a part of the range, and names the part', () => {
  const known = { untilMs: range.endMs, missing: [{ startMs: hourMs, endMs: 2 * hourMs }] };
  let thrown: unknown;
  try {
    assertWhole({ ...answer, known }, range);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ name: 'SourceError', kind: 'incomplete', status: 200, bytes: 12 });
  expect(String(thrown)).toContain('1970-01-01T01:00:00.000Z to 1970-01-01T02:00:00.000Z');
});
