import { beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import type { Database } from '../../../store/db/database.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { readSourceOutage } from '../../../store/ledger/source-outage.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { blockSeries, trackSeries } from '../../../store/series/series.ts';
import {
  databaseBytes,
  measureGaps,
  measureIntervals,
  measurePolls,
  measureQuarantine,
  measureRequests,
} from '../../../store/status/measures.ts';
import { market } from '../../schema/api/candles.ts';
import { commitPoints } from '../committing.ts';
import { useStore } from '../open-store.ts';

const nowMs = Date.UTC(2024, 2, 10, 12, 30);
const at = { nowMs, graceMs: 0 };
const fromMs = nowMs - 30 * minuteMs - 10 * dayMs;

const store = useStore();
let database: Database;
beforeAll(async () => {
  ({ database } = store);
  const track = async (base: string, endMs: number | null = null) =>
    (await trackSeries(database, market(base, 'h1'), fromMs, endMs)).seriesId;
  const [whole, half, blocked] = [await track('whole'), await track('half'), await track('blocked')];
  await track('ended', fromMs + dayMs);
  const commit = (seriesId: number, base: string, startMs: number, endMs: number) =>
    commitPoints(database, { seriesId, series: market(base, 'h1'), window: { startMs, endMs } });
  const closedMs = nowMs - 30 * minuteMs;
  await commit(whole, 'whole', fromMs, closedMs);
  // Two gaps: a day in the middle, and the last three hours.
  await commit(half, 'half', fromMs, fromMs + 4 * dayMs);
  await commit(half, 'half', fromMs + 5 * dayMs, closedMs - 3 * hourMs);
  const block = { source: defaultSource, kind: 'not_found', message: 'no', untilMs: nowMs + hourMs };
  await blockSeries(database, { seriesId: blocked, ...block });
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, first_at, retry_at)
     values ($1, tstzrange($2, $2::timestamptz + interval '6 hours'), 'failed', now(), now()),
            ($1, tstzrange($3::timestamptz - interval '3 hours', $3::timestamptz - interval '1 hour'), 'awaiting',
             now(), now())`,
    [half, new Date(fromMs + 4 * dayMs), new Date(closedMs)],
  );
  await database.pool.query(`update tidemark.series set revised = id`);
});

it('measures add up each interval from the rows of its series', async () => {
  const [hours, ...others] = await measureIntervals.on(database.pool, at);
  expect(others).toEqual([]);
  expect(hours).toEqual({
    dataset: 'candles',
    interval: 'h1',
    series: 4,
    blocked: 1,
    points: 240 + (240 - 24 - 3),
    revised: 1 + 2 + 3 + 4,
    trackedSeconds: (3 * 240 + 24) * 3600,
    // An hour after the range that awaits its second answer. The blocked series and the one that ended do not count.
    lagSeconds: 3600,
    newestAgeSeconds: (4 * hourMs + 30 * minuteMs) / 1000,
  });
});

it('measures add up gaps by the reasons of `gaps`', async () => {
  const listed: Record<string, { gaps: number; seconds: number }> = {};
  for (const { reason, startMs, endMs } of await listGaps(database, at)) {
    const { gaps, seconds } = listed[reason] ?? { gaps: 0, seconds: 0 };
    listed[reason] = { gaps: gaps + 1, seconds: seconds + (endMs - startMs) / 1000 };
  }
  expect(listed).toEqual({
    failed: { gaps: 1, seconds: 6 * 3600 },
    awaits_second_answer: { gaps: 1, seconds: 2 * 3600 },
    not_asked: { gaps: 3, seconds: (18 + 1 + 24) * 3600 },
    blocked: { gaps: 1, seconds: 240 * 3600 },
  });
  const measured = await measureGaps.on(database.pool, at);
  expect(Object.fromEntries(measured.map(({ reason, gaps, seconds }) => [reason, { gaps, seconds }]))).toEqual(listed);
});

it('measures report the age of each polled list', async () => {
  await database.pool.query(`
        insert into tidemark.lists (list, asset, every, untracked_at) values
          ('assets', null, '5 minutes', null), ('exchanges', null, '5 minutes', now()),
          ('asset_markets', 'bitcoin', '10 minutes', null), ('asset_markets', 'ethereum', '5 minutes', null),
          ('rates', null, '1 minute', null);
        insert into tidemark.list_polls (list_id, begun_at, time, completed_at) values
          (1, '2024-03-10 12:00Z', '2024-03-10 12:00Z', '2024-03-10 12:00Z'),
          (1, '2024-03-10 12:20Z', '2024-03-10 12:20Z', '2024-03-10 12:20Z'),
          (1, '2024-03-10 12:29Z', '2024-03-10 12:29Z', null),
          (3, '2024-03-10 12:29Z', '2024-03-10 12:29Z', '2024-03-10 12:29Z'),
          (5, '2024-03-10 12:25Z', '2024-03-10 12:25Z', '2024-03-10 12:25Z');`);
  expect(await measurePolls.on(database.pool, { nowMs })).toEqual([
    { dataset: 'asset_markets', everySeconds: 600, newestAgeSeconds: null },
    { dataset: 'assets', everySeconds: 300, newestAgeSeconds: 600 },
    { dataset: 'rates', everySeconds: 60, newestAgeSeconds: 300 },
  ]);
});

it('measures report the last success of the source, and the failures since', async () => {
  await database.pool.query('delete from tidemark.fetches');
  expect(await measureRequests(database, nowMs)).toMatchObject({ successAtMs: null, failuresSince: 0 });
  const fetch = (agoMs: number, verdict: string, status: number | null = null) =>
    recordFetch(database.pool, {
      ...{ timeMs: nowMs - agoMs, dataset: 'candles', seriesId: 1, range: null, lane: 'backfill' },
      ...{ attempt: 1, verdict, status, bytes: 0, durationMs: 1 },
      error: verdict === 'filled' ? null : verdict,
    });
  await fetch(90_000, 'timeout');
  await fetch(80_000, 'filled');
  await fetch(70_000, 'timeout');
  await fetch(50_000, 'unauthorized', 401);
  // This failure concerns the request: the source is well.
  await fetch(40_000, 'series_refused', 403);
  await fetch(30_000, 'unknown_id', 404);
  const measured = await measureRequests(database, nowMs);
  expect(measured).toMatchObject({ successAtMs: nowMs - 80_000, failuresSince: 2 });
  expect(measured.lastMinute).toMatchObject({ backfill: 3, refresh: 0 });
  const outage = () => readSourceOutage(database, nowMs);
  // A 404 that names no id, as sources in trouble send on valid paths.
  await fetch(25_000, 'not_found', 404);
  expect(await measureRequests(database, nowMs)).toMatchObject({ failuresSince: 3 });
  expect(await outage()).toMatchObject({ kind: 'not_found', sinceMs: nowMs - 70_000 });
  await fetch(20_000, 'filled');
  expect(await outage()).toBeNull();
  expect(await measureRequests(database, nowMs)).toMatchObject({ successAtMs: nowMs - 20_000, failuresSince: 0 });
});

it('measures count the quarantine by dataset, and the bytes of the database', async () => {
  await database.pool.query(`
        insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw) values
          (now(), 'candles', 1, 'high below low', '{}'), (now(), 'candles', 1, 'high below low', '[]'),
          (now(), 'assets', null, 'no id', '{}')`);
  expect(await measureQuarantine.on(database.pool, {})).toEqual([
    { dataset: 'assets', rows: 1 },
    { dataset: 'candles', rows: 2 },
  ]);
  expect(await databaseBytes(database)).toBeGreaterThan(1_000_000);
});
