import { expect, test } from 'vitest';
import { prepareAnswer } from '../../service/answer.ts';
import { AnswerMemory } from '../../service/answer-memory.ts';

/** Counts how often it was asked. */
function store() {
  let asked = 0;
  const prepare = async () => {
    asked += 1;
    return prepareAnswer(`[${asked}]`);
  };
  return { prepare, times: () => asked };
}
const text = async (answer: Promise<{ rows: Buffer }>) => (await answer).rows.toString();

test('gives an answer again until it is too old, counted from when it was asked for', async () => {
  const { prepare, times } = store();
  const memory = new AnswerMemory({ forMs: 1000, mostBytes: 1e6 });
  expect(await text(memory.get('q', 0, prepare))).toBe('[1]');
  expect(await text(memory.get('q', 999, prepare))).toBe('[1]');
  expect(await text(memory.get('q', 1000, prepare))).toBe('[2]');
  expect(await text(memory.get('other', 1000, prepare))).toBe('[3]');
  expect(times()).toBe(3);
});

test('who asks while an answer is under way shares it', async () => {
  const { prepare, times } = store();
  const memory = new AnswerMemory({ forMs: 1000, mostBytes: 1e6 });
  const answers = await Promise.all([1, 2, 3].map(() => text(memory.get('q', 5, prepare))));
  expect([answers, times()]).toEqual([['[1]', '[1]', '[1]'], 1]);
});

test('a failure is not given again', async () => {
  const { prepare } = store();
  const memory = new AnswerMemory({ forMs: 1000, mostBytes: 1e6 });
  await expect(memory.get('q', 0, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await text(memory.get('q', 0, prepare))).toBe('[1]');
});

test('keeps no more than it may: the oldest go first', async () => {
  const memory = new AnswerMemory({ forMs: 1000, mostBytes: 250 });
  const { prepare, times } = store();
  const large = async () => {
    await prepare();
    return prepareAnswer(`"${'x'.repeat(98)}"`);
  };
  for (const question of ['a', 'b', 'c']) await memory.get(question, 0, large);
  await memory.get('c', 0, large);
  await memory.get('b', 0, large);
  expect(times()).toBe(3);
  await memory.get('a', 0, large);
  expect(times()).toBe(4);
});

test('with no time to keep them, each request has its own', async () => {
  const { prepare, times } = store();
  const memory = new AnswerMemory({ forMs: 0, mostBytes: 1e6 });
  await Promise.all([memory.get('q', 0, prepare), memory.get('q', 0, prepare)]);
  expect(times()).toBe(2);
});
