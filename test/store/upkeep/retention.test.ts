import { expect, it } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs, type EpochMs, periodStart, weekMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { defaultSource } from '../../../model/sources.ts';
import { deferWindow } from '../../../store/commit/deferred-windows.ts';
import { type Database, inTransaction } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { pruneLedger, recordFetch } from '../../../store/ledger/ledger.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { applyRetention } from '../../../store/upkeep/drop-old.ts';
import { listRetentions, writeRetention } from '../../../store/upkeep/retention.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { waitForLock } from '../../parts/wait-for.ts';
import { market } from '../../schema/api/candles.ts';
import { commitPoints, commitRatesOf, storedPoints } from '../committing.ts';
import { onEachDatabase, openOwnStore } from '../open-store.ts';

const hour = market('a', 'h1');
const asset: SeriesKey = { dataset: 'asset_history', assetId: 'a', interval: 'd1' };

/** 2024-01-18 is an edge of thirty-day chunks, which count from 1970, and not of ninety-day ones. */
const edgeMs = 658 * 30 * dayMs;
/** Ninety days before it is some days after the edge. */
const nowMs = edgeMs + 90 * dayMs + 5 * dayMs;
const gapQuery = { nowMs, graceMs: 60_000 };

/** Operations on a database of its own. */
async function opened(kind: 'main' | 'plain') {
  const { database } = await openOwnStore(kind);
  const track = async (series: SeriesKey, fromMs: EpochMs, toMs: EpochMs | null = nowMs) => ({
    ...(await trackSeries(database, series, fromMs, toMs)),
    series,
  });
  type Tracked = Awaited<ReturnType<typeof track>>;
  return {
    database,
    track,
    apply: (atMs = nowMs) => applyRetention(database, { clock: systemClock, nowMs: atMs }),
    commit: (of: Tracked, startMs: EpochMs, endMs: EpochMs, changed: ReadonlyMap<EpochMs, string> = new Map()) =>
      commitPoints(database, { ...of, window: { startMs, endMs }, changed }),
    timesOf: async (of: Tracked) => [...(await storedPoints(database, of)).keys()],
    rowOf: async ({ seriesId }: Tracked) => {
      const result = await database.pool.query(
        `select lower(tracked) as tracked, lower(covered) as covered, lower(confirmed_empty) as confirmed, points,
                earliest, newest, untracked_at is not null as untracked from tidemark.series where id = $1`,
        [seriesId],
      );
      return result.rows[0];
    },
  };
}
const keepNinetyDays = (database: Database, dataset: 'candles' | 'asset_history' | 'rates' = 'candles') =>
  writeRetention(database.pool, dataset, '90d');

onEachDatabase('retention', (kind) => {
  it('drops whole chunks, and removes their coverage and tracked ranges', async () => {
    const { database, track, commit, apply, timesOf, rowOf } = await opened(kind);
    const of = await track(hour, edgeMs - 40 * dayMs);
    const before = await commit(of, edgeMs - 40 * dayMs, nowMs);
    // A revised value on each side.
    const changed = new Map([edgeMs - dayMs, edgeMs].map((timeMs) => [timeMs, '1']));
    await commit(of, edgeMs - dayMs, edgeMs + dayMs, changed);
    await database.pool.query(
      'update tidemark.series set confirmed_empty = tstzmultirange(tstzrange($1, $2))',
      [edgeMs - 2 * dayMs, edgeMs + dayMs].map(timestamp),
    );
    await keepNinetyDays(database);
    expect(await listRetentions(database, nowMs)).toEqual([{ dataset: 'candles', age: '90d', cutMs: edgeMs }]);

    const kept = before.fresh - 40 * 24;
    expect(await apply()).toEqual([{ dataset: 'candles', cutMs: edgeMs, points: 40 * 24 }]);
    const times = await timesOf(of);
    expect([times[0], times.length]).toEqual([edgeMs, kept]);
    expect(await rowOf(of)).toEqual({
      ...{ tracked: edgeMs, covered: edgeMs, confirmed: edgeMs, points: kept },
      ...{ earliest: edgeMs, newest: times.at(-1), untracked: false },
    });
    const revisions = await database.pool.query('select time from tidemark.point_revisions');
    expect(revisions.rows).toEqual([{ time: edgeMs }]);
    expect(await listGaps(database, gapQuery)).toEqual([]);
    // A day later no other chunk is old enough; thirty days later one is.
    for (const [days, edges, points] of [
      [1, 0, 0],
      [30, 30, 30 * 24],
    ] as const)
      expect(await apply(nowMs + days * dayMs)).toEqual([
        { dataset: 'candles', cutMs: edgeMs + edges * dayMs, points },
      ]);
  });

  it('starts with the first whole period, deletes deferred windows, and untracks ranges that are too old', async () => {
    const { database, track, commit, apply, timesOf, rowOf } = await opened(kind);
    const firstMs = periodStart(edgeMs - 10 * weekMs, 'w1');
    const weeks = await track(market('a', 'w1'), firstMs);
    await commit(weeks, firstMs, nowMs);
    const gone = await track(market('old', 'h1'), edgeMs - 20 * dayMs, edgeMs - 10 * dayMs);
    await commit(gone, edgeMs - 20 * dayMs, edgeMs - 15 * dayMs);
    for (const startMs of [edgeMs - 15 * dayMs, edgeMs - 10 * dayMs])
      await deferWindow(database.pool, {
        ...{ source: defaultSource, seriesId: gone.seriesId, window: { startMs, endMs: startMs + dayMs } },
        ...{ reason: 'failed', message: 'HTTP 500', attempts: 5, nowMs, retryAtMs: nowMs + dayMs },
      });
    await keepNinetyDays(database);
    await apply();
    const times = await timesOf(weeks);
    const monday = periodStart(edgeMs + weekMs - 1, 'w1');
    expect([times[0], new Date(monday).getUTCDay()]).toEqual([monday, 1]);
    const first = { tracked: monday, covered: monday, earliest: monday };
    expect(await rowOf(weeks)).toMatchObject({ ...first, points: times.length });
    const nothing = { covered: null, points: 0, earliest: null, newest: null };
    expect(await rowOf(gone)).toMatchObject({ ...nothing, untracked: true });
    expect(await listGaps(database, gapQuery)).toEqual([]);
    const pending = await database.pool.query('select 1 from tidemark.pending_windows');
    expect(pending.rows).toEqual([]);
  });

  it('applies to one dataset, polled rates included, and stops when it is removed', async () => {
    const { database, track, commit, apply, timesOf } = await opened(kind);
    const candles = await track(hour, edgeMs - dayMs);
    await commit(candles, edgeMs - dayMs, edgeMs);
    const history = await track(asset, edgeMs - 300 * dayMs);
    await commit(history, edgeMs - 300 * dayMs, nowMs);
    for (const timeMs of [edgeMs - 1, edgeMs]) await commitRatesOf(database, timeMs, { euro: '1.1' });
    await keepNinetyDays(database, 'rates');
    expect(await apply()).toEqual([{ dataset: 'rates', cutMs: edgeMs, points: 1 }]);
    const rates = await database.pool.query('select time from tidemark.rate_points');
    expect(rates.rows).toEqual([{ time: edgeMs }]);
    expect(await timesOf(candles)).toHaveLength(24);

    await keepNinetyDays(database, 'asset_history');
    const [dropped] = await apply();
    const grid = Math.floor((nowMs - 90 * dayMs) / (90 * dayMs)) * 90 * dayMs;
    expect(dropped).toMatchObject({ dataset: 'asset_history', cutMs: grid });
    expect((await timesOf(history))[0]).toBe(grid);
    for (const isThere of [true, false])
      expect(await writeRetention(database.pool, 'asset_history', null)).toBe(isThere);
    expect((await apply(nowMs + 1000 * dayMs)).map(({ dataset }) => dataset)).toEqual(['rates']);
    expect(await timesOf(history)).not.toEqual([]);
  });

  it('rolls back both when a part fails', async () => {
    const { database, track, commit, apply, timesOf, rowOf } = await opened(kind);
    const of = await track(hour, edgeMs - dayMs);
    await commit(of, edgeMs - dayMs, edgeMs);
    await keepNinetyDays(database);
    await database.pool.query('alter table tidemark.series add constraint broken check (points > 0)');
    await expect(apply()).rejects.toThrow(/broken/);
    expect(await timesOf(of)).toHaveLength(24);
    expect(await rowOf(of)).toMatchObject({ points: 24, covered: edgeMs - dayMs });
  });

  it('loses and repeats nothing while windows are committed', async () => {
    const { database, track, commit, apply, timesOf, rowOf } = await opened(kind);
    const of = await track(hour, edgeMs - 60 * dayMs);
    await keepNinetyDays(database);
    const starts = Array.from({ length: 20 }, (_, index) => edgeMs + (5 * index - 60) * dayMs);
    await Promise.all([...starts.map((startMs) => commit(of, startMs, startMs + 5 * dayMs)), apply(), apply()]);
    await apply();
    expect(await timesOf(of)).toHaveLength(40 * 24);
    expect(await rowOf(of)).toMatchObject({ points: 40 * 24, earliest: edgeMs, covered: edgeMs });
    const claimed = await database.pool.query(
      'select covered = tstzmultirange(tstzrange($1, $2)) as exact from tidemark.series',
      [edgeMs, edgeMs + 40 * dayMs].map(timestamp),
    );
    expect(claimed.rows).toEqual([{ exact: true }]);
  });

  it('reads the first kept point after the commits that it waited for', async () => {
    const { database, track, commit, apply, rowOf } = await opened(kind);
    const of = await track(hour, edgeMs - dayMs);
    for (const startMs of [edgeMs - dayMs, edgeMs + dayMs]) await commit(of, startMs, startMs + dayMs);
    await keepNinetyDays(database);
    let applied: Promise<unknown> = Promise.resolve();
    await inTransaction(database, async (client) => {
      await client.query(
        `insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
         values ($1, $2, 1, 1, 1, 1, 1)`,
        [of.seriesId, timestamp(edgeMs)],
      );
      await client.query('update tidemark.series set points = points + 1');
      applied = apply();
      await waitForLock(database.pool);
    });
    await applied;
    expect(await rowOf(of)).toMatchObject({ earliest: edgeMs, points: 25 });
  });

  it('leaves no empty chunk of the ledger behind', async () => {
    const { database } = await opened(kind);
    const days = [4, 3, 2, 1, 0].map((day) => nowMs - day * dayMs);
    for (const timeMs of days)
      await recordFetch(database.pool, {
        ...{ timeMs, dataset: 'rates', seriesId: null, range: null, lane: 'poll', attempt: 1 },
        ...{ verdict: 'filled', status: 200, bytes: 0, durationMs: 1, error: null },
      });
    await pruneLedger(database, nowMs - 2 * dayMs);
    const left = await database.pool.query('select time from tidemark.fetches order by time');
    expect(left.rows).toEqual(days.slice(2).map((time) => ({ time })));
    if (kind === 'plain') return;
    const chunks = await database.pool.query(
      `select from timescaledb_information.chunks where hypertable_name = 'fetches'`,
    );
    expect(chunks.rowCount).toBe(3);
  });
});

describeNeeding('timescale', 'retention in the columnstore', () => {
  it('drops and counts compressed chunks alike', async () => {
    const { database, track, commit, apply, timesOf } = await opened('main');
    const of = await track(hour, edgeMs - 60 * dayMs);
    await commit(of, edgeMs - 60 * dayMs, nowMs);
    await database.pool.query(`select compress_chunk(c) from show_chunks('tidemark.candle_points') c`);
    // Merged chunks are dropped as one: a cut within them keeps all.
    await keepNinetyDays(database);
    const [first] = await apply();
    expect(first).toMatchObject({ points: 0 });
    expect(first?.cutMs).toBeLessThanOrEqual(edgeMs - 60 * dayMs);
    const points = (await timesOf(of)).length;
    expect((await apply(nowMs + 400 * dayMs))[0]).toMatchObject({ points });
    const chunks = await database.pool.query(
      `select from timescaledb_information.chunks where hypertable_name = 'candle_points'`,
    );
    expect(chunks.rowCount).toBe(0);
  });
});
