-- Returns, volatility, drawdown and seasonality of prices. A period without a known price breaks the chain: results
-- that need it are null.

--: function public.returns(text, text, timestamptz, timestamptz, boolean)
create or replace function public.returns(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, simple_return numeric, log_return numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, tidemark.simple_return(price, lag(price) over w),
         tidemark.ratio(tidemark.log_return(price, lag(price) over w)), coverage
  from public.prices(series, interval_name, from_time, to_time, gap_fill)
  window w as (order by time)
  order by time
$$;
comment on function public.returns is
  'Return of each period on the row before: simple (0.01 is 1 %) and logarithmic. Null in the first row and beside '
  'a gap.
Example: select * from returns(''bitcoin'', ''d1'', ''2024-03-01'', ''2024-03-08'')';

--: function public.returns_panel(text[], text, timestamptz, timestamptz, boolean)
-- A row without a price where it is known that there is none (coverage 1) is none of the chain of its series: the next
-- return is from the price before it. Where it is not known, it breaks the chain.
create or replace function public.returns_panel(series text[], interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, name text, price numeric, simple_return numeric, log_return numeric,
               coverage numeric)
language sql stable parallel safe as $$
  select time, name, price, tidemark.simple_return(price, lag(price) over w),
         tidemark.ratio(tidemark.log_return(price, lag(price) over w)), coverage
  from public.aligned(series, interval_name, from_time, to_time, gap_fill)
  window w as (partition by name, price is null and coverage = 1 order by time)
  order by time, array_position(series, name)
$$;
comment on function public.returns_panel is
  'Returns of several series on one grid: a row for each series at every time that any of them has, with its return on '
  'its own price before. Null where it has none, and beside a gap.
Example: select * from returns_panel(array[''bitcoin'', ''ethereum''], ''d1'', ''2024-03-01'', ''2024-03-08'')';

--: function public.returns_panel_wide(text[], text, timestamptz, timestamptz, boolean)
create or replace function public.returns_panel_wide(series text[], interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, simple_returns jsonb, log_returns jsonb, complete boolean)
language sql stable parallel safe as $$
  select time, jsonb_object_agg(name, simple_return), jsonb_object_agg(name, log_return),
         bool_and(simple_return is not null)
  from public.returns_panel($1, $2, $3, $4, $5) group by time order by time
$$;
comment on function public.returns_panel_wide is
  'Returns of several series on one grid, a row a time: objects with the return of each by its name, every digit kept, '
  'and whether all have one.
Example: select * from returns_panel_wide(array[''bitcoin'', ''ethereum''], ''d1'', ''2024-03-01'', ''2024-03-08'')';

--: function public.volatility(text, text, timestamptz, timestamptz, integer, boolean)
create or replace function public.volatility(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, periods integer default 30,
  gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, log_return numeric, volatility numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, tidemark.ratio(change),
         case when count(change) over w = periods
              then tidemark.ratio(stddev_samp(change) over w
                                  * sqrt(tidemark.periods_per_year(interval_name) + tidemark.fine())) end,
         coverage
  from (
    select *, tidemark.log_return(price, lag(price) over (order by time)) as change
    from public.prices(series, interval_name, from_time, to_time, gap_fill)
  ) changes
  window w as (order by time rows between tidemark.count_of(periods, 2) - 1 preceding and current row)
  order by time
$$;
comment on function public.volatility is
  'Rolling volatility: sample standard deviation of the last periods log returns, times the square root of the '
  'periods in a year of 365 days. Null until there are enough, and where one of them is missing.
Example: select * from volatility(''binance bitcoin/tether'', ''d1'', ''2024-01-01'', ''2024-06-01'')';

--: function public.drawdown(text, text, timestamptz, timestamptz, boolean)
create or replace function public.drawdown(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, running_maximum numeric, drawdown numeric, maximum_drawdown numeric,
               coverage numeric)
language sql stable parallel safe as $$
  select time, price, peak, fall, min(fall) over (order by time), coverage
  from (
    select time, price, peak, case when peak > 0 then tidemark.ratio(price / peak - 1) end as fall, coverage
    from (
      select *, max(price) over (order by time) as peak
      from public.prices(series, interval_name, from_time, to_time, gap_fill)
    ) peaks
  ) falls
  order by time
$$;
comment on function public.drawdown is
  'Distance of each price from the highest before it: -0.2 is 20 % below. maximum_drawdown is the deepest so far.
Example: select * from drawdown(''bitcoin'', ''d1'', ''2024-01-01'', ''2024-06-01'')';

--: function public.maximum_drawdown(text, text, timestamptz, timestamptz)
create or replace function public.maximum_drawdown(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null)
returns table (drawdown numeric, peak_time timestamptz, peak_price numeric, trough_time timestamptz,
               trough_price numeric, recovered_time timestamptz, coverage numeric)
language sql stable parallel safe as $$
  with falls as materialized (
    select * from public.drawdown(series, interval_name, from_time, to_time, false)
    where price is not null and time < tidemark.open_since(interval_name)
  ), trough as (
    select * from falls order by drawdown, time limit 1
  )
  select (select drawdown from trough),
         (select f.time from falls f where f.time <= t.time and f.price = t.running_maximum
          order by f.time desc limit 1),
         t.running_maximum, t.time, t.price,
         (select f.time from falls f where f.time > t.time and f.price >= t.running_maximum order by f.time limit 1),
         public.coverage_share(series, interval_name, from_time, to_time)
  from (select) one left join trough t on t.drawdown < 0
$$;
comment on function public.maximum_drawdown is
  'The deepest fall of a range: from which peak, to which trough, and when the peak was reached again (null: not '
  'yet). Where nothing fell the drawdown is 0 and has no times; where no price is known it is null.
Example: select * from maximum_drawdown(''bitcoin'', ''d1'', ''2024-01-01'', ''2024-06-01'')';

--: function tidemark.changes_by_start(text, text, timestamptz, timestamptz)
create or replace function tidemark.changes_by_start(series text, interval_name text, from_time timestamptz,
  to_time timestamptz)
returns table (start timestamp, change numeric)
language sql stable parallel safe as $$
  select case when series like '%/%' or interval_name = 'd1' then time
              else time - tidemark.interval_length(interval_name) end at time zone 'UTC',
         simple_return
  from public.returns(series, interval_name, from_time, to_time) where time < tidemark.open_since(interval_name)
$$;
comment on function tidemark.changes_by_start is
  'Internal: simple returns of closed periods, with the start of the period in which each happened, in UTC.';

--: function public.seasonality_by_hour(text, text, timestamptz, timestamptz)
create or replace function public.seasonality_by_hour(series text, interval_name text default 'h1',
  from_time timestamptz default null, to_time timestamptz default null)
returns table (hour integer, observations bigint, mean_return numeric, deviation numeric, share_up numeric,
               coverage numeric)
language sql stable parallel safe as $$
  select extract(hour from start)::integer as hour, count(change), tidemark.ratio(avg(change)),
         tidemark.ratio(stddev_samp(change)),
         tidemark.ratio(count(*) filter (where change > 0)::numeric / nullif(count(change), 0)),
         public.coverage_share(series, interval_name, from_time, to_time)
  from tidemark.changes_by_start(series, interval_name, from_time, to_time)
  where change is not null
  group by 1 order by 1
$$;
comment on function public.seasonality_by_hour is
  'Simple returns by the hour of the day (UTC) in which they happened: how many, their mean, their deviation, and '
  'the share above zero.
Example: select * from seasonality_by_hour(''binance bitcoin/tether'', ''h1'', ''2024-03-01'', ''2024-06-01'')';

--: function public.seasonality_by_weekday(text, text, timestamptz, timestamptz)
create or replace function public.seasonality_by_weekday(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null)
returns table (weekday integer, name text, observations bigint, mean_return numeric, deviation numeric,
               share_up numeric, coverage numeric)
language sql stable parallel safe as $$
  select extract(isodow from start)::integer as weekday, to_char(start, 'FMDay'), count(change),
         tidemark.ratio(avg(change)), tidemark.ratio(stddev_samp(change)),
         tidemark.ratio(count(*) filter (where change > 0)::numeric / nullif(count(change), 0)),
         public.coverage_share(series, interval_name, from_time, to_time)
  from tidemark.changes_by_start(series, interval_name, from_time, to_time)
  where change is not null
  group by 1, 2 order by 1
$$;
comment on function public.seasonality_by_weekday is
  'Simple returns by the day of the week (UTC; 1 is Monday) in which they happened.
Example: select * from seasonality_by_weekday(''bitcoin'', ''d1'', ''2024-01-01'', ''2024-06-01'')';
