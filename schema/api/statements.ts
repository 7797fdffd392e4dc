/**
 * The statement that reads a line of points. Every value in it is a constant, so that it is planned for
 * exactly this series and range: TimescaleDB excludes the other chunks while planning, and the columnstore
 * filters by segment.
 */

import { gridOrigin, rollupLevels } from '../../model/rollup-levels.ts';
import { rollupColumns } from '../../store/upkeep/rollup-definitions.ts';

/** For a text within quotes. */
export const quoted = (sql: string) => sql.replaceAll("'", "''");

const levelsOfPoints = rollupLevels
  .filter(({ from }) => from === null)
  .map(({ name }) => `'${name}'`)
  .join(', ');

/**
 * Rows of a line in order of time: the columns, `filled` and `coverage`. A closed period without a point that
 * is not completely covered is a row of nulls. A covered period without a point is absent, or with `gap_fill`
 * a filled row: the last price (within an unbroken stretch of coverage: beyond a gap it is unknown), and
 * volume 0.
 *
 * @param timescale whether the points are a hypertable.
 */
export const statements = (timescale: boolean) => `
-- A condition on the periods of these views is none on the time of a plain table's points.
create or replace function tidemark.source_of(relation text, series_id integer, period interval,
  first timestamptz, ending timestamptz) returns text
language plpgsql immutable parallel safe as $$
begin
  if relation not in (${levelsOfPoints}) then return relation; end if;
  return format('(
      select ${quoted(rollupColumns('%L::interval', timescale))} from tidemark.candle_points
      where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz
      group by 1, 2
    ) rolled_up', period, series_id, first, ending);
end $$;
comment on function tidemark.source_of is
  'Internal: what to read for a range of a relation: the relation, or its points grouped by periods.';

create or replace function tidemark.line_statement(relation text, series_id integer, columns text[], period interval,
  covered tstzmultirange, first timestamptz, ending timestamptz, closed timestamptz, gap_fill boolean) returns text
language plpgsql stable parallel safe as $$
declare
  price text := case when 'close' = any (columns) then 'close' else columns[1] end;
  known tstzmultirange := covered * tstzmultirange(tstzrange(first, ending));
  missing tstzmultirange := case when closed > first then tstzmultirange(tstzrange(first, closed)) - covered else '{}' end;
  listed text := array_to_string(columns, ', ');
  -- This function takes longer for a row than everything else, so it is skipped where everything is covered.
  share text := case when known = tstzmultirange(tstzrange(first, ending)) then '1::numeric' else format('tidemark.share_covered(%L::tstzmultirange, tstzrange(time, time + %L::interval))', known, period) end;
  stored text := format('select time, %s, false as filled, %s as coverage from %s
    where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz',
    listed, share, tidemark.source_of(relation, series_id, period, first, ending), series_id, first, ending);
  nulls text := array_to_string(array(select 'null' from unnest(columns)), ', ');
  carried text;
begin
  if not gap_fill then
    if isempty(missing) then return stored || ' order by time'; end if;
    return format('with stored as materialized (%s), missing as (
        select distinct time from unnest(%L::tstzmultirange) r, lateral generate_series(
          greatest(date_bin(%L, lower(r), ${quoted(gridOrigin)}), %L), upper(r) - interval ''1 microsecond'', %L::interval) time
      )
      select * from stored
      union all
      select time, %s, false, %s from missing where not exists (select from stored s where s.time = missing.time)
      order by time', stored, missing, period, first, period, nulls, share);
  end if;
  execute format('select %s from %s where series_id = %s and time < %L::timestamptz
    and tstzrange(time, %L) <@ %L::tstzmultirange order by time desc limit 1', price,
    case when 'price_usd' = any (columns) then relation else 'tidemark.candle_points' end,
    series_id, first, first, covered) into carried;
  return format('with stored as materialized (%s), periods as (
      select time, %s, s.time is not null as is_stored, %s as coverage
      from generate_series(%L::timestamptz, %L::timestamptz - interval ''1 microsecond'', %L::interval) p (time)
      left join stored s using (time)
      where s.time is not null or time < %L
    ), runs as (
      select *, count(*) filter (where is_stored or coverage < 1) over (order by time) as run from periods
    ), carried as (
      select *, case when run = 0 then %L::numeric
                     else first_value(case when coverage = 1 then %s end) over (partition by run order by time) end as last_price,
             not is_stored and coverage = 1 as filled
      from runs
    )
    select time, %s, filled, coverage from carried order by time',
    stored, listed, share, first, ending, period, closed, carried, price,
    array_to_string(array(select case when c = 'volume' then 'case when filled then 0 else volume end as volume'
                                      else format('case when filled then last_price else %s end as %s', c, c) end
                          from unnest(columns) c), ', '));
end $$;
comment on function tidemark.line_statement is
  'Internal: the statement that reads a line of points, with every value as a constant.';
`;
