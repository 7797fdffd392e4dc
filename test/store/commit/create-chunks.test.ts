import { beforeEach, expect, it } from 'vitest';
import { dayMs, minuteMs } from '../../../contract/intervals.ts';
import { createChunks } from '../../../store/commit/create-chunks.ts';
import type { Database } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { commitPoints, storedPoints } from '../committing.ts';
import { useStore } from '../open-store.ts';
import { market } from '../views/candles.ts';

const startMs = Date.UTC(2020, 0, 1);
const points = (days: readonly number[], perDay = 400) => ({
  timesMs: days.flatMap((day) =>
    Array.from({ length: perDay }, (_, minute) => startMs + day * dayMs + minute * minuteMs),
  ),
});

describeNeeding('timescale', 'chunks', () => {
  const store = useStore();
  let database: Database;
  beforeEach(async () => {
    ({ database } = store);
    await database.pool.query('truncate tidemark.candle_points, tidemark.asset_history_points');
  });

  const chunks = async (table = 'candle_points') => {
    const { rows } = await database.pool.query<{ range_start: number; range_end: number }>(
      // In the order of their creation.
      `select range_start, range_end from timescaledb_information.chunks where hypertable_name = $1 order by length(chunk_name), chunk_name`,
      [table],
    );
    return rows;
  };

  const track = async (base: string) => {
    const series = market(base, 'm1');
    return { ...(await trackSeries(database, series, startMs, null)), series };
  };

  it('are created for every given time and no other, without a row, and once', async () => {
    const all = [points([0, 1, 2]), points([40, 41]), points([400])];
    await createChunks(database, 'candles', all);
    const created = await chunks();
    expect(created.map(({ range_start }) => range_start)).toEqual(
      created.map(({ range_start }) => range_start).toSorted((a, b) => a - b),
    );
    const isWithin = (timeMs: number) =>
      created.some(({ range_start, range_end }) => timeMs >= range_start && timeMs < range_end);
    const timesMs = all.flatMap((one) => one.timesMs);
    expect(timesMs.filter((timeMs) => !isWithin(timeMs))).toEqual([]);
    for (const { range_start, range_end } of created)
      expect(timesMs.some((timeMs) => timeMs >= range_start && timeMs < range_end)).toBe(true);
    expect((await database.pool.query('select from tidemark.candle_points')).rowCount).toBe(0);
    await createChunks(database, 'candles', all);
    expect(await chunks()).toEqual(created);
    await createChunks(database, 'asset_history', [points([5], 1000)]);
    expect(await chunks('asset_history_points')).toHaveLength(1);
  });

  it('are left to the transaction of a few points', async () => {
    await createChunks(database, 'candles', [points([0], 999)]);
    expect(await chunks()).toEqual([]);
  });

  it('do not make a commit wait for another one that is not finished', async () => {
    const [first, second] = [await track('first'), await track('second')];
    const window = (day: number) => ({ startMs: startMs + day * dayMs, endMs: startMs + (day + 1) * dayMs });
    const blocker = await database.pool.connect();
    try {
      await blocker.query('begin');
      await blocker.query('select from tidemark.series where id = $1 for update', [first.seriesId]);
      let isFinished = false;
      const blocked = commitPoints(database, { ...first, window: window(0) }).finally(() => {
        isFinished = true;
      });
      // It has written its points into a new chunk when it waits for the row of its series.
      await expect
        .poll(async () => {
          const { rows } = await database.pool.query(
            `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          );
          return rows.length;
        })
        .toBe(1);
      const other = await commitPoints(database, { ...second, window: window(100) });
      expect(other).toMatchObject({ verdict: 'filled', fresh: 1440 });
      expect(isFinished).toBe(false);
      await blocker.query('rollback');
      expect(await blocked).toMatchObject({ verdict: 'filled', fresh: 1440 });
    } finally {
      blocker.release();
    }
    expect((await storedPoints(database, first)).size).toBe(1440);
  });
});
