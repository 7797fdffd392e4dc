/**
 * Rollup ranges that await a refresh, from TimescaleDB's own logs of changed ranges. The transaction that
 * changes points writes these logs, so they include every committed change. Only changes below a rollup's
 * watermark count: above it, a query reads the source of the rollup.
 *
 * The logs are internal to TimescaleDB. A function with its statements as text reads them, because a view on
 * them would keep `alter extension timescaledb update` from rebuilding its tables.
 */

import { gridOrigin, lagMs, periodLiteral, rollupLevels } from './levels.ts';

/** In the order of creation. */
export const behind = `
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
    -- Microseconds since 1970. A value before PostgreSQL's first time is an end of the log, not a change,
    -- or the watermark of a rollup without any materialised data: queries read the source of the rollup.
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
    -- Above the watermark too, where a rollup reads the one it is built from.
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
$function$;

-- One row with all of them and their bounds, which are empty for a rollup that is up to date.
create or replace function tidemark.behind(rollup text, out ranges tstzmultirange, out first timestamptz, out ending timestamptz)
language sql stable as $function$
  select r, case when isempty(r) then 'infinity' else coalesce(lower(r), '-infinity') end, coalesce(upper(r), '-infinity')
  from (select coalesce(range_agg(b.range), '{}') from tidemark.ranges_behind() b where b.rollup = behind.rollup) b (r)
$function$;

-- Ranges with points above a rollup's watermark that are old enough to be materialised: after a first backfill, all of
-- it. Queries read them from the points, which is correct but slow. Policies run every hour, so two hours are allowed.
create or replace function tidemark.ranges_unmaterialised(at timestamptz) returns table (rollup text, range tstzrange)
language plpgsql stable as $function$
declare
  one record;
  has_points boolean;
begin
  if not exists (select from pg_extension where extname = 'timescaledb') then
    return;
  end if;
  for one in with levels (name, period, lag) as (
    values ${rollupLevels
      .map((level) => `('rollup_${level.interval}', ${periodLiteral(level)}, interval '${lagMs(level)} ms')`)
      .join(', ')}
  ), bounds as (
    select 'tidemark.' || l.name as name,
           case when w.watermark > -2e17 then timestamptz 'epoch' + w.watermark * interval '1 microsecond' end as first,
           date_bin(l.period, at - l.lag - interval '2 hours', ${gridOrigin}) as ending
    from _timescaledb_catalog.continuous_agg c
    join _timescaledb_catalog.continuous_aggs_watermark w on w.mat_hypertable_id = c.mat_hypertable_id
    join levels l on l.name = c.user_view_name
    where c.user_view_schema = 'tidemark'
  )
  select * from bounds b where coalesce(b.first, '-infinity') < b.ending
  loop
    -- A chunk within these times shows that there are points. Reading it would wait while it moves to the
    -- columnstore.
    has_points := exists (
      select from timescaledb_information.chunks c
      where c.hypertable_schema = 'tidemark' and c.hypertable_name = 'candle_points'
        and c.range_start >= coalesce(one.first, '-infinity') and c.range_end <= one.ending);
    if not has_points then
      -- Planned for these times, so that it locks only their chunks: mostly the newest.
      execute 'select exists (select from tidemark.candle_points where time >= $1 and time < $2)'
        into has_points using coalesce(one.first, '-infinity'), one.ending;
    end if;
    if has_points then
      rollup := one.name;
      range := tstzrange(one.first, one.ending);
      return next;
    end if;
  end loop;
end
$function$;

create or replace view tidemark.rollups_behind as
  select rollup, range from tidemark.ranges_behind()
  union all select rollup, range from tidemark.ranges_unmaterialised(now());
`;
