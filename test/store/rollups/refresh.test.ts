import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from '../../../config.ts';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { type Database, timestamp } from '../../../store/db/database.ts';
import { applyRetention } from '../../../store/retention/drop-old.ts';
import { writeRetention } from '../../../store/retention/retention.ts';
import { rangesBehind, refreshRollups } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { openTestStore, type TestStore } from '../open-store.ts';
import { candles, expectCandlesToAgree, expectRollupsToAgree, market, put } from '../views/candles.ts';

const startMs = Date.UTC(2023, 0, 2);
const nowMs = Date.UTC(2024, 0, 3, 5, 7);

describeNeeding('timescale', 'refreshing rollups', () => {
  let store: TestStore;
  let database: Database;
  let seriesId: number;
  const refresh = () => refreshRollups(database, { nowMs });
  /** Every third hour of a year, and the last four days by the minute. */
  beforeEach(async () => {
    store = await openTestStore();
    database = store.database;
    ({ seriesId } = await trackSeries(database, market('a', 'm1'), startMs, null));
    await put(database, seriesId, candles(startMs, 3 * hourMs, 366 * 8));
    await put(database, seriesId, candles(nowMs - 4 * dayMs, minuteMs, (4 * dayMs) / minuteMs));
  });
  afterEach(() => store.close());

  const materialised = async (name: string) => {
    const result = await database.pool.query<{ relation: string }>(
      `select materialization_hypertable_schema || '.' || materialization_hypertable_name as relation
       from timescaledb_information.continuous_aggregates where 'tidemark.' || view_name = $1`,
      [name],
    );
    return result.rows[0]?.relation ?? '';
  };

  it('agrees before, between and after, and leaves nothing to refresh', async () => {
    await expectRollupsToAgree(database);
    expect(await rangesBehind(database)).toEqual([]);
    expect(await refresh()).toBe(true);
    await expectRollupsToAgree(database);
    expect(await rangesBehind(database)).toEqual([]);
    // Otherwise the comparisons above compared the points with themselves.
    const rows = await database.pool.query<{ rows: number }>(
      `select count(*) as rows from ${await materialised('tidemark.rollup_w1')}`,
    );
    expect(rows.rows[0]?.rows).toBeGreaterThan(50);
  });

  it('includes a backfill that comes out of order, below the watermark', async () => {
    await refresh();
    const other = await trackSeries(database, market('b', 'm1'), startMs, null);
    for (const month of [7, 2, 11, 3]) {
      const fromMs = Date.UTC(2023, month, 1);
      await put(database, other.seriesId, candles(fromMs, 7 * minuteMs, 200, month));
    }
    // Before all stored points.
    await put(database, other.seriesId, candles(Date.UTC(2021, 4, 5), hourMs, 200));
    expect((await rangesBehind(database)).map(({ rollup }) => rollup)).toContain('tidemark.rollup_w1');
    await expectCandlesToAgree(database);
    await refresh();
    await expectRollupsToAgree(database);
    await expectCandlesToAgree(database);
    expect(await rangesBehind(database)).toEqual([]);
  });

  it('recomputes the revised range, reports it in between, and rewrites nothing else', async () => {
    await refresh();
    const at = Date.UTC(2023, 5, 14, 9);
    const relation = await materialised('tidemark.rollup_h4');
    const versions = async () => {
      const result = await database.pool.query<{ time: number; version: string }>(
        `select time, tableoid || '/' || ctid || '/' || xmin as version from ${relation} order by time`,
      );
      return result.rows;
    };
    const before = await versions();
    const [revised] = candles(at, hourMs, 1, 5);
    if (revised === undefined) throw new Error('no candle');
    await put(database, seriesId, [{ ...revised, high: '999.50', volume: '0.00000' }]);
    const behind = await rangesBehind(database);
    expect(behind).toHaveLength(10);
    expect(behind).toContainEqual({
      rollup: 'tidemark.rollup_h4',
      startMs: at - hourMs,
      endMs: at + 3 * hourMs,
    });
    expect(behind).toContainEqual({
      rollup: 'tidemark.rollup_w1',
      startMs: Date.UTC(2023, 5, 12),
      endMs: Date.UTC(2023, 5, 19),
    });
    await expectCandlesToAgree(database);
    await refresh();
    await expectRollupsToAgree(database);
    expect(await rangesBehind(database)).toEqual([]);
    const after = new Map((await versions()).map(({ time, version }) => [time, version]));
    const rewritten = before
      .filter(({ time, version }) => after.get(time) !== version)
      .map(({ time }) => time);
    expect(rewritten).toEqual([at - hourMs]);
  });

  it('includes late data and a deletion below its watermark, and shows data above it at once', async () => {
    await refresh();
    await put(database, seriesId, candles(nowMs - 30 * minuteMs + 20_000, minuteMs, 20, 3));
    await expectRollupsToAgree(database);
    expect(await rangesBehind(database)).toEqual([]);
    await put(database, seriesId, candles(nowMs - 3 * dayMs + 20_000, hourMs, 30, 3));
    await database.pool.query('delete from tidemark.candle_points where time >= $1 and time < $2', [
      timestamp(Date.UTC(2023, 8, 1)),
      timestamp(Date.UTC(2023, 8, 20)),
    ]);
    await expectCandlesToAgree(database);
    await refresh();
    await expectRollupsToAgree(database);
  });

  it('is not awaited by the view: a range that its source awaits is behind, too', async () => {
    await refresh();
    // Two and a half days ago: d1 is not materialised there, and reads the materialised h1.
    await put(database, seriesId, candles(nowMs - 2.5 * dayMs, hourMs, 1, 3));
    await expect(expectRollupsToAgree(database)).rejects.toThrow('m5');
    await expectCandlesToAgree(database);
    const jobs = await database.pool.query<{ job_id: number }>(
      `select job_id from timescaledb_information.jobs where proc_name = 'policy_refresh_continuous_aggregate' order by job_id`,
    );
    for (const { job_id } of jobs.rows) {
      await database.pool.query(`call run_job(${job_id})`);
      await expectCandlesToAgree(database);
    }
    expect(await rangesBehind(database)).toEqual([]);
  });

  it('includes a revision of compressed points', async () => {
    await database.pool.query(
      `alter table tidemark.candle_points set (timescaledb.enable_columnstore = true,
         timescaledb.segmentby = 'series_id', timescaledb.orderby = 'time')`,
    );
    const compressed = await database.pool.query(
      `select compress_chunk(c, true) from show_chunks('tidemark.candle_points', older_than => $1::timestamptz) c`,
      [timestamp(Date.UTC(2023, 10, 1))],
    );
    expect(compressed.rowCount).toBeGreaterThan(5);
    await refresh();
    await put(database, seriesId, candles(Date.UTC(2023, 3, 1, 1), hourMs, 50, 4));
    await expectCandlesToAgree(database);
    await refresh();
    await expectRollupsToAgree(database);
    expect(await rangesBehind(database)).toEqual([]);
  });

  it('is right after each step of a first refresh, as if killed there', async () => {
    const name = 'tidemark.rollup_m5';
    for (let step = 0; step < 5; step++) {
      await database.pool.query(
        `call refresh_continuous_aggregate('${name}', null, '${timestamp(nowMs - dayMs)}',
           options => '{"buckets_per_batch": 8640, "refresh_newest_first": false, "max_batches_per_execution": 1}')`,
      );
      await expectRollupsToAgree(database);
    }
    const watermark = await database.pool.query<{ newest: number }>(
      `select max(time) as newest from ${await materialised(name)}`,
    );
    expect(watermark.rows[0]?.newest).toBeLessThan(nowMs - 30 * dayMs);
  });

  it('drops the range that retention drops', async () => {
    await refresh();
    const { chunkDays } = readConfig({}).storage;
    await writeRetention(database.pool, 'candles', '26w');
    const [dropped] = await applyRetention(database, { nowMs, chunkDays });
    expect(dropped?.points).toBeGreaterThan(1000);
    expect(await rangesBehind(database)).toEqual([]);
    await expectRollupsToAgree(database);
  });

  it('waits for a refresh of another session, and does not wait for a writer', async () => {
    await refresh();
    const writer = await database.pool.connect();
    await writer.query('begin');
    await writer.query('update tidemark.candle_points set close = 1.10 where series_id = $1 and time = $2', [
      seriesId,
      timestamp(startMs),
    ]);
    expect(await rangesBehind(database)).toEqual([]);
    expect(await Promise.all([refresh(), refresh(), refresh()])).toEqual([true, true, true]);
    await writer.query('commit');
    writer.release();
    expect(await rangesBehind(database)).toHaveLength(10);
    expect(await Promise.all([refresh(), refresh()])).toEqual([true, true]);
    expect(await rangesBehind(database)).toEqual([]);
    await expectRollupsToAgree(database);
  });

  it('stops at the signal, and the connections keep working', async () => {
    const stop = new AbortController();
    stop.abort();
    expect(await refreshRollups(database, { nowMs, signal: stop.signal })).toBe(false);
    await expectRollupsToAgree(database);
    const timeouts = await database.pool.query('show statement_timeout');
    expect(timeouts.rows).toEqual([{ statement_timeout: '30s' }]);
  });

  it("is also done by each rollup's policy, whatever order they run in", async () => {
    await refresh();
    await put(database, seriesId, candles(Date.UTC(2023, 6, 1, 1), hourMs, 50, 4));
    const jobs = await database.pool.query<{ job_id: number }>(
      `select job_id from timescaledb_information.jobs where proc_name = 'policy_refresh_continuous_aggregate' order by job_id`,
    );
    expect(jobs.rows).toHaveLength(10);
    for (const { job_id } of [...jobs.rows].reverse()) await database.pool.query(`call run_job(${job_id})`);
    expect(await rangesBehind(database)).not.toEqual([]);
    for (const { job_id } of jobs.rows) await database.pool.query(`call run_job(${job_id})`);
    expect(await rangesBehind(database)).toEqual([]);
    await expectRollupsToAgree(database);
  });
});
