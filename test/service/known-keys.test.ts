import { expect, it } from 'vitest';
import { KnownKeys, rememberedMs } from '../../service/admission/known-keys.ts';

function lookedUp() {
  const asked: string[] = [];
  let nowMs = 0;
  const keys = new KnownKeys(
    async (key) => {
      asked.push(key);
      return key === 'good' ? 1 : null;
    },
    () => nowMs,
  );
  return { asked, keys, pass: (ms: number) => (nowMs += ms) };
}

it('looks a key up once, until it is no longer remembered', async () => {
  const { asked, keys, pass } = lookedUp();
  expect([await keys.idOf('good'), await keys.idOf('good'), await keys.idOf('other')]).toEqual([1, 1, null]);
  expect(asked).toEqual(['good', 'other']);
  pass(rememberedMs);
  expect(await keys.idOf('good')).toBe(1);
  expect(asked).toEqual(['good', 'other', 'good']);
});

it('forgets the oldest of too many guesses, and no key that came after them', async () => {
  const { asked, keys, pass } = lookedUp();
  for (let guess = 0; guess < 9_999; guess += 1) await keys.idOf(`guess ${guess}`);
  pass(1);
  await keys.idOf('good');
  for (let guess = 9_999; guess < 19_997; guess += 1) await keys.idOf(`guess ${guess}`);
  asked.length = 0;
  await keys.idOf('good');
  await keys.idOf('guess 0');
  expect(asked).toEqual(['guess 0']);
});
