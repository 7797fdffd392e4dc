import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createCircuitBreaker } from '../../workers/circuit-breaker.ts';
import { createTestClock } from '../parts/test-clock.ts';
import { collectingLog, silent } from '../queue/queue-parts.ts';

function watch(lines: string[] = []) {
  return createCircuitBreaker({ what: 'the source', threshold: 3, log: collectingLog(lines) });
}

/** A failure of an attempt that started and ended at the same time. */
const failAt = (nowMs: number) => ({ startedMs: nowMs, nowMs, message: 'connection refused' });

test('a few failures are no outage, and a success resets their count', () => {
  const outage = watch();
  expect([outage.failed(failAt(0)), outage.failed(failAt(1))]).toEqual([0, 0]);
  outage.succeeded(2);
  expect([outage.failed(failAt(3)), outage.failed(failAt(4))]).toEqual([0, 0]);
});

test('the pause doubles with each failed attempt, up to ten seconds', () => {
  const outage = watch();
  outage.failed(failAt(0));
  outage.failed(failAt(0));
  const pauses: number[] = [];
  let nowMs = 0;
  for (let tries = 0; tries < 9; tries += 1) {
    const pauseMs = outage.failed(failAt(nowMs));
    pauses.push(pauseMs);
    nowMs += pauseMs;
  }
  expect(pauses).toEqual([1, 2, 4, 8, 10, 10, 10, 10, 10].map((seconds) => seconds * 1000));
});

test('concurrent failed attempts lengthen the pause once', () => {
  const outage = watch();
  outage.failed(failAt(0));
  outage.failed(failAt(0));
  expect(outage.failed(failAt(100))).toBe(1000);
  for (const nowMs of [150, 200, 600]) {
    expect(outage.failed({ startedMs: 50, nowMs, message: 'reset' })).toBe(1100 - nowMs);
  }
  expect(outage.failed({ startedMs: 60, nowMs: 5000, message: 'reset' })).toBe(0);
  expect(outage.failed(failAt(5001))).toBe(2000);
});

test('one attempt begins after each pause, whether or not the one before has ended', async () => {
  const outage = watch();
  const clock = createTestClock(0);
  const enter = (claimedMs: number) => outage.enter(claimedMs, clock, (ms) => clock.sleep(ms));
  expect(await enter(0)).toBe(true);
  await clock.advance(1);
  for (let tries = 0; tries < 3; tries += 1) outage.failed(failAt(0));
  while (clock.now() < 60_000) {
    const first = enter(clock.monotonicMs());
    // Claimed together with the first.
    expect(await enter(clock.monotonicMs())).toBe(false);
    await clock.advance(10_000);
    expect(await first).toBe(true);
    expect(await enter(0)).toBe(false);
  }
  // The first of them times out: it began before the last pause.
  expect(outage.failed({ startedMs: 1000, nowMs: 60_000, message: 'timeout' })).toBe(1);
  expect(outage.succeeded(62_000, 55_000)).toBe(true);
  expect(outage.succeeded(62_000, 45_000)).toBe(false);
  expect(await enter(0)).toBe(true);
});

test('each outage is logged once, when it begins', () => {
  const lines: string[] = [];
  const outage = watch(lines);
  for (let place = 0; place < 20; place += 1) outage.failed(failAt(place * 100_000));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/connection refused.*the source is unreachable/);
  outage.succeeded(3_000_000);
  for (let place = 0; place < 3; place += 1) outage.failed(failAt(4_000_000));
  expect(lines).toHaveLength(2);
});

test('an answer to a request from before the outage does not end it', () => {
  const lines: string[] = [];
  const outage = watch(lines);
  for (const nowMs of [1000, 1001, 1002]) outage.failed({ startedMs: 900, nowMs, message: 'reset' });
  outage.succeeded(1500, 901);
  expect(outage.isOpen()).toBe(true);
  expect(outage.failed(failAt(2002))).toBe(2000);
  expect(lines).toHaveLength(1);
  outage.succeeded(4002);
  outage.succeeded(14_002);
  expect(outage.isOpen()).toBe(false);
});

test('an outage explains the failures of attempts from before its end, even those noticed later', () => {
  const outage = watch();
  expect(outage.explains(0)).toBe(false);
  for (let tries = 0; tries < 3; tries += 1) outage.failed(failAt(1000));
  expect(outage.explains(1000)).toBe(true);
  outage.succeeded(2000);
  outage.succeeded(12_000);
  expect(outage.isOpen()).toBe(false);
  expect(outage.explains(1999)).toBe(true);
  expect(outage.explains(2001)).toBe(false);
});

test('an outage continues, and its pause grows, while only a few requests succeed', () => {
  const lines: string[] = [];
  const outage = watch(lines);
  for (let tries = 0; tries < 2; tries += 1) outage.failed(failAt(0));
  expect(outage.failed(failAt(0))).toBe(1000);
  outage.succeeded(1000);
  // Fewer failures in a row than the threshold do not pause again.
  expect([outage.failed(failAt(1001)), outage.failed(failAt(1002))]).toEqual([0, 0]);
  outage.succeeded(1003);
  for (let tries = 0; tries < 2; tries += 1) outage.failed(failAt(9000));
  expect(outage.failed(failAt(9000))).toBe(2000);
  expect(lines).toHaveLength(1);
});

test('the first pause of the next outage is short again', () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const outage = createCircuitBreaker({ what: 'the database', threshold: 1, log });
  outage.failed(failAt(0));
  expect(outage.failed(failAt(1000))).toBe(2000);
  outage.succeeded(3000);
  outage.succeeded(13_000);
  expect(outage.failed(failAt(14_000))).toBe(1000);
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/"outageSeconds":3.*the database is reachable again/);
});

test('an outage that was never closed is over when the next failure comes much later', () => {
  const outage = createCircuitBreaker({ what: 'the database', threshold: 1, log: silent });
  outage.failed(failAt(0));
  outage.succeeded(3000);
  expect(outage.failed(failAt(3_600_000))).toBe(1000);
});
