import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../../config.ts';
import { decimalText } from '../../../contract/decimal.ts';
import { dayMs, type EpochMs, periodStart, weekMs } from '../../../contract/intervals.ts';
import type { SeriesKey } from '../../../contract/series.ts';
import { commitWindow } from '../../../store/commit/commit-windows.ts';
import { deferWindow } from '../../../store/commit/deferred-windows.ts';
import type { Database } from '../../../store/db/database.ts';
import { pruneLedger, recordFetch } from '../../../store/ledger/ledger.ts';
import { commitRates } from '../../../store/lists/rates.ts';
import { applyRetention } from '../../../store/retention/drop-old.ts';
import { listRetentions, writeRetention } from '../../../store/retention/retention.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { commitPoints, storedPoints } from '../committing.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';

const { chunkDays } = readConfig({}).storage;
const hour = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'h1' } as const;
const week = { ...hour, interval: 'w1' } as const;
const old: SeriesKey = { ...hour, baseId: 'old' };
const asset: SeriesKey = { dataset: 'asset_history', assetId: 'a', interval: 'd1' };

/** 2024-01-18 is an edge of thirty-day chunks, which count from 1970, and not of ninety-day ones. */
const edgeMs = 658 * 30 * dayMs;
/** Ninety days before it is some days after the edge. */
const nowMs = edgeMs + 90 * dayMs + 5 * dayMs;
const gapQuery = { nowMs, graceMs: 60_000 };

onEachDatabase('retention', (kind) => {
  let store: TestStore;
  let database: Database;
  beforeEach(async () => {
    store = await openTestStore(kind);
    database = store.database;
  });
  afterEach(() => store.close());

  const apply = (atMs = nowMs) => applyRetention(database, { nowMs: atMs, chunkDays });
  async function track(series: SeriesKey, fromMs: EpochMs, toMs: EpochMs | null = nowMs) {
    return { ...(await trackSeries(database, series, fromMs, toMs)), series };
  }
  async function rowOf(seriesId: number) {
    const result = await database.pool.query(
      `select lower(tracked) as tracked, lower(covered) as covered, lower(confirmed_empty) as confirmed, points,
                earliest, newest, untracked_at is not null as untracked from tidemark.series where id = $1`,
      [seriesId],
    );
    return result.rows[0];
  }
  const timesOf = async (of: { seriesId: number; series: SeriesKey }) => [
    ...(await storedPoints(database, of)).keys(),
  ];

  it('is off by default', async () => {
    const of = await track(hour, edgeMs - 100 * dayMs);
    await commitPoints(database, { ...of, window: { startMs: edgeMs - dayMs, endMs: edgeMs } });
    expect(await listRetentions(database, { nowMs, chunkDays })).toEqual([]);
    expect(await apply()).toEqual([]);
    expect(await timesOf(of)).toHaveLength(24);
  });

  it('drops whole chunks, and removes their coverage and tracked ranges', async () => {
    const of = await track(hour, edgeMs - 40 * dayMs);
    const window = { startMs: edgeMs - 40 * dayMs, endMs: nowMs };
    const before = await commitPoints(database, { ...of, window });
    // A revised value on each side.
    const changed = new Map([
      [edgeMs - dayMs, '1'],
      [edgeMs, '2'],
    ]);
    const touched = { startMs: edgeMs - dayMs, endMs: edgeMs + dayMs };
    await commitPoints(database, { ...of, window: touched, changed });
    await database.pool.query(
      'update tidemark.series set confirmed_empty = tstzmultirange(tstzrange($2, $3)) where id = $1',
      [of.seriesId, ...[edgeMs - 2 * dayMs, edgeMs + dayMs].map((at) => new Date(at).toISOString())],
    );
    await writeRetention(database.pool, 'candles', '90d');
    expect(await listRetentions(database, { nowMs, chunkDays })).toEqual([
      { dataset: 'candles', age: '90d', cutMs: edgeMs },
    ]);

    const kept = before.fresh - 40 * 24;
    expect(await apply()).toEqual([{ dataset: 'candles', cutMs: edgeMs, points: 40 * 24 }]);
    const times = await timesOf(of);
    expect([times[0], times.length]).toEqual([edgeMs, kept]);
    expect(await rowOf(of.seriesId)).toMatchObject({
      tracked: edgeMs,
      covered: edgeMs,
      confirmed: edgeMs,
      points: kept,
      earliest: edgeMs,
      newest: times.at(-1),
      untracked: false,
    });
    const revisions = await database.pool.query('select time from tidemark.point_revisions');
    expect(revisions.rows).toEqual([{ time: edgeMs }]);
    expect(await listGaps(database, { ...gapQuery, seriesIds: [of.seriesId] })).toEqual([]);
    expect(await apply()).toEqual([{ dataset: 'candles', cutMs: edgeMs, points: 0 }]);
    // A day later no other chunk is old enough; thirty days later one is.
    expect((await apply(nowMs + dayMs))[0]?.points).toBe(0);
    expect((await apply(nowMs + 30 * dayMs))[0]).toEqual({
      dataset: 'candles',
      cutMs: edgeMs + 30 * dayMs,
      points: 30 * 24,
    });
  });

  it('starts with the first whole period, deletes deferred windows, and untracks ranges that are too old', async () => {
    const firstMs = periodStart(edgeMs - 10 * weekMs, 'w1');
    const weeks = await track(week, firstMs);
    await commitPoints(database, { ...weeks, window: { startMs: firstMs, endMs: nowMs } });
    const gone = await track(old, edgeMs - 20 * dayMs, edgeMs - 10 * dayMs);
    await commitPoints(database, {
      ...gone,
      window: { startMs: edgeMs - 20 * dayMs, endMs: edgeMs - 15 * dayMs },
    });
    const waits = {
      kind: 'server_error',
      message: 'HTTP 500',
      attempts: 5,
      nowMs,
      retryAtMs: nowMs + dayMs,
    };
    for (const startMs of [edgeMs - 15 * dayMs, edgeMs - 10 * dayMs]) {
      const window = { startMs, endMs: startMs + dayMs };
      await deferWindow(database.pool, { ...waits, seriesId: gone.seriesId, window });
    }
    await writeRetention(database.pool, 'candles', '90d');
    await apply();
    const times = await timesOf(weeks);
    expect(new Date(times[0] ?? 0).getUTCDay()).toBe(1);
    expect(times[0]).toBeGreaterThanOrEqual(edgeMs);
    expect(times[0]).toBeLessThan(edgeMs + weekMs);
    expect(await rowOf(weeks.seriesId)).toMatchObject({
      tracked: times[0],
      covered: times[0],
      earliest: times[0],
      points: times.length,
    });
    expect(await rowOf(gone.seriesId)).toMatchObject({
      covered: null,
      points: 0,
      earliest: null,
      newest: null,
      untracked: true,
    });
    expect(await listGaps(database, gapQuery)).toEqual([]);
    const pending = await database.pool.query('select 1 from tidemark.pending_windows');
    expect(pending.rows).toEqual([]);
  });

  it('knows of the kept point of a week that began before the cut', async () => {
    const weeks = {
      ...(await track(week, edgeMs - weekMs)),
      window: { startMs: edgeMs - weekMs, endMs: nowMs },
    };
    const value = decimalText('1');
    // The source's weeks begin on a Sunday.
    const period = edgeMs + 3 * dayMs;
    const rows = [{ open: value, high: value, low: value, close: value, volume: value, period }];
    await commitWindow(database, {
      ...weeks,
      series: week,
      lane: 'backfill',
      attempt: 1,
      answer: { rows, rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 },
      nowMs,
      graceMs: 60_000,
      emptyConfirmMs: 1,
    });
    await writeRetention(database.pool, 'candles', '90d');
    await apply();
    expect(await timesOf(weeks)).toEqual([period]);
    const known = await database.pool.query(
      'select earliest, newest, points, uncovered_points @> $2::timestamptz as outside from tidemark.series where id = $1',
      [weeks.seriesId, new Date(period)],
    );
    expect(known.rows).toEqual([{ earliest: period, newest: period, points: 1, outside: true }]);
  });

  it('applies to one dataset, polled rates included, and stops when it is removed', async () => {
    const candles = await track(hour, edgeMs - dayMs);
    await commitPoints(database, { ...candles, window: { startMs: edgeMs - dayMs, endMs: edgeMs } });
    const history = await track(asset, edgeMs - 300 * dayMs);
    await commitPoints(database, { ...history, window: { startMs: edgeMs - 300 * dayMs, endMs: nowMs } });
    for (const timeMs of [edgeMs - 1, edgeMs]) {
      await commitRates(database, {
        answer: {
          rows: [
            { id: 'euro', symbol: 'EUR', currencySymbol: null, type: 'fiat', rateUsd: decimalText('1.1') },
          ],
          rejected: [],
          sourceTimeMs: timeMs,
          status: 200,
          bytes: 1,
          durationMs: 1,
        },
        attempt: 1,
        nowMs: timeMs,
      });
    }
    await writeRetention(database.pool, 'rates', '90d');
    expect(await apply()).toEqual([{ dataset: 'rates', cutMs: edgeMs, points: 1 }]);
    const rates = await database.pool.query('select time from tidemark.rate_points');
    expect(rates.rows).toEqual([{ time: edgeMs }]);
    expect(await timesOf(candles)).toHaveLength(24);

    await writeRetention(database.pool, 'asset_history', '90d');
    const [dropped] = await apply();
    const grid = Math.floor((nowMs - 90 * dayMs) / (90 * dayMs)) * 90 * dayMs;
    expect(dropped).toMatchObject({ dataset: 'asset_history', cutMs: grid });
    expect((await timesOf(history))[0]).toBe(grid);
    expect(await writeRetention(database.pool, 'asset_history', null)).toBe(true);
    expect(await writeRetention(database.pool, 'asset_history', null)).toBe(false);
    expect((await apply(nowMs + 1000 * dayMs)).map(({ dataset }) => dataset)).toEqual(['rates']);
    expect(await timesOf(history)).not.toEqual([]);
  });

  it('rolls back both when a part fails', async () => {
    const of = await track(hour, edgeMs - dayMs);
    await commitPoints(database, { ...of, window: { startMs: edgeMs - dayMs, endMs: edgeMs } });
    await writeRetention(database.pool, 'candles', '90d');
    await database.pool.query('alter table tidemark.series add constraint broken check (points > 0)');
    await expect(apply()).rejects.toThrow(/broken/);
    await database.pool.query('alter table tidemark.series drop constraint broken');
    expect(await timesOf(of)).toHaveLength(24);
    expect(await rowOf(of.seriesId)).toMatchObject({ points: 24, covered: edgeMs - dayMs });
  });

  it('loses and repeats nothing while windows are committed', async () => {
    const of = await track(hour, edgeMs - 60 * dayMs);
    await writeRetention(database.pool, 'candles', '90d');
    const days = Array.from({ length: 100 }, (_, index) => edgeMs - 60 * dayMs + index * dayMs);
    await Promise.all([
      ...days.map((startMs) =>
        commitPoints(database, { ...of, window: { startMs, endMs: startMs + dayMs } }),
      ),
      apply(),
      apply(),
    ]);
    await apply();
    const times = await timesOf(of);
    expect(times).toHaveLength(40 * 24);
    expect(await rowOf(of.seriesId)).toMatchObject({ points: 40 * 24, earliest: edgeMs, covered: edgeMs });
    const claimed = await database.pool.query(
      `select covered = tstzmultirange(tstzrange($2, $3)) as exact from tidemark.series where id = $1`,
      [of.seriesId, new Date(edgeMs).toISOString(), new Date(edgeMs + 40 * dayMs).toISOString()],
    );
    expect(claimed.rows).toEqual([{ exact: true }]);
  });

  it('leaves no empty chunk of the ledger behind', async () => {
    for (let day = 0; day < 5; day += 1) {
      await recordFetch(database.pool, {
        timeMs: nowMs - day * dayMs,
        dataset: 'rates',
        seriesId: null,
        range: null,
        lane: 'poll',
        attempt: 1,
        verdict: 'filled',
        status: 200,
        fresh: 0,
        changed: 0,
        unchanged: 0,
        rejected: 0,
        bytes: 0,
        durationMs: 1,
        error: null,
      });
    }
    await pruneLedger(database, nowMs - 2 * dayMs);
    const left = await database.pool.query('select time from tidemark.fetches order by time');
    expect(left.rows).toEqual([2, 1, 0].map((day) => ({ time: nowMs - day * dayMs })));
    if (kind === 'plain') return;
    const chunks = await database.pool.query(
      `select from timescaledb_information.chunks where hypertable_name = 'fetches'`,
    );
    expect(chunks.rowCount).toBe(3);
  });
});

describeNeeding('timescale', 'retention in the columnstore', () => {
  it('drops and counts compressed chunks alike', async () => {
    const store = await openTestStore();
    try {
      const { database } = store;
      const of = { ...(await trackSeries(database, hour, edgeMs - 60 * dayMs, nowMs)), series: hour };
      await commitPoints(database, { ...of, window: { startMs: edgeMs - 60 * dayMs, endMs: nowMs } });
      await database.pool.query(`select compress_chunk(c) from show_chunks('tidemark.candle_points') c`);
      // Merged chunks are dropped as one: a cut within them keeps all.
      await writeRetention(database.pool, 'candles', '90d');
      const [first] = await applyRetention(database, { nowMs, chunkDays });
      expect(first).toMatchObject({ points: 0 });
      expect(first?.cutMs).toBeLessThanOrEqual(edgeMs - 60 * dayMs);
      const later = { nowMs: nowMs + 400 * dayMs, chunkDays };
      const stored = (await storedPoints(database, of)).size;
      expect((await applyRetention(database, later))[0]).toMatchObject({ points: stored });
      const chunks = await database.pool.query(
        `select from timescaledb_information.chunks where hypertable_name = 'candle_points'`,
      );
      expect(chunks.rowCount).toBe(0);
    } finally {
      await store.close();
    }
  });
});
