import { afterEach, expect, test } from 'vitest';
import { RateLimit } from '../../simulator/requests.ts';
import { type RunningSimulator, startSimulator } from '../../simulator/start.ts';
import { clockAt } from '../parts/test-clock.ts';

let simulator: RunningSimulator | undefined;
afterEach(() => simulator?.close());

test('limits each caller to 200 requests without a key and 500 with one', () => {
  const limit = new RateLimit(undefined);
  const admitted = (key: string | null, address: string, nowMs: number, tries: number) =>
    Array.from({ length: tries }, () => limit.admit(key, address, nowMs)).filter((freeAt) => freeAt === null).length;
  expect(admitted(null, 'a', 0, 150)).toBe(150);
  expect(admitted(null, 'a', 30_000, 150)).toBe(50);
  expect(admitted('key', 'a', 30_000, 600)).toBe(500);
  expect(admitted(null, 'b', 30_000, 10)).toBe(10);
  expect(limit.admit(null, 'a', 59_999)).toBe(60_000);
  expect(admitted(null, 'a', 60_000, 300)).toBe(150);
  expect(limit.admit(null, 'a', 60_000)).toBe(90_000);
  expect(new RateLimit(null).admit(null, 'a', 0)).toBe(null);
});

test('refuses requests over the limit in plain text with the reset time', async () => {
  let nowMs = Date.UTC(2024, 0, 1, 0, 0, 0, 500);
  simulator = await startSimulator({ perMinute: 3, clock: clockAt(() => nowMs) });
  const { url } = simulator;
  const ask = () => fetch(`${url}/rates/euro`);
  for (let at = 0; at < 3; at++) expect((await ask()).status).toBe(200);
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(refused.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(refused.headers.get('x-ratelimit-reset')).toBe(String(Date.UTC(2024, 0, 1, 0, 1, 1) / 1000));
  expect(await refused.text()).toMatch(/^You exceeded your 3 request/);

  nowMs += 60_000;
  expect((await ask()).status).toBe(200);
  await expect.poll(() => simulator?.requests().byStatus).toEqual({ 200: 4, 429: 1 });
  const counts = simulator.requests();
  expect(counts).toMatchObject({ total: 5, largestRollingMinute: 4, count429: 1 });
  expect(counts.byRoute).toEqual({ '/v2/rates/:id': 5 });
  expect(counts.recent.map((request) => request.status)).toEqual([200, 200, 200, 429, 200]);
});
