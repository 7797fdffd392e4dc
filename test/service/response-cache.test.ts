import { beforeEach, expect, test } from 'vitest';
import { type PreparedAnswer, prepareAnswer } from '../../service/response.ts';
import { type CacheSettings, responseCache } from '../../service/response-cache.ts';

/** Counts the calls of `prepare`. */
function countedSource() {
  let calls = 0;
  const prepare = async () => {
    calls += 1;
    return prepareAnswer(`[${calls}]`);
  };
  return { prepare, times: () => calls };
}

let nowMs = 0;
beforeEach(() => {
  nowMs = 1_000_000;
});
const cacheOf = (settings: CacheSettings) => {
  const cached = responseCache(settings, { now: () => nowMs });
  return (key: string, prepare: () => Promise<PreparedAnswer>) => cached(key, nowMs, prepare);
};
const text = async (answer: Promise<{ rows: Buffer }>) => (await answer).rows.toString();

test('repeats a response until it expires, counted from the start of its request', async () => {
  const { prepare, times } = countedSource();
  const get = cacheOf({ forMs: 1000, maxBytes: 1e6 });
  expect(await text(get('q', prepare))).toBe('[1]');
  nowMs += 1000;
  expect(await text(get('q', prepare))).toBe('[1]');
  nowMs += 1;
  expect(await text(get('q', prepare))).toBe('[2]');
  expect(await text(get('other', prepare))).toBe('[3]');
  expect(times()).toBe(3);
});

test('shares a response that is still being prepared, and counts its age from the start', async () => {
  const { prepare, times } = countedSource();
  const get = cacheOf({ forMs: 1000, maxBytes: 1e6 });
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  const slow = [1, 2, 3].map(() => text(get('q', () => promise.then(prepare))));
  nowMs += 900;
  resolve();
  expect([await Promise.all(slow), times()]).toEqual([['[1]', '[1]', '[1]'], 1]);
  nowMs += 101;
  expect(await text(get('q', prepare))).toBe('[2]');
});

test('does not cache a failure', async () => {
  const { prepare } = countedSource();
  const get = cacheOf({ forMs: 1000, maxBytes: 1e6 });
  await expect(get('q', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await text(get('q', prepare))).toBe('[1]');
});

test('evicts the least recently used response when the cache is full', async () => {
  const { prepare, times } = countedSource();
  const get = cacheOf({ forMs: 1000, maxBytes: 250 });
  const large = async () => {
    await prepare();
    return prepareAnswer(`"${'x'.repeat(98)}"`);
  };
  for (const key of ['a', 'b', 'c', 'c', 'b']) await get(key, large);
  expect(times()).toBe(3);
  await get('a', large);
  expect(times()).toBe(4);
});
