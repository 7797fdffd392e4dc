/** Returns, volatility and drawdown of a price. A period without a known price breaks the chain: what would need it is null. */

export const ranged = `from_time timestamptz default null, to_time timestamptz default null`;
const fill = 'gap_fill boolean default false';
const line = 'public.prices(series, interval_name, from_time, to_time, gap_fill)';

export const returns = `
create or replace function public.returns(series text, interval_name text default 'd1', ${ranged}, ${fill})
returns table ("time" timestamptz, price numeric, simple_return numeric, log_return numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, tidemark.simple_return(price, lag(price) over w), tidemark.log_return(price, lag(price) over w),
         coverage
  from ${line}
  window w as (order by time)
  order by time
$$;
comment on function public.returns is
  'Return of each period on the row before: simple (0.01 is 1 %) and logarithmic. Null in the first row and beside a gap.';

create or replace function public.volatility(series text, interval_name text default 'd1', ${ranged},
  periods integer default 30, ${fill})
returns table ("time" timestamptz, price numeric, log_return numeric, volatility numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, log_return,
         case when count(log_return) over w = periods
              then tidemark.ratio(stddev_samp(log_return) over w * sqrt(tidemark.periods_per_year(interval_name))) end,
         coverage
  from public.returns(series, interval_name, from_time, to_time, gap_fill)
  window w as (order by time rows between tidemark.count_of(periods, 2) - 1 preceding and current row)
  order by time
$$;
comment on function public.volatility is
  'Rolling volatility: sample standard deviation of the last periods log returns, times the square root of the periods in a year of 365 days. Null until there are enough, and where one of them is missing.';

create or replace function public.drawdown(series text, interval_name text default 'd1', ${ranged}, ${fill})
returns table ("time" timestamptz, price numeric, running_maximum numeric, drawdown numeric, maximum_drawdown numeric,
               coverage numeric)
language sql stable parallel safe as $$
  select time, price, peak, fall, min(fall) over (order by time), coverage
  from (
    select time, price, peak, case when peak > 0 then tidemark.ratio(price / peak - 1) end as fall, coverage
    from (select *, max(price) over (order by time) as peak from ${line}) peaks
  ) falls
  order by time
$$;
comment on function public.drawdown is
  'Distance of each price from the highest before it: -0.2 is 20 % below. maximum_drawdown is the deepest so far.';

create or replace function public.maximum_drawdown(series text, interval_name text default 'd1', ${ranged})
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
  'The deepest fall of a range: from which peak, to which trough, and when the peak was reached again (null: not yet).';
`;
