import { expect, it } from 'vitest';
import { keyCacheMs, knownKeys } from '../../service/admission/admission.ts';

function lookups() {
  const found: string[] = [];
  let nowMs = 1_000_000;
  const idOf = knownKeys(
    async (key) => {
      found.push(key);
      if (key === 'away') throw new Error('the store is away');
      return key === 'good' ? 1 : null;
    },
    { now: () => nowMs },
  );
  return { found, idOf, pass: (ms: number) => (nowMs += ms) };
}

it('looks a key up once until the cached id expires', async () => {
  const { found, idOf, pass } = lookups();
  expect([await idOf('good'), await idOf('good'), await idOf('other')]).toEqual([1, 1, null]);
  expect(found).toEqual(['good', 'other']);
  pass(keyCacheMs + 1);
  expect(await idOf('good')).toBe(1);
  expect(found).toEqual(['good', 'other', 'good']);
});

it('does not cache a failed lookup', async () => {
  const { found, idOf } = lookups();
  await expect(idOf('away')).rejects.toThrow();
  await expect(idOf('away')).rejects.toThrow();
  expect(found).toEqual(['away', 'away']);
});

it('keeps a key that is in use when many unknown keys arrive', async () => {
  const { found, idOf } = lookups();
  await idOf('good');
  for (let guess = 0; guess < 9_999; guess += 1) await idOf(`guess ${guess}`);
  await idOf('good');
  for (let guess = 9_999; guess < 15_000; guess += 1) await idOf(`guess ${guess}`);
  found.length = 0;
  await idOf('good');
  await idOf('guess 0');
  expect(found).toEqual(['guess 0']);
});
