import { afterEach, expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../contract/intervals.ts';
import type { CandleSeries } from '../../contract/series.ts';
import type { Faults } from '../../simulator/faults/faults.ts';
import { type RunningSimulator, startSimulator } from '../../simulator/start.ts';
import { clockAt } from '../parts/test-clock.ts';

let simulator: RunningSimulator | undefined;
afterEach(() => simulator?.close());

const nowMs = Date.UTC(2024, 0, 1, 0, 20, 0, 500);
const startMs = nowMs - 2 * hourMs;
const candles: CandleSeries = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'm1',
};
const range = { startMs, endMs: nowMs + hourMs };
const query = `exchange=binance&interval=m1&baseId=bitcoin&quoteId=tether&start=${startMs}&end=${range.endMs}`;

async function startWith(faults: Partial<Faults>): Promise<RunningSimulator> {
  simulator = await startSimulator({ perMinute: null, faults, clock: clockAt(() => nowMs) });
  return simulator;
}

async function asked(
  url: string,
): Promise<{ data: { period: number; volume: string }[]; timestamp: number }> {
  return (await fetch(url)).json() as Promise<{
    data: { period: number; volume: string }[];
    timestamp: number;
  }>;
}

test('resets the connection within the body', async () => {
  const { url, requests } = await startWith({ resetRate: 1 });
  const response = await fetch(`${url}/candles?${query}`);
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
  expect(requests()).toMatchObject({ byFault: { reset: 1 }, byStatus: {} });
});

test('sends the data and timestamp of the past in a stale response', async () => {
  const { url, truth, setFaults } = await startWith({ staleRate: 1, staleMs: 10 * minuteMs });
  const stale = await asked(`${url}/candles?${query}`);
  expect(stale.timestamp).toBe(nowMs - 10 * minuteMs);
  expect(stale.data).toEqual(truth.candles(candles, range, nowMs - 10 * minuteMs));
  setFaults({});
  const fresh = await asked(`${url}/candles?${query}`);
  expect(fresh).toEqual({ data: truth.candles(candles, range), timestamp: nowMs });
  expect(fresh.data.length).toBeGreaterThan(stale.data.length);
});

test.each([
  ['reset', 'x-ratelimit-reset', String(Math.ceil(nowMs / 1000) + 3)],
  ['seconds', 'retry-after', '3'],
  ['date', 'retry-after', new Date(nowMs + 3500).toUTCString()],
  ['none', 'date', expect.any(String)],
] as const)('a 429 says when to come back: %s', async (rateLimitHeader, name, value) => {
  const { url } = await startWith({ rateLimitRate: 1, rateLimitResetMs: 3000, rateLimitHeader });
  const { status, headers } = await fetch(`${url}/rates`);
  expect(status).toBe(429);
  expect(headers.get(name)).toEqual(value);
  const told = [...headers.keys()].filter((key) => ['x-ratelimit-reset', 'retry-after'].includes(key));
  expect(told).toEqual(rateLimitHeader === 'none' ? [] : [name]);
});
