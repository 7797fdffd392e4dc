import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { minuteMs } from '../../contract/intervals.ts';
import { binance } from '../../source/profiles/binance.ts';
import { listGaps, seriesWithGaps } from '../../store/series/gaps.ts';
import { writePause } from '../../store/settings/settings.ts';
import { clockAt, createTestClock } from '../parts/test-clock.ts';
import { waitFor } from '../parts/wait-for.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { serveBody, sourceAt } from '../source/local-server.ts';
import { priceAt, serveCandles } from './candle-server.ts';
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
  await waitFor(
    'an empty queue',
    async () => (await parts.queues.requests.claimedWindows()).windows.size === 0,
  );
}

onEachBackend('a worker', (kind) => {
  test('fetches each window once and commits it, for candles and history', async () => {
    const parts = await openParts(kind);
    const server = await serveCandles(() => noonMs);
    const windows = await trackHours(parts, 4);
    const history = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' } as const;
    const [first] = await trackHours(parts, 48, history);
    if (first === undefined) throw new Error('no window');
    const days = { ...first, endMs: first.startMs + 48 * hourMs };
    await parts.queues.requests.addWindows([...windows, days]);
    await startTestWorker(parts, server.baseUrl, {});
    await untilIdle(parts);

    expect(server.requests).toHaveLength(5);
    const candles = await parts.database.pool.query<{ close: string }>(
      'select close::text from candles where derived_from is null order by time',
    );
    expect(candles.rows.map((row) => row.close)).toEqual(windows.map((window) => priceAt(window.startMs)));
    const points = await parts.database.pool.query<{ price: string }>(
      'select price_usd::text as price from asset_history order by time',
    );
    expect(points.rows.length).toBeGreaterThan(0);
    expect(
      await seriesWithGaps(parts.database, {
        nowMs: noonMs,
        graceMs: 0,
        openRefreshMs: null,
        seriesIds: [windows[0]?.seriesId ?? 0],
        rangesPerSeries: 8,
      }),
    ).toEqual([]);
  });

  test('requests nothing while somebody has paused all requests, of windows that were queued before and of rates', async () => {
    const parts = await openParts(kind);
    const { database, queues } = parts;
    const server = await serveCandles(() => noonMs);
    await queues.requests.addWindows(await trackHours(parts, 4));
    await queues.requests.pollRatesEvery(200);
    await writePause(database, { sinceMs: noonMs, by: null });
    await startTestWorker(parts, server.baseUrl);
    await waitFor('every window to wait', async () => (await queues.requests.depth()).delayed >= 4);
    expect(server.requests).toEqual([]);
    await writePause(database, null);
    await waitFor('the windows and rates', () => server.requests.length >= 5);
    await queues.requests.pollRatesEvery(0);
    await untilIdle(parts);
    expect(await coveredOf(database)).toBe(wholeTrack(4));
    expect((await ledgerOf(database)).every(({ attempt }) => attempt === 1)).toBe(true);
  });

  test.each([
    ['of a copy from before the window', { data: [], timestamp: noonMs - 10 * hourMs }],
    ['without a readable row', { data: [{ period: noonMs }], timestamp: noonMs }],
  ])('defers a window after an answer %s no longer than any', async (_, body) => {
    const parts = await openParts(kind);
    const server = await serveBody(body);
    await parts.queues.requests.addWindows(await trackHours(parts, 1));
    await startTestWorker(parts, server.baseUrl, { settings: { ...settings, failedRetryMs: 5000 } });
    await untilIdle(parts);
    const { rows } = await parts.database.pool.query<{ pause: number }>(
      'select extract(epoch from retry_at - first_at)::int as pause from tidemark.pending_windows',
    );
    expect(rows).toEqual([{ pause: 5 }]);
  });

  test('knows for a second of its clock whether requests are paused', async () => {
    const parts = await openParts(kind);
    const { database, queues } = parts;
    const clock = createTestClock(noonMs);
    const server = await serveCandles(() => noonMs);
    const [first, second, third] = await trackHours(parts, 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error('no windows');
    await startTestWorker(parts, server.baseUrl, { clock });
    await queues.requests.addWindows([first]);
    await untilIdle(parts);
    await writePause(database, { sinceMs: noonMs, by: null });
    await queues.requests.addWindows([second]);
    await untilIdle(parts);
    expect(server.requests).toHaveLength(2);
    await clock.advance(1000);
    await queues.requests.addWindows([third]);
    await waitFor('the last window to wait', async () => (await queues.requests.depth()).delayed === 1);
    expect(server.requests).toHaveLength(2);
  });

  test('knows for a minute of its clock how the source names a market', async () => {
    const parts = await openParts(kind, { attempts: 1 });
    const clock = createTestClock(noonMs);
    const server = await serveBody({ code: -1, msg: 'not now' }, 400);
    const source = sourceAt(new URL(server.baseUrl).origin, { profile: binance });
    const windows = await trackHours(parts, 3);
    const name = (symbol: string) =>
      parts.database.pool.query(
        `insert into tidemark.series_sources (series_id, rank, source, symbol) values ($1, 1, 'venue', $2)
         on conflict (series_id, rank) do update set symbol = excluded.symbol`,
        [windows[0]?.seriesId, symbol],
      );
    const requests = parts.queues.requestsOf('venue');
    const asked = async (place: number) => {
      await requests.addWindows(windows.slice(place, place + 1));
      await waitFor('the request', async () => (await requests.claimedWindows()).windows.size === 0);
      return new URL(server.requests.at(-1)?.url ?? '', server.baseUrl).searchParams.get('symbol');
    };
    await startTestWorker(parts, server.baseUrl, { clock, source, sourceName: 'venue' });
    await name('BTCUSDT');
    expect(await asked(0)).toBe('BTCUSDT');
    await name('XBTUSDT');
    expect(await asked(1)).toBe('BTCUSDT');
    await clock.advance(minuteMs);
    expect(await asked(2)).toBe('XBTUSDT');
  });

  test('polls rates', async () => {
    const parts = await openParts(kind);
    const server = await serveCandles(() => noonMs);
    await startTestWorker(parts, server.baseUrl);
    await parts.queues.requests.pollRatesEvery(600_000);
    await waitFor('the poll', async () => (await ledgerOf(parts.database)).length === 1);
    const rates = await parts.database.pool.query<{ rate: string }>(
      'select rate_usd::text as rate from rates',
    );
    expect(rates.rows).toEqual([{ rate: '1.5' }]);
  });

  test('pauses all workers after a 429 until the time from the source, at no cost of attempts', async () => {
    const parts = await openParts(kind, { attempts: 1 });
    const arrivals: number[] = [];
    const server = await serveCandles(
      () => noonMs,
      (_request, response, place) => {
        arrivals.push(performance.now());
        if (place > 1) return false;
        response.writeHead(429, { 'retry-after': '2', 'content-type': 'text/plain' }).end('slow down');
        return true;
      },
    );
    await parts.queues.requests.addWindows(await trackHours(parts, 3));
    await startTestWorker(parts, server.baseUrl);
    await startTestWorker(parts, server.baseUrl);
    await untilIdle(parts);

    // The second worker may have sent its request before the first received the 429.
    const held = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
    expect(held).toBeGreaterThanOrEqual(1990);
    expect(arrivals).toHaveLength(4);
    const ledger = await ledgerOf(parts.database);
    expect(ledger.filter((line) => line.status === 429)).toEqual([
      { verdict: 'rate_limited', attempt: 1, status: 429 },
    ]);
    expect(ledger.filter((line) => line.verdict === 'filled').map((line) => line.attempt)).toEqual([1, 1, 1]);
    expect(await coveredOf(parts.database)).toBe(wholeTrack(3));
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

  test('defers a window of an outage for as long as it has failed', async () => {
    const parts = await openParts(kind, { attempts: 1 });
    const windows = await trackHours(parts, 1);
    const server = await serveCandles(
      () => noonMs,
      (_request, response) => {
        response.writeHead(500).end('oh no');
        return true;
      },
    );
    const pauses: number[] = [];
    for (const atMs of [noonMs, noonMs + 300_000, noonMs + hourMs]) {
      await parts.queues.requests.addWindows(windows);
      const worker = await startTestWorker(parts, server.baseUrl, { clock: clockAt(() => atMs) });
      await untilIdle(parts);
      await worker.close();
      const [gap] = await listGaps(parts.database, { nowMs: atMs, graceMs: 0 });
      pauses.push((gap?.retryAtMs ?? 0) - atMs);
    }
    expect(pauses).toEqual([60_000, 300_000, 600_000]);
  });

  test('makes one request for a window that the source refuses', async () => {
    const parts = await openParts(kind);
    const server = await serveCandles(
      () => noonMs,
      (_request, response) => {
        response.writeHead(400).end(JSON.stringify({ error: 'range too long', timestamp: noonMs }));
        return true;
      },
    );
    await parts.queues.requests.addWindows(await trackHours(parts, 1));
    await startTestWorker(parts, server.baseUrl);
    await untilIdle(parts);
    expect(server.requests).toHaveLength(1);
    const [gap] = await listGaps(parts.database, { nowMs: noonMs, graceMs: 0 });
    expect(gap).toMatchObject({ reason: 'failed' });
    expect(gap?.message).toMatch(/range too long/);
  });

  test('blocks a series whose id the source does not know, and requests none of its other windows', async () => {
    const parts = await openParts(kind);
    const server = await serveCandles(
      () => noonMs,
      (request, response) => {
        if (!request.url?.includes('nosuch')) return false;
        response.writeHead(404).end(JSON.stringify({ error: 'nosuch not found', timestamp: noonMs }));
        return true;
      },
    );
    const unknown = await trackHours(parts, 20, {
      dataset: 'candles',
      exchange: 'binance',
      baseId: 'nosuch',
      quoteId: 'tether',
      interval: 'h1',
    });
    const known = await trackHours(parts, 2);
    await parts.queues.requests.addWindows(unknown);
    await startTestWorker(parts, server.baseUrl);
    await waitFor('the block', async () => {
      const gaps = await listGaps(parts.database, { nowMs: noonMs, graceMs: 0 });
      return gaps.some((gap) => gap.reason === 'blocked');
    });
    await untilIdle(parts);
    expect(server.requests).toHaveLength(2);
    await parts.queues.requests.addWindows(known);
    await untilIdle(parts);
    const gaps = await listGaps(parts.database, { nowMs: noonMs, graceMs: 0 });
    expect(new Set(gaps.map((gap) => gap.reason))).toEqual(new Set(['blocked']));
    expect(new Set(gaps.map((gap) => gap.seriesId))).toEqual(new Set([unknown[0]?.seriesId]));
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
    await waitFor('a request under way', () => server.requests.length === 1);
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
    await waitFor('a pause', async () => (await parts.queues.requests.pausedForMs()) > 100);
    away = false;
    await untilIdle(parts);
    expect(await coveredOf(parts.database)).toBe(wholeTrack(8));
  });
});
