/**
 * Returns, volatility, drawdown, correlation and seasonality of prices. A period without a known price breaks
 * the chain: results that need it are null.
 */

import { example } from '../comments.ts';
import { fine } from './lines.ts';

export const ranged = `from_time timestamptz default null, to_time timestamptz default null`;
export const fill = 'gap_fill boolean default false';
export const line = 'public.prices(series, interval_name, from_time, to_time, gap_fill)';

export const returns = `
create or replace function public.returns(series text, interval_name text default 'd1', ${ranged}, ${fill})
returns table ("time" timestamptz, price numeric, simple_return numeric, log_return numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, tidemark.simple_return(price, lag(price) over w),
         tidemark.ratio(tidemark.log_return(price, lag(price) over w)), coverage
  from ${line}
  window w as (order by time)
  order by time
$$;
comment on function public.returns is
  'Return of each period on the row before: simple (0.01 is 1 %) and logarithmic. Null in the first row and beside a gap.${example("select * from returns('bitcoin', 'd1', '2024-03-01', '2024-03-08')")}';

create or replace function public.volatility(series text, interval_name text default 'd1', ${ranged},
  periods integer default 30, ${fill})
returns table ("time" timestamptz, price numeric, log_return numeric, volatility numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, tidemark.ratio(change),
         case when count(change) over w = periods
              then tidemark.ratio(stddev_samp(change) over w * sqrt(tidemark.periods_per_year(interval_name) + ${fine})) end,
         coverage
  from (select *, tidemark.log_return(price, lag(price) over (order by time)) as change from ${line}) changes
  window w as (order by time rows between tidemark.count_of(periods, 2) - 1 preceding and current row)
  order by time
$$;
comment on function public.volatility is
  'Rolling volatility: sample standard deviation of the last periods log returns, times the square root of the periods in a year of 365 days. Null until there are enough, and where one of them is missing.${example("select * from volatility('binance bitcoin/tether', 'd1', '2024-01-01', '2024-06-01')")}';

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
  'Distance of each price from the highest before it: -0.2 is 20 % below. maximum_drawdown is the deepest so far.${example("select * from drawdown('bitcoin', 'd1', '2024-01-01', '2024-06-01')")}';

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
  'The deepest fall of a range: from which peak, to which trough, and when the peak was reached again (null: not yet).${example("select * from maximum_drawdown('bitcoin', 'd1', '2024-01-01', '2024-06-01')")}';
`;

const parameters = `series text, benchmark text, interval_name text default 'd1', ${ranged}`;

/** Sums of exact products: no rounding before the last division. */
const sums = (over: string) =>
  `count(x) ${over} as n, sum(x) ${over} as sx, sum(y) ${over} as sy, sum(x * x) ${over} as sxx,
         sum(y * y) ${over} as syy, sum(x * y) ${over} as sxy`;
const spread = 'n * sxx - sx * sx';
const benchmarkSpread = 'n * syy - sy * sy';
const together = 'n * sxy - sx * sy';
const correlationFigure = `case when ${spread} > 0 and ${benchmarkSpread} > 0
              then tidemark.ratio((${together}) / sqrt((${spread}) * (${benchmarkSpread}))) end`;
const betaFigure = `case when ${benchmarkSpread} > 0 then tidemark.ratio((${together}) / (${benchmarkSpread})) end`;

export const correlation = `
create or replace function tidemark.paired_returns(${parameters})
returns table ("time" timestamptz, price numeric, benchmark_price numeric, x numeric, y numeric, coverage numeric,
               benchmark_coverage numeric, is_common boolean)
language sql stable parallel safe as $$
  select time, price, benchmark_price, case when y is not null then x end, case when x is not null then y end,
         coverage, benchmark_coverage, is_common
  from (
    select time, a.price, b.price as benchmark_price, a.coverage, b.coverage as benchmark_coverage,
           tidemark.log_return(a.price, lag(a.price) over w) as x, tidemark.log_return(b.price, lag(b.price) over w) as y,
           num_nulls(a.time, b.time) = 0 as is_common
    from public.prices(series, interval_name, from_time, to_time) a
    full join public.prices(benchmark, interval_name, from_time, to_time) b using (time)
    -- A gap of one breaks the chain of both, also where the other had no trade.
    where num_nulls(a.time, b.time) = 0 or coalesce(a.price, b.price) is null
    window w as (order by time)
  ) pairs
$$;
comment on function tidemark.paired_returns is
  'Internal: log returns of two series at the times that both have (is_common), null where either lacks one, and at the gaps of one.';

create or replace function public.correlation(${parameters})
returns table (correlation numeric, beta numeric, observations bigint, coverage numeric, benchmark_coverage numeric)
language sql stable parallel safe as $$
  select ${correlationFigure}, ${betaFigure}, n,
         public.coverage_share(series, interval_name, from_time, to_time),
         public.coverage_share(benchmark, interval_name, from_time, to_time)
  from (select ${sums('')} from tidemark.paired_returns(series, benchmark, interval_name, from_time, to_time)) sums
$$;
comment on function public.correlation is
  'Correlation of the log returns of two series (each a market or an asset), and the beta of the first against the second, over a whole range.${example("select * from correlation('bitcoin', 'ethereum', 'd1', '2024-01-01', '2024-06-01')")}';

create or replace function public.rolling_correlation(${parameters}, periods integer default 30)
returns table ("time" timestamptz, price numeric, benchmark_price numeric, correlation numeric, beta numeric,
               coverage numeric, benchmark_coverage numeric)
language sql stable parallel safe as $$
  select time, price, benchmark_price, case when n = periods then ${correlationFigure} end,
         case when n = periods then ${betaFigure} end, coverage, benchmark_coverage
  from (
    select time, price, benchmark_price, coverage, benchmark_coverage, is_common, ${sums('over w')}
    from tidemark.paired_returns(series, benchmark, interval_name, from_time, to_time)
    window w as (order by time rows between tidemark.count_of(periods, 2) - 1 preceding and current row)
  ) sums
  where is_common
  order by time
$$;
comment on function public.rolling_correlation is
  'Correlation and beta over the last periods log returns, at each time that both series have.${example("select * from rolling_correlation('bitcoin', 'ethereum', 'd1', '2024-01-01', '2024-06-01')")}';
`;

const figures = `count(change), tidemark.ratio(avg(change)), tidemark.ratio(stddev_samp(change)),
         tidemark.ratio(count(*) filter (where change > 0)::numeric / nullif(count(change), 0)),
         public.coverage_share(series, interval_name, from_time, to_time)`;
const columns = 'observations bigint, mean_return numeric, deviation numeric, share_up numeric, coverage numeric';

/**
 * Mean returns by hour of the day and by day of the week, UTC. A candle's return belongs to its own period.
 * An asset's price is of one moment, so the return up to it belongs to the period that ends there; a d1 price is
 * the mean of its day.
 */
export const seasonality = `
create or replace function tidemark.changes_by_start(series text, interval_name text, from_time timestamptz, to_time timestamptz)
returns table (start timestamp, change numeric)
language sql stable parallel safe as $$
  select case when series like '%/%' or interval_name = 'd1' then time
              else time - tidemark.interval_length(interval_name) end at time zone 'UTC',
         simple_return
  from public.returns(series, interval_name, from_time, to_time)
$$;
comment on function tidemark.changes_by_start is
  'Internal: simple returns with the start of the period in which each happened, in UTC.';

create or replace function public.seasonality_by_hour(series text, interval_name text default 'h1', ${ranged})
returns table (hour integer, ${columns})
language sql stable parallel safe as $$
  select extract(hour from start)::integer as hour, ${figures}
  from tidemark.changes_by_start(series, interval_name, from_time, to_time)
  where change is not null
  group by 1 order by 1
$$;
comment on function public.seasonality_by_hour is
  'Simple returns by the hour of the day (UTC) in which they happened: how many, their mean, their deviation, and the share above zero.${example("select * from seasonality_by_hour('binance bitcoin/tether', 'h1', '2024-03-01', '2024-06-01')")}';

create or replace function public.seasonality_by_weekday(series text, interval_name text default 'd1', ${ranged})
returns table (weekday integer, name text, ${columns})
language sql stable parallel safe as $$
  select extract(isodow from start)::integer as weekday, to_char(start, 'FMDay'), ${figures}
  from tidemark.changes_by_start(series, interval_name, from_time, to_time)
  where change is not null
  group by 1, 2 order by 1
$$;
comment on function public.seasonality_by_weekday is
  'Simple returns by the day of the week (UTC; 1 is Monday) in which they happened.${example("select * from seasonality_by_weekday('bitcoin', 'd1', '2024-01-01', '2024-06-01')")}';
`;
