-- Several series beside each other: the last price known at a time, and prices on one grid.

--: function tidemark.known_after(boolean, text, interval)
create or replace function tidemark.known_after(is_market boolean, interval_name text, period interval) returns interval
language sql immutable parallel safe as $$
  select case when is_market or interval_name = 'd1' then period else interval '0' end
$$;
comment on function tidemark.known_after is
  'Internal: how long after its time a price is known: a close at the end of its period, the mean of a day when '
  'the day has ended.';

--: function public.asof(text, text, text, timestamptz, timestamptz, text, interval)
create or replace function public.asof(series text, other text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, other_interval text default null,
  max_age interval default null)
returns table ("time" timestamptz, price numeric, other_price numeric, other_time timestamptz, other_age interval,
               coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  right_line record;
  right_interval text := coalesce(other_interval, interval_name);
  ahead interval;
  right_ahead interval;
  oldest interval;
  since timestamptz;
  until timestamptz;
  earlier_time timestamptz;
  earlier_price numeric;
begin
  if max_age < interval '0' then
    raise exception 'max_age is %, and cannot be negative', max_age using errcode = '22023';
  end if;
  select * into line from tidemark.line_of(series, interval_name);
  select * into right_line from tidemark.line_of(other, right_interval);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  ahead := tidemark.known_after(line.is_market, interval_name, line.period);
  right_ahead := tidemark.known_after(right_line.is_market, right_interval, right_line.period);
  oldest := coalesce(max_age, right_line.period);
  -- The last price of the other series that any of the rows may use, and the first one.
  until := asked.ending - line.period + ahead - right_ahead + interval '1 microsecond';
  since := least(until, greatest(lower(right_line.tracked), asked.first + ahead - right_ahead - oldest));
  -- The last one before that, for rows without a newer one.
  execute format('select date_bin(%L, time, tidemark.grid_origin()), %I from %s
                  where series_id = %s and time < %L::timestamptz order by time desc limit 1',
    right_line.period, case when right_line.is_market then 'close' else 'price_usd' end,
    case when right_line.is_market then 'tidemark.candle_points' else right_line.relation end, right_line.series_id,
    date_bin(right_line.period, since - interval '1 microsecond', tidemark.grid_origin()) + right_line.period)
  into earlier_time, earlier_price;
  return query
    with left_rows as materialized (
      select time, price, coverage, time + ahead as moment from public.prices(series, interval_name, from_time, to_time)
    ), right_rows as materialized (
      select time, price from public.prices(other, right_interval, since, until) where price is not null
      union all select earlier_time, earlier_price where earlier_time is not null
    ), merged as (
      select moment, time, price, coverage, true as is_left, null::timestamptz as at from left_rows
      union all select time + right_ahead, null, null, null, false, time from right_rows
    ), latest as (
      select *, max(at) over (order by moment, is_left rows unbounded preceding) as last from merged
    )
    select l.time, l.price, case when l.moment - (r.time + right_ahead) <= oldest then r.price end, r.time,
           l.moment - (r.time + right_ahead), l.coverage
    from latest l left join right_rows r on r.time = l.last
    where is_left order by l.time;
end $$;
comment on function public.asof is
  'Prices of a series, each with the last price of another one that was known at its moment: null where that is '
  'older than max_age, by default a period of the other. A close is known at the end of its period, the mean of a '
  'day when it has ended.
Example: select * from asof(''binance bitcoin/tether'', ''bitcoin'', ''h8'', ''2024-03-01'', ''2024-03-02'', '
  'other_interval => ''d1'')';

--: function public.aligned(text[], text, timestamptz, timestamptz, boolean)
create or replace function public.aligned(series text[], interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, name text, price numeric, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
begin
  perform tidemark.assert_series(series);
  return query
    with names as (
      -- A name that is given twice is one series.
      select n.name, min(n.place) as place from unnest($1) with ordinality n (name, place) group by n.name
    ), known as materialized (
      select n.name, n.place, o.period, o.covered from names n cross join lateral tidemark.line_of(n.name, $2) o
    ), lines as materialized (
      select n.name, p.time, p.price, p.coverage
      from names n cross join lateral public.prices(n.name, $2, $3, $4, $5) p
    )
    -- Where a series has no row, it is known to have no price, or it lies outside of what is tracked.
    select g.time, n.name, l.price,
           coalesce(l.coverage, tidemark.share_covered(n.covered, tstzrange(g.time, g.time + n.period)))
    from (select distinct time from lines) g
    cross join known n
    left join lines l on l.time = g.time and l.name = n.name
    order by g.time, n.place;
end $$;
comment on function public.aligned is
  'Prices of several series on one grid: a row for each series at every time that any of them has, null where it '
  'has none.
Example: select * from aligned(array[''binance bitcoin/tether'', ''kraken bitcoin/euro''], ''h1'', ''2024-03-01'', '
  '''2024-03-02'')';

--: function public.aligned_wide(text[], text, timestamptz, timestamptz, boolean)
create or replace function public.aligned_wide(series text[], interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, prices jsonb, complete boolean)
language sql stable parallel safe as $$
  select time, jsonb_object_agg(name, price), bool_and(price is not null)
  from public.aligned($1, $2, $3, $4, $5) group by time order by time
$$;
comment on function public.aligned_wide is
  'Prices of several series on one grid, a row a time: an object with the price of each by its name, every digit '
  'kept, and whether all have one.
Example: select * from aligned_wide(array[''binance bitcoin/tether'', ''kraken bitcoin/euro''], ''h1'', '
  '''2024-03-01'', ''2024-03-02'')';
