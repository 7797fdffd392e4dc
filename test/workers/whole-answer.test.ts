import { expect, test } from 'vitest';
import { hourMs } from '../../contract/intervals.ts';
import { wholeAnswer } from '../../workers/whole-answer.ts';

const range = { startMs: 0, endMs: 24 * hourMs };
const answer = { rows: [], rejected: [], sourceTimeMs: null, status: 200, bytes: 12, durationMs: 3 };

test('an answer is whole where its source says of nothing that it is missing', () => {
  const saysNothing = { ...answer, known: null };
  const hasAll = { ...answer, known: { untilMs: range.endMs, missing: [] } };
  for (const whole of [answer, saysNothing, hasAll]) expect(wholeAnswer(whole, range)).toBe(whole);
});

test('of one that is not no use is made, and it says what is missing', () => {
  const known = { untilMs: range.endMs, missing: [{ startMs: hourMs, endMs: 2 * hourMs }] };
  let thrown: unknown;
  try {
    wholeAnswer({ ...answer, known }, range);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ name: 'SourceError', kind: 'incomplete', status: 200, bytes: 12 });
  expect(String(thrown)).toContain('1970-01-01T01:00:00.000Z to 1970-01-01T02:00:00.000Z');
});
