-- Returns, volatility, drawdown, correlation and seasonality of prices. A period without a known price breaks the
-- chain: results that need it are null.

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
    select * from public.drawdown(series, interval_name, from_time, to_time, false) where price is not null
  ), trough as (
    select * from falls order by drawdown, time limit 1
  )
  select t.drawdown, peak.time, t.running_maximum, t.time, t.price,
         (select f.time from falls f where f.time > t.time and f.price >= t.running_maximum order by f.time limit 1),
         public.coverage_share(series, interval_name, from_time, to_time)
  from trough t
  cross join lateral (
    select f.time from falls f where f.time <= t.time and f.price = t.running_maximum order by f.time desc limit 1
  ) peak
$$;
comment on function public.maximum_drawdown is
  'The deepest fall of a range: from which peak, to which trough, and when the peak was reached again (null: not '
  'yet).
Example: select * from maximum_drawdown(''bitcoin'', ''d1'', ''2024-01-01'', ''2024-06-01'')';

--: function tidemark.paired_returns(text, text, text, timestamptz, timestamptz)
create or replace function tidemark.paired_returns(series text, benchmark text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, price numeric, benchmark_price numeric, x numeric, y numeric, coverage numeric,
               benchmark_coverage numeric, is_common boolean)
language sql stable parallel safe as $$
  select time, price, benchmark_price, case when y is not null then x end, case when x is not null then y end,
         coverage, benchmark_coverage, is_common
  from (
    select time, a.price, b.price as benchmark_price, a.coverage, b.coverage as benchmark_coverage,
           tidemark.log_return(a.price, lag(a.price) over w) as x,
           tidemark.log_return(b.price, lag(b.price) over w) as y,
           num_nulls(a.time, b.time) = 0 as is_common
    from public.prices(series, interval_name, from_time, to_time) a
    full join public.prices(benchmark, interval_name, from_time, to_time) b using (time)
    -- A gap of one breaks the chain of both, also where the other had no trade.
    where num_nulls(a.time, b.time) = 0 or coalesce(a.price, b.price) is null
    window w as (order by time)
  ) pairs
$$;
comment on function tidemark.paired_returns is
  'Internal: log returns of two series at the times that both have (is_common), null where either lacks one, and '
  'at the gaps of one.';

--: function tidemark.correlation_of(bigint, numeric, numeric, numeric, numeric, numeric)
-- From sums of exact products: no rounding before the last division.
create or replace function tidemark.correlation_of(n bigint, sx numeric, sy numeric, sxx numeric, syy numeric,
  sxy numeric)
returns numeric language sql immutable parallel safe as $$
  select case when n * sxx - sx * sx > 0 and n * syy - sy * sy > 0
              then tidemark.ratio((n * sxy - sx * sy) / sqrt((n * sxx - sx * sx) * (n * syy - sy * sy))) end
$$;
comment on function tidemark.correlation_of is
  'Internal: the correlation of n pairs of x and y from their sums; null where one of them never changes.';

--: function tidemark.beta_of(bigint, numeric, numeric, numeric, numeric)
create or replace function tidemark.beta_of(n bigint, sx numeric, sy numeric, syy numeric, sxy numeric)
returns numeric language sql immutable parallel safe as $$
  select case when n * syy - sy * sy > 0 then tidemark.ratio((n * sxy - sx * sy) / (n * syy - sy * sy)) end
$$;
comment on function tidemark.beta_of is
  'Internal: the beta of n pairs of x against y from their sums; null where y never changes.';

--: function public.correlation(text, text, text, timestamptz, timestamptz)
create or replace function public.correlation(series text, benchmark text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null)
returns table (correlation numeric, beta numeric, observations bigint, coverage numeric, benchmark_coverage numeric)
language sql stable parallel safe as $$
  select tidemark.correlation_of(n, sx, sy, sxx, syy, sxy), tidemark.beta_of(n, sx, sy, syy, sxy), n,
         public.coverage_share(series, interval_name, from_time, to_time),
         public.coverage_share(benchmark, interval_name, from_time, to_time)
  from (
    select count(x) as n, sum(x) as sx, sum(y) as sy, sum(x * x) as sxx, sum(y * y) as syy, sum(x * y) as sxy
    from tidemark.paired_returns(series, benchmark, interval_name, from_time, to_time)
  ) sums
$$;
comment on function public.correlation is
  'Correlation of the log returns of two series (each a market or an asset), and the beta of the first against the '
  'second, over a whole range.
Example: select * from correlation(''bitcoin'', ''ethereum'', ''d1'', ''2024-01-01'', ''2024-06-01'')';

--: function public.rolling_correlation(text, text, text, timestamptz, timestamptz, integer)
create or replace function public.rolling_correlation(series text, benchmark text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, periods integer default 30)
returns table ("time" timestamptz, price numeric, benchmark_price numeric, correlation numeric, beta numeric,
               coverage numeric, benchmark_coverage numeric)
language sql stable parallel safe as $$
  select time, price, benchmark_price,
         case when n = periods then tidemark.correlation_of(n, sx, sy, sxx, syy, sxy) end,
         case when n = periods then tidemark.beta_of(n, sx, sy, syy, sxy) end, coverage, benchmark_coverage
  from (
    select time, price, benchmark_price, coverage, benchmark_coverage, is_common, count(x) over w as n,
           sum(x) over w as sx, sum(y) over w as sy, sum(x * x) over w as sxx, sum(y * y) over w as syy,
           sum(x * y) over w as sxy
    from tidemark.paired_returns(series, benchmark, interval_name, from_time, to_time)
    window w as (order by time rows between tidemark.count_of(periods, 2) - 1 preceding and current row)
  ) sums
  where is_common
  order by time
$$;
comment on function public.rolling_correlation is
  'Correlation and beta over the last periods log returns, at each time that both series have.
Example: select * from rolling_correlation(''bitcoin'', ''ethereum'', ''d1'', ''2024-01-01'', ''2024-06-01'')';

--: function tidemark.changes_by_start(text, text, timestamptz, timestamptz)
create or replace function tidemark.changes_by_start(series text, interval_name text, from_time timestamptz,
  to_time timestamptz)
returns table (start timestamp, change numeric)
language sql stable parallel safe as $$
  select case when series like '%/%' or interval_name = 'd1' then time
              else time - tidemark.interval_length(interval_name) end at time zone 'UTC',
         simple_return
  from public.returns(series, interval_name, from_time, to_time)
$$;
comment on function tidemark.changes_by_start is
  'Internal: simple returns with the start of the period in which each happened, in UTC.';

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
