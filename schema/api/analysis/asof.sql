-- The as-of join of the user's own times, such as those of orders and trades, to prices.

--: function tidemark.price_blocks(timestamptz[], interval, interval)
-- Between the longest breaks, at most 50: a few times in many years do not read the years between them, and each block
-- is one part of a statement. A break is worth it where it skips a batch of the columnstore, which has 1,000 rows.
create or replace function tidemark.price_blocks(moments timestamptz[], oldest interval, period interval)
returns table (first timestamptz, ending timestamptz)
language sql immutable parallel safe as $$
  with steps as (
    select moment, moment - oldest - lag(moment) over (order by moment) as skipped
    from (select distinct m as moment from unnest(moments) m) m
  ), ranked as (
    select *, row_number() over (order by skipped desc nulls last) as place from steps
  ), numbered as (
    select moment, count(*) filter (where place < 50 and skipped > 1000 * period) over (order by moment) as block
    from ranked
  )
  select min(moment) - oldest, max(moment) + interval '1 microsecond' from numbered group by block order by 1
$$;
comment on function tidemark.price_blocks is
  'Internal: the ranges in which the last price of some moments is looked for.';

--: function public.prices_asof(text[], timestamptz[], text, interval)
create or replace function public.prices_asof(series text[], times timestamptz[], interval_name text default 'm1',
  max_age interval default null)
returns table ("time" timestamptz, name text, price numeric, price_time timestamptz, age interval, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  one text;
  line record;
  ahead interval;
  oldest interval;
  tick constant interval := '1 microsecond';
  first timestamptz := (select min(t) from unnest(times) t);
  last timestamptz := (select max(t) from unnest(times) t);
  prices text;
  points text;
  read tstzrange;
begin
  perform tidemark.assert_series(series);
  perform tidemark.assert_given('times', times is null);
  perform tidemark.assert_given('a time', exists (select from unnest(times) t where t is null));
  if max_age < interval '0' then
    raise exception 'max_age is %, and cannot be negative', max_age using errcode = '22023';
  elsif not (isfinite(first) and isfinite(last)) then
    raise exception 'a time is infinite' using errcode = '22023';
  elsif cardinality(times) = 0 then return;
  end if;
  -- A name that is given twice is one series.
  for one in select n from unnest(series) with ordinality u (n, place) group by n order by min(place) loop
    select * into line from tidemark.line_of(one, interval_name);
    ahead := tidemark.known_after(line.is_market, interval_name, line.period);
    oldest := coalesce(max_age, line.period);
    prices := format('%I as price', case when line.is_market then 'close' else 'price_usd' end);
    -- Before each block the last price as well, which is too old. It is of a whole period.
    select string_agg(format('
          select time, %s from %s
          where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz
          union all
          (select date_bin(%L, time, tidemark.grid_origin()), %s from %s
           where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz order by time desc limit 1)',
          prices, tidemark.source_of(line.relation, line.series_id, line.period, b.first, b.ending),
          line.series_id, b.first, b.ending,
          line.period, prices, case when line.is_market then 'tidemark.candle_points' else line.relation end,
          line.series_id, coalesce(b.since, '-infinity'), b.until), ' union all ')
    into points
    from (
      select first, ending, u.until, lag(u.since) over (order by first) as since
      from tidemark.price_blocks(array(select t - ahead from unnest(times) t), oldest, line.period),
           lateral (select date_bin(line.period, first - tick, tidemark.grid_origin()) + line.period,
                           date_bin(line.period, ending - tick, tidemark.grid_origin()) + line.period) u (until, since)
    ) b;
    read := tstzrange(date_bin(line.period, first - ahead - oldest, tidemark.grid_origin()),
                      date_bin(line.period, last - ahead, tidemark.grid_origin()) + line.period);
    perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, lower(read), upper(read),
      least(upper(read), date_bin(line.period, now() - tidemark.grace(), tidemark.grid_origin())));
    return query execute format('
      with asked as materialized (
        select distinct t as time, t - %1$L::interval as moment from unnest($1) t
      ), points as materialized (%2$s), merged as (
        select time as moment, true as is_point from points union all select moment, false from asked
      ), latest as (
        select moment, is_point,
               max(moment) filter (where is_point) over (order by moment, is_point desc rows unbounded preceding) as at
        from merged
      ), found as (
        select a.time, p.price, p.time as price_time, a.moment,
               date_bin(%3$L, a.moment, tidemark.grid_origin()) as newest
        from asked a join latest l on l.moment = a.moment and not l.is_point
        left join points p on p.time = l.at
      ), dated as (
        select *, case when price_time >= moment - %4$L::interval then price_time end as usable from found
      ), known as (
        -- Of an own price of the period nothing else has to be known, if it is known at its time.
        select time, price, price_time, usable, moment - price_time as age,
               case when %5$L and usable >= newest then 1 else %6$s end as coverage
        from dated
      )
      select time, %7$L::text, case when coverage = 1 and usable is not null then price end, price_time, age, coverage
      from known order by time',
      ahead, points, line.period, oldest, ahead = interval '0',
      case when line.covered @> read then '1::numeric'
           else format('tidemark.share_covered(%1$L::tstzmultirange, tstzrange(least(newest, date_bin(%2$L,
                  coalesce(usable, moment - %3$L::interval + %2$L::interval - interval ''1 microsecond''),
                  tidemark.grid_origin())), newest + %2$L::interval))', line.covered, line.period, oldest) end,
      one) using times;
  end loop;
end $$;
comment on function public.prices_asof is
  'As-of join: the last price of each series that was known at each of some times, such as those of orders. A close is '
  'known when its candle has ended. The price is null where it is older than max_age (by default a period), and where '
  'coverage is below 1: a gap lies between, and a later price may be missing.
Example: select * from prices_asof(array[''binance bitcoin/tether''], array[''2024-12-01 12:34:56Z'']::timestamptz[])';
