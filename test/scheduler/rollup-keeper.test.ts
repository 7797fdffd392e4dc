import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { dayMs, hourMs } from '../../contract/intervals.ts';
import { keepRollups } from '../../scheduler/upkeep.ts';
import { rangesBehind, refreshRollups } from '../../store/rollups/refresh.ts';
import { trackSeries } from '../../store/series/series.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { silent } from '../queue/queue-parts.ts';
import { openTestStore, type TestStore } from '../store/open-store.ts';
import { candles, expectRollupsToAgree, market, put } from '../store/views/candles.ts';

const nowMs = Date.UTC(2024, 0, 31);

describeNeeding('timescale', 'the rollup keeper', () => {
  let store: TestStore;
  beforeEach(async () => {
    store = await openTestStore();
  });
  afterEach(() => store.close());

  it('keeps rollups equal to a backfill of old data with several schedulers, and stops when closed', async () => {
    const { database } = store;
    const { seriesId } = await trackSeries(database, market('a', 'h1'), nowMs - 30 * dayMs, null);
    await put(database, seriesId, candles(nowMs - 10 * dayMs, hourMs, 240));
    await refreshRollups(database, { nowMs });
    const keepers = [1, 2].map(() => keepRollups({ database, everyMs: 20, log: silent, now: () => nowMs }));
    onTestFinished(async () => {
      await Promise.all(keepers.map((keeper) => keeper.close()));
    });
    await put(database, seriesId, candles(nowMs - 30 * dayMs, hourMs, 100));
    await waitFor('the rollups to be refreshed', async () => (await rangesBehind(database)).length === 0);
    await expectRollupsToAgree(database);
    await Promise.all(keepers.map((keeper) => keeper.close()));
    await put(database, seriesId, candles(nowMs - 20 * dayMs, hourMs, 100));
    expect(await rangesBehind(database)).not.toEqual([]);
  });

  it('materializes rollups from the first point on when none has been refreshed before', async () => {
    const { database } = store;
    const { seriesId } = await trackSeries(database, market('a', 'h1'), nowMs - 30 * dayMs, null);
    await put(database, seriesId, candles(nowMs - 30 * dayMs, hourMs, 30 * 24));
    const behind = await rangesBehind(database, nowMs);
    expect(new Set(behind.map(({ rollup }) => rollup)).size).toBe(10);
    const { rows } = await database.pool.query('select distinct rollup from tidemark.rollups_behind');
    expect(rows).toHaveLength(10);
    const keeper = keepRollups({ database, everyMs: 20, log: silent, now: () => nowMs });
    onTestFinished(() => keeper.close());
    await waitFor('the first refresh', async () => (await rangesBehind(database, nowMs)).length === 0);
    await keeper.close();
    await database.pool.query(`
      create function only_materialised(rollup regclass) returns table (row_time timestamptz)
      language plpgsql as $$ begin
        return query execute (select format('select time from %I.%I', materialization_hypertable_schema,
                                            materialization_hypertable_name)
          from timescaledb_information.continuous_aggregates where format('%I.%I', view_schema, view_name)::regclass = rollup);
      end $$`);
    const stored = async (level: string) => {
      const found = await database.pool.query<{ buckets: number }>(
        `select count(*) as buckets from only_materialised('tidemark.rollup_${level}')`,
      );
      return found.rows[0]?.buckets;
    };
    // Up to two and three days before now, and the whole weeks up to four days before.
    expect([await stored('h1'), await stored('d1'), await stored('w1')]).toEqual([28 * 24, 27, 3]);
    // Later buckets are materialized in turn, and not at every check.
    const later = [1, 2, 3].map((hours) => rangesBehind(database, nowMs + hours * hourMs));
    expect((await Promise.all(later)).map((ranges) => ranges.length > 0)).toEqual([false, false, true]);
  });

  it('logs a failure once and continues', async () => {
    const { database } = store;
    const { seriesId } = await trackSeries(database, market('a', 'h1'), nowMs - 30 * dayMs, null);
    await put(database, seriesId, candles(nowMs - 10 * dayMs, hourMs, 240));
    await refreshRollups(database, { nowMs });
    await put(database, seriesId, candles(nowMs - 30 * dayMs, hourMs, 100));
    await database.pool.query('alter function tidemark.ranges_behind() rename to elsewhere');
    const said: string[] = [];
    const log = {
      ...silent,
      warn: () => said.push('trouble'),
      info: () => said.push('well'),
      debug: () => {},
    };
    const keeper = keepRollups({ database, everyMs: 10, log: log as never, now: () => nowMs });
    onTestFinished(() => keeper.close());
    await waitFor('a complaint', () => said.length > 0);
    await database.pool.query('alter function tidemark.elsewhere() rename to ranges_behind');
    await waitFor('the rollups to be refreshed', async () => (await rangesBehind(database)).length === 0);
    await waitFor('the end of the failure', () => said.includes('well'));
    expect(said).toEqual(['trouble', 'well']);
  });
});
