import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import { datasetNames, datasetOf } from '../../model/datasets/index.ts';
import { minuteMs } from '../../model/intervals.ts';
import { apiObjects } from '../../schema/api.ts';
import { assertMigrated, migrate } from '../../schema/migrate.ts';
import type { Database } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { rangesBehind, refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { openEmptyDatabase, openOwnStore } from '../store/open-store.ts';
import { candles, expectRollupsToAgree, market, put } from './api/candles.ts';

const up = ({ url }: Database) => migrate({ url, direction: 'up', ifBusy: 'wait' });
const down = ({ url }: Database) => migrate({ url, direction: 'down', ifBusy: 'wait' });
const forget = (database: Database) =>
  database.pool.query(`update tidemark.settings set value = 'older' where name = 'derived: views and functions'`);

/** The object id of each rollup's view, which changes when it is recreated. */
async function rollups(database: Database) {
  const result = await database.pool.query<{ name: string; id: string }>(
    `select relname as name, oid::text as id from pg_class
     where relnamespace = 'tidemark'::regnamespace and relname like 'rollup\\_%' and relkind = 'v'
       and relname <> 'rollup_levels' order by 1`,
  );
  return result.rows;
}

describe('derived objects', () => {
  it('are created once, and again only when one differs or is missing', async () => {
    const { database } = await openOwnStore();
    const made = await rollups(database);
    expect(made).toHaveLength(11);
    expect(await up(database)).toEqual([]);

    await database.pool.query('drop view public.latest_rates');
    expect(await up(database)).toEqual(['views and rollups']);
    await database.pool.query('select from latest_rates');
    await forget(database);
    await expect(assertMigrated(database.pool)).rejects.toMatchObject({ code: 'DATABASE_NOT_MIGRATED' });
    // As an earlier version made it, which stored no names: beside the function of this one, calls would be ambiguous.
    await database.pool.query(`delete from tidemark.settings where name = 'derived: names'`);
    await database.pool.query(
      `create function public.prices_in(text, text, text, timestamptz default null, timestamptz default null)
       returns text language sql as $$ select '' $$`,
    );
    expect(await up(database)).toEqual(['views and rollups']);
    const functions = await database.pool.query(`select from pg_proc where proname = 'prices_in'`);
    expect(functions.rowCount).toBe(1);
    await assertMigrated(database.pool);
    expect(await rollups(database)).toEqual(made);
  });

  it('are created by one of several migrations at the same time, and all have a name that finds them', async () => {
    const database = await openEmptyDatabase();
    const ran = await Promise.all([up(database), up(database), up(database)]);
    expect(ran.flat().filter((name) => name === 'views and rollups')).toHaveLength(1);
    expect(await rollups(database)).toHaveLength(11);
    const unknown = await database.pool.query(
      `select name from unnest($1::text[]) name
       where coalesce(to_regclass(case when name not like '%(%' then name end)::oid,
                      to_regprocedure(case when name like '%(%' then name end)::oid) is null`,
      [apiObjects(false).map(({ name }) => name)],
    );
    expect(unknown.rows).toEqual([]);
  });

  it("keep a user's view on them, and name one that is in the way of `down`", async () => {
    const { database } = await openOwnStore();
    await database.pool.query('create view public.mine as select * from public.candles');
    await forget(database);
    expect(await up(database)).toEqual(['views and rollups']);
    await database.pool.query('select * from mine');

    await database.pool.query('create view public.weekly as select * from tidemark.rollup_w1');
    await forget(database);
    expect(await up(database)).toEqual(['views and rollups']);
    await database.pool.query('select * from weekly');
    await expect(down(database)).rejects.toMatchObject({
      code: 'VIEW_IN_THE_WAY',
      message: expect.stringMatching(/in the way: view (?:mine|weekly)$/),
    });
    expect(await up(database)).toEqual([]);
    await database.pool.query('drop view weekly, mine');
    expect(await down(database)).toContain('views and rollups');
  });
});

describeNeeding('timescale', 'a database of a version with continuous aggregates', () => {
  it('is converted: values, grants and views on candles stay, and every day is rolled up', async () => {
    const { database } = await openOwnStore();
    const { pool } = database;
    const { seriesId } = await trackSeries(database, market('a', 'm1'), 0, null);
    await put(database, seriesId, candles(Date.UTC(2024, 0, 1), 7 * minuteMs, 500));
    await pool.query(`update tidemark.series set earliest = '2024-01-01', newest = '2024-01-03 10:13'`);
    const derived = `select base, interval, time, high::text, derived_from from mine order by 1, 2, 3`;
    await pool.query('create view public.mine as select * from public.candles');
    const before = await pool.query(derived);
    const role = `reader_${randomBytes(4).toString('hex')}`;
    await pool.query(`create role ${role}`);
    onTestFinished(async () => {
      await pool.query(`drop owned by ${role}; drop role ${role}`);
    });
    await makeOld(database, role);

    expect(await up(database)).toEqual([
      '0010_rollups',
      '0011_sources',
      '0012_changed_months',
      '0013_actions',
      '0014_complete_sources',
      '0015_newest_covered',
      '0016_reasons',
      '0017_default_source',
      '0018_lists',
      '0019_due_at',
      '0020_market_kinds',
      '0021_derivatives',
      '0022_market_states',
      '0023_backfills',
      '0024_answer_bodies',
      '0025_rejected_for',
      'views and rollups',
    ]);
    const aggregates = await pool.query('select from timescaledb_information.continuous_aggregates');
    expect(aggregates.rowCount).toBe(0);
    expect(await rangesBehind(database)).toHaveLength(1);
    await expectRollupsToAgree(database);
    expect((await pool.query(derived)).rows).toEqual(before.rows);
    const rights = await pool.query(`select has_table_privilege($1, 'tidemark.rollup_w1', 'select') as may`, [role]);
    expect(rights.rows).toEqual([{ may: true }]);
    await refreshRollups(database, { clock: systemClock, nowMs: Date.UTC(2024, 6, 1) });
    await expectRollupsToAgree(database);
    expect((await pool.query(derived)).rows).toEqual(before.rows);
  });
});

/** Makes the schema what it was before migration 0010, with two of the aggregates. */
async function makeOld({ pool }: Database, reader: string): Promise<void> {
  const levels = ['m5', 'm15', 'm30', 'h1', 'h2', 'h4', 'h6', 'h8', 'h12', 'd1', 'w1'];
  await pool.query(`create or replace view public.candles as
    select s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.interval,
           p.time, p.open, p.high, p.low, p.close, p.volume, null::text as derived_from, null::bigint as points
    from tidemark.series s join tidemark.candle_points p on p.series_id = s.id where s.dataset = 'candles'`);
  for (const level of [...levels].reverse()) await pool.query(`drop view tidemark.rollup_${level}`);
  await pool.query('drop view tidemark.rollups_behind');
  const bucket = (length: string, from: string, points: string) => `
    with (timescaledb.continuous, timescaledb.materialized_only = false) as
    select series_id, time_bucket(interval '${length}', time) as time, first(open, time) as open, max(high) as high,
           min(low) as low, last(close, time) as close, sum(volume) as volume, ${points} as points
    from tidemark.${from} group by 1, 2`;
  await pool.query(`create materialized view tidemark.rollup_h1 ${bucket('1 hour', 'candle_points', 'count(*)')}`);
  await pool.query(
    `create materialized view tidemark.rollup_w1 ${bucket('7 days', 'rollup_h1', 'sum(points)::bigint')}`,
  );
  await pool.query(`grant usage on schema tidemark to ${reader}; grant select on tidemark.rollup_w1 to ${reader}`);
  await pool.query(`create or replace function tidemark.ranges_behind() returns table (rollup text, range tstzrange)
                    language sql stable as $$ select null::text, null::tstzrange where false $$`);
  await pool.query('create view tidemark.rollups_behind as select * from tidemark.ranges_behind()');
  await pool.query(`insert into tidemark.settings (name, value) values ('derived: rollups', 'older');
                    update tidemark.settings set value = 'older' where name = 'derived: views and functions'`);
  await pool.query(`drop table if exists tidemark.rollup_days, tidemark.rollup_hours`);
  await pool.query(
    'alter table tidemark.series drop column if exists rollups_behind cascade, drop column newest_covered',
  );
  await pool.query(
    `drop view public.source_differences, public.source_coverage, public.source_markets, public.source_market_snapshots,
               public.dashboard_actions, public.gaps, public.coverage`,
  );
  const added = datasetNames
    .map((name) => datasetOf(name))
    .filter(({ table }) => !table.match(/^(candle|asset_history)_/));
  await pool.query(`drop table ${added.map(({ table }) => `tidemark.${table}`).join(', ')} cascade`);
  await pool.query(
    `drop table tidemark.actions, tidemark.backfill_series, tidemark.backfills, tidemark.changed_months, tidemark.asset_aliases, tidemark.cross_differences, tidemark.source_symbols, tidemark.symbol_states, tidemark.source_ranges,
                tidemark.series_sources`,
  );
  await pool.query(`alter table tidemark.fetches drop column source, drop column sent, drop column body,
                      drop column rejected_for;
                    alter table tidemark.pending_windows drop column source;
                    alter table tidemark.pending_windows rename column reason to verdict;
                    alter table tidemark.pending_windows add check (verdict in ('empty', 'failed', 'stale'))`);
  await pool.query(
    'alter table tidemark.lists add constraint lists_list_check check (true), add constraint lists_check check (true)',
  );
  await pool.query(`alter table tidemark.series drop column due_at, drop column settle_id, drop column expiry,
                      drop constraint series_of_market_or_asset, add constraint series_dataset_check check (true),
                      add constraint series_check check (true), add constraint series_check1 check (true)`);
  await pool.query(`delete from tidemark.migrations where name >= '0010'`);
}
