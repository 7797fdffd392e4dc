/**
 * From names to one line of points: which relation holds it, how much of the asked range is covered, and the
 * statement that reads it. The functions for people read through these.
 *
 * A statement is text with every value in it as a constant, so that it is planned for exactly this series and range:
 * TimescaleDB leaves out the other chunks while planning, and the columnstore filters by segment.
 */

import { historyIntervals } from '../../contract/intervals.ts';
import { gridOrigin } from './levels.ts';

/** How long after its end a period may still change, where nobody says otherwise: the default of GRACE_SECONDS. */
export const graceMs = 60_000;

/** As part of a text that is itself in quotes. */
export const quoted = (sql: string) => sql.replaceAll("'", "''");
const listOf = (intervals: readonly string[]) => intervals.map((name) => `'${name}'`).join(', ');

/** Refusals of what is not tracked, telling apart a name that nobody knows from a combination that is not there. */
const refusals = `
create or replace function tidemark.refuse_market(exchange text, base text, quote text, interval_name text) returns void
language plpgsql stable parallel safe as $$
declare
  names text[];
  tracked text;
begin
  select coalesce(array_agg(distinct exchange_id), '{}') into names from tidemark.series where dataset = 'candles';
  if exchange = any (names) is not true then
    perform tidemark.refuse_name('exchange', exchange, names);
  end if;
  select array_agg(distinct base_id) into names from tidemark.series where dataset = 'candles';
  if base = any (names) is not true then perform tidemark.refuse_name('base', base, names); end if;
  select array_agg(distinct quote_id) into names from tidemark.series where dataset = 'candles';
  if quote = any (names) is not true then perform tidemark.refuse_name('quote', quote, names); end if;

  select string_agg(s.interval, ', ' order by s.period) into tracked from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote;
  if tracked is not null then
    raise exception 'the candles of % %/% are not tracked at %, and do not follow from finer ones',
      exchange, base, quote, interval_name using errcode = '22023',
      hint = format('tracked: %s; from these follow: %s', tracked, (
        select coalesce(string_agg(d.interval, ', ' order by tidemark.interval_length(d.interval)), 'none')
        from tidemark.derived_series d where d.exchange_id = exchange and d.base_id = base and d.quote_id = quote));
  end if;
  select string_agg(name, ', ' order by name) into tracked from (
    select distinct format('%s %s/%s', exchange_id, base_id, quote_id) as name from tidemark.series
    where base_id = base and (quote_id = quote or exchange_id = exchange)
    order by 1 limit 12
  ) near;
  raise exception 'no market %/% is tracked on %', base, quote, exchange using errcode = '22023',
    hint = case when tracked is null then 'select * from coverage lists what is tracked'
                else format('tracked: %s', tracked) end;
end $$;

create or replace function tidemark.refuse_asset(asset text, interval_name text) returns void
language plpgsql stable parallel safe as $$
declare
  assets text[];
  tracked text;
begin
  select coalesce(array_agg(distinct asset_id), '{}') into assets from tidemark.series where dataset = 'asset_history';
  if asset = any (assets) is not true then
    perform tidemark.refuse_name('asset', asset, assets,
      case when exists (select from tidemark.series where base_id = asset)
           then ': its history is not tracked, though it is the base of a market' else '' end);
  end if;
  select string_agg(s.interval, ', ' order by s.period) into tracked from tidemark.series s where s.asset_id = asset;
  raise exception 'the price history of % is not tracked at %', asset, interval_name using errcode = '22023',
    hint = format('tracked: %s', tracked);
end $$;
`;

const lines = `
create or replace function tidemark.market_line(exchange text, base text, quote text, interval_name text,
  out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  found_interval text;
begin
  period := tidemark.interval_length(interval_name);
  -- The series itself, or the one that the view candles takes it from.
  select s.id, s.interval, s.covered, s.tracked into series_id, found_interval, covered, tracked
  from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote
    and s.interval = interval_name;
  if series_id is null then
    select s.id, s.interval, s.covered, s.tracked into series_id, found_interval, covered, tracked
    from tidemark.derived_series d join tidemark.series s on s.id = d.series_id
    where d.exchange_id = exchange and d.base_id = base and d.quote_id = quote and d.interval = interval_name;
  end if;
  if series_id is null then perform tidemark.refuse_market(exchange, base, quote, interval_name); end if;
  relation := case when found_interval = interval_name then 'tidemark.candle_points'
                   else 'tidemark.rollup_' || interval_name end;
  derived_from := nullif(found_interval, interval_name);
end $$;

create or replace function tidemark.asset_line(asset text, interval_name text,
  out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
begin
  period := tidemark.interval_length(interval_name);
  if interval_name in (${listOf(historyIntervals)}) then
    select s.id, s.covered, s.tracked into series_id, covered, tracked
    from tidemark.series s where s.dataset = 'asset_history' and s.asset_id = asset and s.interval = interval_name;
  end if;
  if series_id is null then perform tidemark.refuse_asset(asset, interval_name); end if;
  relation := 'tidemark.asset_history_points';
end $$;

-- 'binance bitcoin/tether' is a market, 'bitcoin' an asset.
create or replace function tidemark.line_of(series text, interval_name text,
  out is_market boolean, out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  parts text[] := regexp_match(series, '^\\s*(\\S+)\\s+(.+?)/(.+?)\\s*$');
begin
  is_market := parts is not null;
  if is_market then
    select l.series_id, l.relation, l.period, l.derived_from, l.covered, l.tracked
    into series_id, relation, period, derived_from, covered, tracked
    from tidemark.market_line(parts[1], parts[2], parts[3], interval_name) l;
  elsif series like '%/%' then
    raise exception 'a series is a market or an asset, not "%"', left(series, 200) using errcode = '22023',
      hint = 'a market is written as ''binance bitcoin/tether'', an asset as ''bitcoin''';
  else
    select l.series_id, l.relation, l.period, l.derived_from, l.covered, l.tracked
    into series_id, relation, period, derived_from, covered, tracked
    from tidemark.asset_line(btrim(series), interval_name) l;
  end if;
end $$;
`;

const ranges = `
-- The periods that start in [from_time, to_time): [first, ending); those before closed have ended. Null: from the
-- beginning of what is tracked, and up to now or, where that is earlier, to the end of what is tracked.
create or replace function tidemark.asked_range(period interval, tracked tstzrange, from_time timestamptz, to_time timestamptz,
  out first timestamptz, out ending timestamptz, out closed timestamptz)
language plpgsql stable parallel safe as $$
begin
  from_time := case when isfinite(from_time) then from_time else lower(tracked) end;
  to_time := case when isfinite(to_time) then to_time else least(now(), upper(tracked)) end;
  if from_time > to_time then
    raise exception 'the range begins at % and ends before that, at %', from_time, to_time using errcode = '22023',
      hint = 'from_time comes first, then to_time, which is not part of the range';
  end if;
  if extract(epoch from to_time - from_time) / extract(epoch from period) > 50000000 then
    raise exception 'the range from % to % has more than 50 million periods', from_time, to_time using errcode = '22023',
      hint = 'ask for a shorter range, or a longer interval';
  end if;
  first := date_bin(period, from_time - interval '1 microsecond', ${gridOrigin}) + period;
  ending := date_bin(period, to_time - interval '1 microsecond', ${gridOrigin}) + period;
  closed := least(ending, date_bin(period, now() - interval '${graceMs} milliseconds', ${gridOrigin}));
end $$;

create or replace function tidemark.share_partly_covered(covered tstzmultirange, span tstzrange) returns numeric
language sql immutable strict parallel safe as $$
  -- Cut, not rounded: 1 means all of it.
  select coalesce(trim_scale(trunc(sum(extract(epoch from upper(r) - lower(r)))
                                   / extract(epoch from upper(span) - lower(span)), 6)), 0)
  from unnest(covered * tstzmultirange(span)) r
$$;

-- Both common cases are a binary search in the ranges.
create or replace function tidemark.share_covered(covered tstzmultirange, span tstzrange) returns numeric
language sql immutable parallel safe as $$
  select case when covered @> span then 1::numeric when not covered && span then 0::numeric
              else tidemark.share_partly_covered(covered, span) end
$$;

create or replace function tidemark.tell_coverage(series_id integer, covered tstzmultirange, tracked tstzrange,
  first timestamptz, closed timestamptz) returns void
language plpgsql stable parallel safe as $$
declare
  wanted tstzrange := case when closed > first then tstzrange(first, closed) else 'empty' end;
begin
  if covered @> wanted then return; end if;
  raise notice '% %% of % is covered', trim_scale(trunc(100 * tidemark.share_covered(covered, wanted), 2)),
    tidemark.utc(wanted) using
    detail = format('tracked is %s', tidemark.utc(tracked)),
    hint = format('select * from gaps where series_id = %s; a wider range is tracked by tidemark backfill', series_id);
end $$;

create or replace function tidemark.utc(span tstzrange) returns text language sql immutable parallel safe as $$
  select format('%s to %s', to_char(lower(span) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                coalesce(to_char(upper(span) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'now'))
$$;
`;

/**
 * Rows of a line in order of time: the columns, `filled` and `coverage`. A closed period that is not wholly covered and
 * has no point is a row of nulls. One that is covered and has none is absent, or with `gap_fill` a filled row: the last
 * price (of an unbroken stretch of coverage: beyond a gap nobody knows it), and volume 0.
 */
const statements = `
create or replace function tidemark.line_statement(relation text, series_id integer, columns text[], period interval,
  covered tstzmultirange, first timestamptz, ending timestamptz, closed timestamptz, gap_fill boolean) returns text
language plpgsql stable parallel safe as $$
declare
  price text := case when 'close' = any (columns) then 'close' else columns[1] end;
  known tstzmultirange := covered * tstzmultirange(tstzrange(first, ending));
  missing tstzmultirange := case when closed > first then tstzmultirange(tstzrange(first, closed)) - covered else '{}' end;
  listed text := array_to_string(columns, ', ');
  share text := format('tidemark.share_covered(%L::tstzmultirange, tstzrange(time, time + %L::interval))', known, period);
  stored text := format('select time, %s, false as filled, %s as coverage from %s
    where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz',
    listed, share, relation, series_id, first, ending);
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
    case when relation like 'tidemark.rollup%' then 'tidemark.candle_points' else relation end,
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
`;

export const readLines = `${refusals}${lines}${ranges}${statements}`;
