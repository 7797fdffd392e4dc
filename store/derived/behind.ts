/**
 * Which parts of the rollups await a refresh: what TimescaleDB's own logs of changed ranges say. They are written by
 * the transaction that changes points, so nothing that is committed is missing from them. Only changes below a rollup's
 * watermark count: what lies above it a query answers from what the rollup is made of.
 *
 * The logs are internal to TimescaleDB, and so it is a function that reads them, which holds its statements as text: a
 * view on them would keep `alter extension timescaledb update` from rebuilding its tables.
 */

import type { DerivedObject } from './derived-object.ts';
import { gridOrigin, periodLiteral, rollupLevels } from './levels.ts';

const behindFunction = `
  create or replace function tidemark.ranges_behind() returns table (rollup text, range tstzrange)
  language plpgsql stable as $function$
  begin
    if not exists (select from pg_extension where extname = 'timescaledb') then
      return;
    end if;
    return query
    with recursive levels (name, period) as (
      values ${rollupLevels.map((level) => `('rollup_${level.interval}', ${periodLiteral(level)})`).join(', ')}
    ), rollups as (
      select c.mat_hypertable_id as id, c.raw_hypertable_id as source, l.name, l.period, w.watermark
      from _timescaledb_catalog.continuous_agg c
      join _timescaledb_catalog.continuous_aggs_watermark w on w.mat_hypertable_id = c.mat_hypertable_id
      join levels l on l.name = c.user_view_name
      where c.user_view_schema = 'tidemark'
    ), changed (id, lowest, greatest) as (
      -- Microseconds since 1970. What lies before the first moment PostgreSQL knows is an end of the log, not a change,
      -- or the watermark of a rollup of which nothing is materialised: it is answered from what it is made of.
      select r.id, l.lowest, least(l.greatest, r.watermark - 1)
      from rollups r
      join (
        select materialization_id, null, lowest_modified_value, greatest_modified_value
        from _timescaledb_catalog.continuous_aggs_materialization_invalidation_log
        union all
        select null, hypertable_id, lowest_modified_value, greatest_modified_value
        from _timescaledb_catalog.continuous_aggs_hypertable_invalidation_log
      ) l (id, source, lowest, greatest) on l.id = r.id or l.source = r.source
      where l.lowest < r.watermark and l.greatest > -2e17 and r.watermark > -2e17
      union all
      -- Also above the watermark, where a rollup answers from the one it is made of.
      select r.id, c.lowest, c.greatest from changed c join rollups r on r.source = c.id
    ), aligned as (
      select r.name, tstzrange(
          case when c.lowest > -2e17
               then date_bin(r.period, timestamptz 'epoch' + c.lowest * interval '1 microsecond', ${gridOrigin}) end,
          date_bin(r.period, timestamptz 'epoch' + c.greatest * interval '1 microsecond', ${gridOrigin}) + r.period
        ) as range
      from changed c join rollups r on r.id = c.id
    )
    select 'tidemark.' || a.name, unnest(range_agg(a.range)) from aligned a group by a.name;
  end
  $function$`;

/** As one row: all of them, and the range that holds them all, which of a rollup that is up to date holds nothing. */
const behindOne = `
  create or replace function tidemark.behind(rollup text, out ranges tstzmultirange, out first timestamptz, out ending timestamptz)
  language sql stable as $function$
    select r, case when isempty(r) then 'infinity' else coalesce(lower(r), '-infinity') end, coalesce(upper(r), '-infinity')
    from (select coalesce(range_agg(b.range), '{}') from tidemark.ranges_behind() b where b.rollup = behind.rollup) b (r)
  $function$`;

/** In the order of making them. */
export const behindObjects: readonly DerivedObject[] = Object.freeze([
  {
    name: 'tidemark.ranges_behind()',
    create: behindFunction,
    drop: 'drop function tidemark.ranges_behind()',
  },
  {
    name: 'tidemark.behind(text)',
    create: behindOne,
    drop: 'drop function tidemark.behind(text)',
  },
  {
    name: 'tidemark.rollups_behind',
    create:
      'create or replace view tidemark.rollups_behind as select rollup, range from tidemark.ranges_behind()',
    drop: 'drop view tidemark.rollups_behind',
  },
]);
