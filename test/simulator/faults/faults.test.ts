import { afterEach, expect, test } from 'vitest';
import { dayMs } from '../../../model/intervals.ts';
import { FaultDealer, type FaultKind, type Faults, noFaults } from '../../../simulator/faults/faults.ts';
import { type RunningSimulator, startSimulator } from '../../../simulator/start.ts';
import { clockAt } from '../../parts/test-clock.ts';

let simulator: RunningSimulator | undefined;
afterEach(() => simulator?.close());

const nowMs = Date.UTC(2024, 0, 1, 0, 0, 0, 500);
const query = `exchange=binance&interval=m1&baseId=bitcoin&quoteId=tether&start=${nowMs - dayMs}&end=${nowMs}`;

async function startWith(faults: Partial<Faults>): Promise<string> {
  simulator = await startSimulator({ perMinute: null, faults, clock: clockAt(() => nowMs) });
  return `${simulator.url}/candles?${query}`;
}

const mixed = { ...noFaults, errorRate: 0.2, htmlRate: 0.1, rateLimitRate: 0.02, rateLimitBurst: 7 };

function draws(dealer: FaultDealer, count: number): (FaultKind | null)[] {
  return Array.from({ length: count }, () => dealer.draw());
}

test('draws faults at their rates and deterministically by seed', () => {
  const drawn = draws(new FaultDealer('a', mixed), 20_000);
  expect(draws(new FaultDealer('a', mixed), 20_000)).toEqual(drawn);
  expect(draws(new FaultDealer('b', mixed), 20_000)).not.toEqual(drawn);
  const outsideBursts = drawn.filter((kind) => kind !== 'rate_limit');
  const share = (kind: FaultKind) => outsideBursts.filter((other) => other === kind).length / outsideBursts.length;
  expect(share('error')).toBeCloseTo(0.2, 1);
  expect(share('html')).toBeCloseTo(0.1, 1);
  const runs = drawn.map((kind) => (kind === 'rate_limit' ? 'x' : '.')).join('');
  expect(runs.match(/x+(?=\.)/g)?.every((run) => run.length % 7 === 0)).toBe(true);
});

test('refuses invalid rates', () => {
  expect(() => new FaultDealer('a', { ...noFaults, errorRate: 1.1 })).toThrow('errorRate must lie within 0 to 1');
  expect(() => new FaultDealer('a', { ...noFaults, errorRate: Number.NaN })).toThrow(RangeError);
  expect(() => new FaultDealer('a', { ...noFaults, errorRate: 0.6, htmlRate: 0.6 })).toThrow('over 1');
  expect(() => new FaultDealer('a', { ...noFaults, rateLimitBurst: 0 })).toThrow('rateLimitBurst');
  expect(() => new FaultDealer('a', { ...noFaults, maxRows: -1 })).toThrow('maxRows');
});

test.each<[keyof Faults, number, RegExp, RegExp]>([
  ['errorRate', 500, /^application\/json/, /^\{"error":/],
  ['htmlRate', 200, /^text\/html/, /^<!doctype html>/],
  ['notFoundRate', 404, /^text\/plain/, /^404 page not found$/],
  ['emptyRate', 200, /^application\/json/, /^\{"data":\[\],"timestamp":1704067200500\}$/],
  ['rateLimitRate', 429, /^text\/plain/, /^You exceeded/],
])('%s', async (rate, status, type, body) => {
  const answer = await fetch(await startWith({ [rate]: 1 }));
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(type);
  expect(await answer.text()).toMatch(body);
  if (status === 429) expect(answer.headers.get('x-ratelimit-reset')).toBe('1704067202');
});

test.each([
  ['reset', 'x-ratelimit-reset', String(Math.ceil(nowMs / 1000) + 3)],
  ['seconds', 'retry-after', '3'],
  ['date', 'retry-after', new Date(nowMs + 3500).toUTCString()],
  ['none', 'date', expect.any(String)],
] as const)('a 429 says when to come back: %s', async (rateLimitHeader, name, value) => {
  const url = await startWith({ rateLimitRate: 1, rateLimitResetMs: 3000, rateLimitHeader });
  const { status, headers } = await fetch(url);
  expect(status).toBe(429);
  expect(headers.get(name)).toEqual(value);
  const told = [...headers.keys()].filter((key) => ['x-ratelimit-reset', 'retry-after'].includes(key));
  expect(told).toEqual(rateLimitHeader === 'none' ? [] : [name]);
});
