import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import type { SeriesKey } from '../../../contract/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { readSourceOutage } from '../../../store/ledger/source-outage.ts';
import {
  databaseBytes,
  measureGaps,
  measureIntervals,
  measurePolls,
  measureQuarantine,
  measureRequests,
} from '../../../store/measures/measures.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { blockSeries, trackSeries } from '../../../store/series/series.ts';
import { commitPoints } from '../committing.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';

const nowMs = Date.UTC(2024, 2, 10, 12, 30);
const at = { nowMs, graceMs: 0 };
const fromMs = nowMs - 30 * minuteMs - 10 * dayMs;

const market = (baseId: string, interval: 'm1' | 'h1' = 'h1'): SeriesKey => ({
  dataset: 'candles',
  exchange: 'binance',
  baseId,
  quoteId: 'tether',
  interval,
});

onEachDatabase('measures', (on) => {
  let store: TestStore;
  let database: Database;
  beforeAll(async () => {
    store = await openTestStore(on);
    database = store.database;
    const whole = market('whole');
    const half = market('half');
    const ended = market('ended');
    const ids = new Map<SeriesKey, number>();
    for (const series of [whole, half, market('blocked')])
      ids.set(series, (await trackSeries(database, series, fromMs, null)).seriesId);
    ids.set(ended, (await trackSeries(database, ended, fromMs, fromMs + dayMs)).seriesId);
    const commit = (series: SeriesKey, startMs: number, endMs: number) =>
      commitPoints(database, { seriesId: ids.get(series) ?? 0, series, window: { startMs, endMs } });
    const closedMs = nowMs - 30 * minuteMs;
    await commit(whole, fromMs, closedMs);
    // Two gaps: a day in the middle, and the last three hours.
    await commit(half, fromMs, fromMs + 4 * dayMs);
    await commit(half, fromMs + 5 * dayMs, closedMs - 3 * hourMs);
    await blockSeries(database, { seriesId: 3, kind: 'not_found', message: 'no', untilMs: nowMs + hourMs });
    await database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, first_at, retry_at)
         select 2, tstzrange($1::timestamptz, $1::timestamptz + v.length), v.verdict, now(), now()
         from (values ('failed', interval '6 hours')) v (verdict, length)
         union all
         select 2, tstzrange($2::timestamptz - interval '3 hours', $2::timestamptz - interval '1 hour'), 'empty', now(), now()`,
      [new Date(fromMs + 4 * dayMs), new Date(closedMs)],
    );
    await database.pool.query(`update tidemark.series set revised = id`);
  });
  afterAll(() => store.close());

  it('add up each interval from the rows of its series', async () => {
    const [hours, ...others] = await measureIntervals(database, at);
    expect(others).toEqual([]);
    expect(hours).toEqual({
      dataset: 'candles',
      interval: 'h1',
      series: 4,
      blocked: 1,
      points: 240 + (240 - 24 - 3),
      revised: 1 + 2 + 3 + 4,
      trackedSeconds: (3 * 240 + 24) * 3600,
      // An hour after the range that awaits its second answer. The blocked series and the one that ended do
      // not count.
      lagSeconds: 3600,
      newestAgeSeconds: (4 * hourMs + 30 * minuteMs) / 1000,
    });
  });

  it('add up gaps by the reasons of `gaps`', async () => {
    const expected = new Map<string, { gaps: number; seconds: number }>();
    for (const { reason, startMs, endMs } of await listGaps(database, at)) {
      const { gaps, seconds } = expected.get(reason) ?? { gaps: 0, seconds: 0 };
      expected.set(reason, { gaps: gaps + 1, seconds: seconds + (endMs - startMs) / 1000 });
    }
    const measured = await measureGaps(database, at);
    expect(new Map(measured.map(({ reason, gaps, seconds }) => [reason, { gaps, seconds }]))).toEqual(
      expected,
    );
    expect(expected.get('failed')).toEqual({ gaps: 1, seconds: 6 * 3600 });
    expect(expected.get('awaits_second_answer')).toEqual({ gaps: 1, seconds: 2 * 3600 });
    expect(expected.get('not_asked')).toEqual({ gaps: 3, seconds: (18 + 1 + 24) * 3600 });
    expect(expected.get('blocked')).toEqual({ gaps: 1, seconds: 240 * 3600 });
  });

  it('report the age of each polled list', async () => {
    await database.pool.query(`
        insert into tidemark.lists (list, asset, every, untracked_at) values
          ('assets', null, '5 minutes', null), ('exchanges', null, '5 minutes', now()),
          ('asset_markets', 'bitcoin', '10 minutes', null), ('asset_markets', 'ethereum', '5 minutes', null);
        insert into tidemark.list_polls (list_id, begun_at, time, completed_at) values
          (1, '2024-03-10 12:00Z', '2024-03-10 12:00Z', '2024-03-10 12:00Z'),
          (1, '2024-03-10 12:20Z', '2024-03-10 12:20Z', '2024-03-10 12:20Z'),
          (1, '2024-03-10 12:29Z', '2024-03-10 12:29Z', null),
          (3, '2024-03-10 12:29Z', '2024-03-10 12:29Z', '2024-03-10 12:29Z');
        insert into tidemark.currencies (currency, symbol, type) values ('euro', 'EUR', 'fiat'), ('yen', 'JPY', 'fiat');
        insert into tidemark.rate_points values (1, '2024-03-10 12:25Z', 1), (2, '2024-03-10 12:15Z', 2);`);
    const expected = [
      { dataset: 'asset_markets', everySeconds: 600, newestAgeSeconds: null },
      { dataset: 'assets', everySeconds: 300, newestAgeSeconds: 600 },
    ];
    expect(await measurePolls(database, { nowMs, ratesEveryMs: 0 })).toEqual(expected);
    expect(await measurePolls(database, { nowMs, ratesEveryMs: 60_000 })).toEqual([
      ...expected,
      { dataset: 'rates', everySeconds: 60, newestAgeSeconds: 300 },
    ]);
  });

  it('report the last success of the source, and the failures since', async () => {
    await database.pool.query('delete from tidemark.fetches');
    expect(await measureRequests(database, nowMs)).toMatchObject({ successAtMs: null, failuresSince: 0 });
    const fetch = (agoMs: number, verdict: string, status: number | null = null) =>
      recordFetch(database.pool, {
        timeMs: nowMs - agoMs,
        dataset: 'candles',
        seriesId: 1,
        range: null,
        lane: 'backfill',
        attempt: 1,
        verdict,
        status,
        fresh: 0,
        changed: 0,
        unchanged: 0,
        rejected: 0,
        bytes: 0,
        durationMs: 1,
        error: verdict === 'filled' ? null : verdict,
      });
    await fetch(90_000, 'timeout');
    await fetch(80_000, 'filled');
    await fetch(70_000, 'timeout');
    await fetch(50_000, 'unauthorized', 401);
    // This failure concerns the request: the source is well.
    await fetch(40_000, 'unauthorized', 403);
    await fetch(30_000, 'unknown_id', 404);
    const measured = await measureRequests(database, nowMs);
    expect(measured).toMatchObject({ successAtMs: nowMs - 80_000, failuresSince: 2 });
    expect(measured.lastMinute).toMatchObject({ backfill: 3, refresh: 0 });
    // A 404 that names no id, as sources in trouble send on valid paths.
    await fetch(25_000, 'not_found', 404);
    expect(await measureRequests(database, nowMs)).toMatchObject({ failuresSince: 3 });
    expect(await readSourceOutage(database)).toMatchObject({ kind: 'not_found', sinceMs: nowMs - 70_000 });
    await fetch(20_000, 'filled');
    expect(await readSourceOutage(database)).toBeNull();
    expect(await measureRequests(database, nowMs)).toMatchObject({
      successAtMs: nowMs - 20_000,
      failuresSince: 0,
    });
  });

  it('count the quarantine by dataset, and the bytes of the database', async () => {
    await database.pool.query(`
        insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw) values
          (now(), 'candles', 1, 'high below low', '{}'), (now(), 'candles', 1, 'high below low', '[]'),
          (now(), 'assets', null, 'no id', '{}')`);
    expect(await measureQuarantine(database)).toEqual([
      { dataset: 'assets', rows: 1 },
      { dataset: 'candles', rows: 2 },
    ]);
    expect(await databaseBytes(database)).toBeGreaterThan(1_000_000);
  });

  it('read no points: the results are the same without any', async () => {
    const before = [await measureIntervals(database, at), await measureGaps(database, at)];
    for (const table of ['candle_points', 'asset_history_points', 'point_revisions'])
      await database.pool.query(`alter table tidemark.${table} rename to away_${table}`);
    expect([await measureIntervals(database, at), await measureGaps(database, at)]).toEqual(before);
    await measurePolls(database, { nowMs, ratesEveryMs: 1 });
    await measureRequests(database, nowMs);
    await measureQuarantine(database);
  });
});
