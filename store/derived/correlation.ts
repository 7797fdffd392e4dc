/** Correlation and beta of two series, by the log returns between times that both have. */

import { ranged } from './returns.ts';

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
               benchmark_coverage numeric)
language sql stable parallel safe as $$
  select time, price, benchmark_price, case when y is not null then x end, case when x is not null then y end,
         coverage, benchmark_coverage
  from (
    select time, a.price, b.price as benchmark_price, a.coverage, b.coverage as benchmark_coverage,
           tidemark.log_return(a.price, lag(a.price) over w) as x, tidemark.log_return(b.price, lag(b.price) over w) as y
    from public.prices(series, interval_name, from_time, to_time) a
    join public.prices(benchmark, interval_name, from_time, to_time) b using (time)
    window w as (order by time)
  ) pairs
$$;

create or replace function public.correlation(${parameters})
returns table (correlation numeric, beta numeric, observations bigint, coverage numeric, benchmark_coverage numeric)
language sql stable parallel safe as $$
  select ${correlationFigure}, ${betaFigure}, n,
         public.coverage_share(series, interval_name, from_time, to_time),
         public.coverage_share(benchmark, interval_name, from_time, to_time)
  from (select ${sums('')} from tidemark.paired_returns(series, benchmark, interval_name, from_time, to_time)) sums
$$;
comment on function public.correlation is
  'Correlation of the log returns of two series (each a market or an asset), and the beta of the first against the second, over a whole range.';

create or replace function public.rolling_correlation(${parameters}, periods integer default 30)
returns table ("time" timestamptz, price numeric, benchmark_price numeric, correlation numeric, beta numeric,
               coverage numeric, benchmark_coverage numeric)
language sql stable parallel safe as $$
  select time, price, benchmark_price, case when n = periods then ${correlationFigure} end,
         case when n = periods then ${betaFigure} end, coverage, benchmark_coverage
  from (
    select time, price, benchmark_price, coverage, benchmark_coverage, ${sums('over w')}
    from tidemark.paired_returns(series, benchmark, interval_name, from_time, to_time)
    window w as (order by time rows between tidemark.count_of(periods, 2) - 1 preceding and current row)
  ) sums
  order by time
$$;
comment on function public.rolling_correlation is
  'Correlation and beta over the last periods log returns, at each time that both series have.';
`;
