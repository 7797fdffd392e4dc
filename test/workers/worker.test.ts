import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { formatTime } from '../../model/format.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { endPause, writePause } from '../../store/settings/settings.ts';
import { endSourcePause, readSourcePauses, writeSourcePause } from '../../store/settings/source-orders.ts';
import { changeRefusal } from '../../store/settings/source-refusal.ts';
import { createSourceGate } from '../../workers/source-gate.ts';
import { quickPauses } from '../faults/quick-pauses.ts';
import { clockAt, createTestClock } from '../parts/test-clock.ts';
import { waitFor } from '../parts/wait-for.ts';
import { bitcoinHours, collectingLog, onEachBackend, silent } from '../queue/queue-parts.ts';
import { serve, serveBody } from '../sources/local-server.ts';
import { serveCandles } from './candle-server.ts';
import {
  coveredOf,
  hourMs,
  ledgerOf,
  noonMs,
  openParts,
  settings,
  startTestWorker,
  trackHours,
  type WorkerParts,
} from './worker-parts.ts';

const wholeTrack = (hours: number) => {
  const text = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ');
  return `{["${text(noonMs - hours * hourMs)}+00","${text(noonMs)}+00")}`;
};

async function untilIdle(parts: WorkerParts): Promise<void> {
  const { requests } = parts.queues;
  await waitFor('an empty queue', async () => (await requests.claimedWindows()).windows.size === 0);
}

onEachBackend('a worker', (kind) => {
  test('requests nothing while somebody has paused all requests, of windows that were queued before', async () => {
    const parts = await openParts(kind);
    const { database, queues } = parts;
    const server = await serveCandles(() => noonMs);
    await queues.requests.addWindows(await trackHours(parts, 4));
    await writePause(database, { sinceMs: noonMs, by: null });
    await startTestWorker(parts, server.baseUrl);
    await waitFor('every window to wait', async () => (await queues.requests.depth()).delayed >= 4);
    expect(server.requests).toEqual([]);
    await endPause(database, noonMs);
    await untilIdle(parts);
    expect(await coveredOf(database)).toBe(wholeTrack(4));
    expect((await ledgerOf(database)).every(({ attempt }) => attempt === 1)).toBe(true);
  });

  test('requests nothing of a source while somebody has paused that one', async () => {
    const parts = await openParts(kind);
    const { database, queues } = parts;
    const server = await serveCandles(() => noonMs);
    const pause = { sinceMs: noonMs, by: null };
    await queues.requests.addWindows(await trackHours(parts, 4));
    expect(await writeSourcePause(database, 'kraken', pause)).toBe(true);
    expect(await writeSourcePause(database, defaultSource, pause)).toBe(true);
    expect(await writeSourcePause(database, defaultSource, { ...pause, by: 'another' })).toBe(false);
    await startTestWorker(parts, server.baseUrl);
    await waitFor('every window to wait', async () => (await queues.requests.depth()).delayed >= 4);
    expect(server.requests).toEqual([]);
    await endSourcePause(database, defaultSource, noonMs);
    await untilIdle(parts);
    expect(await coveredOf(database)).toBe(wholeTrack(4));
    expect([...(await readSourcePauses(database))]).toEqual([['kraken', pause]]);
  });

  test('ignores the windows that another version has queued', async () => {
    const parts = await openParts(kind);
    const server = await serveCandles(() => noonMs);
    const [first, second, third] = await trackHours(parts, 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error('three windows');
    const series = { ...second.series, dataset: 'trades' } as unknown as typeof second.series;
    const older = { ...first, v: 1 };
    await parts.queues.requests.addWindows([older, { ...second, series }, third]);
    await startTestWorker(parts, server.baseUrl);
    await untilIdle(parts);
    expect(await ledgerOf(parts.database)).toHaveLength(1);
    expect(await coveredOf(parts.database)).toBe(wholeTrack(1));
  });

  test('blocks nothing under an id that another series has by now', async () => {
    const parts = await openParts(kind);
    const server = await serve((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'baseId not found', timestamp: noonMs }));
    });
    const windows = await trackHours(parts, 2);
    const gone: SeriesKey = { ...bitcoinHours, baseId: 'of-before-the-backup' };
    await parts.queues.requests.addWindows(windows.map((window) => ({ ...window, series: gone })));
    await startTestWorker(parts, server.baseUrl);
    await untilIdle(parts);
    expect(server.requests.length).toBeGreaterThan(0);
    const { rows } = await parts.database.pool.query(
      `select untracked_at, blocked_until, (select count(*) from tidemark.pending_windows) as pending,
              (select count(*) from tidemark.fetches) as requests from tidemark.series`,
    );
    expect(rows).toEqual([{ untracked_at: null, blocked_until: null, pending: 0, requests: 0 }]);
  });

  test('defers a window after an answer without a readable row no longer than any', async () => {
    const parts = await openParts(kind);
    const server = await serveBody({ data: [{ period: noonMs }], timestamp: noonMs });
    await parts.queues.requests.addWindows(await trackHours(parts, 1));
    await startTestWorker(parts, server.baseUrl, { settings: { ...settings, failedRetryMs: 5000 } });
    await untilIdle(parts);
    const { rows } = await parts.database.pool.query<{ pause: number }>(
      'select extract(epoch from retry_at - first_at)::int as pause from tidemark.pending_windows',
    );
    expect(rows).toEqual([{ pause: 5 }]);
  });

  test('pauses all workers after a 429 until the time from the source, at no cost of attempts', async () => {
    const parts = await openParts(kind, { attempts: 1 });
    const clock = { nowMs: noonMs };
    const { queues, pausesMs } = quickPauses(parts.queues, clock);
    const server = await serveCandles(
      () => noonMs,
      (_request, response, place) => {
        if (place > 1) return false;
        response.writeHead(429, { 'retry-after': '2', 'content-type': 'text/plain' }).end('slow down');
        return true;
      },
    );
    await parts.queues.requests.addWindows(await trackHours(parts, 3));
    for (const _ of [1, 2]) await startTestWorker(parts, server.baseUrl, { queues, clock: clockAt(() => clock.nowMs) });
    await untilIdle(parts);

    expect(pausesMs[0]).toBe(2000);
    expect(server.requests).toHaveLength(4);
    const ledger = await ledgerOf(parts.database);
    expect(ledger.filter((line) => line.status === 429)).toEqual([
      { verdict: 'rate_limited', attempt: 1, status: 429 },
    ]);
    expect(ledger.filter((line) => line.verdict === 'filled').map((line) => line.attempt)).toEqual([1, 1, 1]);
    expect(await coveredOf(parts.database)).toBe(wholeTrack(3));
  });

  test('sends requests of one moment one after the other, and none of them after a refusal', async () => {
    const { database, queues } = await openParts(kind);
    const clock = createTestClock(noonMs);
    const of = { database, source: defaultSource, requests: queues.requests, log: silent, clock };
    const gate = createSourceGate({ ...of, spacingMs: 20 });
    const entries = [gate.enter(), gate.enter(), gate.enter()];
    expect(await entries[0]).toEqual({ kind: 'open' });
    await gate.refused({ kind: 'address_refused', message: 'no', retryAtMs: null }, noonMs);
    await clock.advance(40);
    expect(await Promise.all(entries.slice(1))).toMatchObject([{ kind: 'wait' }, { kind: 'wait' }]);
  });

  test('asks a source that has refused when a user says so, which another process writes', async () => {
    const { database, queues } = await openParts(kind);
    const clock = createTestClock(noonMs);
    const gate = createSourceGate({ database, source: defaultSource, requests: queues.requests, log: silent, clock });
    await gate.refused({ kind: 'country_refused', message: 'no', retryAtMs: null }, noonMs);
    expect(await gate.enter()).toMatchObject({ kind: 'wait' });
    await clock.advance(5000);
    expect(await gate.enter()).toMatchObject({ kind: 'wait' });
    await changeRefusal(database, defaultSource, (before) => before && { ...before, untilMs: clock.now() });
    expect(await gate.enter()).toMatchObject({ kind: 'alone' });
  });

  test('logs rejected rows once a window, and ranges that no row of an answer could be used for', async () => {
    const parts = await openParts(kind);
    const windows = await trackHours(parts, 2);
    const row = (at = 0, high = '2') => ({ open: '1', high, low: '1', close: '1', volume: '1', period: at });
    const [first, second] = windows.map(({ startMs }) => startMs);
    const data = [row(first, '0.5'), row(first), row(second), row(second, '3')];
    const server = await serveBody({ data, timestamp: noonMs });
    const lines: string[] = [];
    await startTestWorker(parts, server.baseUrl, { log: collectingLog(lines) });
    for (const _ of [1, 2]) {
      await parts.queues.requests.addWindows(windows);
      await untilIdle(parts);
    }
    const told = lines.map((line) => JSON.parse(line));
    const text = (timeMs: number) => formatTime(timeMs);
    expect(told).toMatchObject([
      {
        msg: 'rows of the source were rejected',
        rejected: 3,
        reason: expect.stringMatching(/^another row of the same period .*, and 1 other reason$/),
      },
      {
        ...{ msg: 'rows of the source were rejected', rejected: 3 },
        failed: windows.slice(1).map(({ startMs, endMs }) => `${text(startMs)} to ${text(endMs)}`),
      },
    ]);
  });

  test('defers a window with its reason when its attempts are used up, and continues with the others', async () => {
    const parts = await openParts(kind, { attempts: 2 });
    const [broken, ...others] = await trackHours(parts, 3);
    const server = await serveCandles(
      () => noonMs,
      (request, response) => {
        if (!request.url?.includes(`start=${broken?.startMs}`)) return false;
        response.writeHead(500).end('oh no');
        return true;
      },
    );
    await parts.queues.requests.addWindows(broken === undefined ? [] : [broken, ...others]);
    await startTestWorker(parts, server.baseUrl);
    await untilIdle(parts);

    expect(server.requests).toHaveLength(4);
    const gaps = await listGaps(parts.database, { nowMs: noonMs, graceMs: 0 });
    expect(gaps).toMatchObject([
      { startMs: broken?.startMs, endMs: broken?.endMs, reason: 'failed', retryAtMs: noonMs + 60_000 },
    ]);
    expect(gaps[0]?.message).toMatch(/500/);
    const failures = (await ledgerOf(parts.database)).filter((line) => line.verdict === 'server_error');
    expect(failures.map((line) => line.attempt)).toEqual([1, 2]);
  });

  test('returns its running jobs to the queue when it stops, and another worker completes them', async () => {
    const parts = await openParts(kind);
    const hanging: ServerResponse[] = [];
    const server = await serveCandles(
      () => noonMs,
      (_request, response, place) => {
        if (place === 1) hanging.push(response);
        return place === 1;
      },
    );
    await parts.queues.requests.addWindows(await trackHours(parts, 2));
    const first = await startTestWorker(parts, server.baseUrl);
    await server.requests.until(1);
    await first.close(10);
    expect(await parts.queues.requests.depth()).toEqual({ waiting: 2, active: 0, delayed: 0 });
    for (const response of hanging) response.destroy();

    await startTestWorker(parts, server.baseUrl);
    await untilIdle(parts);
    expect(await coveredOf(parts.database)).toBe(wholeTrack(2));
    expect(server.requests).toHaveLength(3);
  });

  test('pauses the queue while the source is unreachable, and then fetches every window', async () => {
    const parts = await openParts(kind, { attempts: 6 });
    let away = true;
    const server = await serveCandles(
      () => noonMs,
      (_request, response) => {
        if (away) response.writeHead(503).end();
        return away;
      },
    );
    await parts.queues.requests.addWindows(await trackHours(parts, 8));
    await startTestWorker(parts, server.baseUrl);
    await waitFor('the queue to be paused', async () => (await parts.queues.requests.pausedForMs()) > 100);
    away = false;
    await untilIdle(parts);
    expect(await coveredOf(parts.database)).toBe(wholeTrack(8));
  });

  test('defers the last windows of a source that has gone for no longer than its pauses', async () => {
    const parts = await openParts(kind, { attempts: 1 });
    const server = await serveCandles(
      () => noonMs,
      (request) => {
        request.socket.destroy();
        return true;
      },
    );
    const windows = await trackHours(parts, 6);
    await parts.queues.requests.addWindows(windows);
    await startTestWorker(parts, server.baseUrl);
    await untilIdle(parts);
    await parts.queues.requests.addWindows(windows.slice(-1));
    await untilIdle(parts);
    const { rows } = await parts.database.pool.query(
      `select extract(epoch from retry_at - $1::timestamptz)::int as seconds
       from tidemark.pending_windows order by range`,
      [new Date(noonMs)],
    );
    expect(rows.map(({ seconds }) => seconds)).toEqual([60, 60, 60, 60, 60, 10]);
  });
});
