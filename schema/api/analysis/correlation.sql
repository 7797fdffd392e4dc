-- Correlation, covariance and beta of log returns: of two series, over a whole range and over the last periods, and of
-- many. A period without a known price breaks the chain: a return that needs it is none.

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
    where time < tidemark.open_since(interval_name)
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

--: function tidemark.return_sums(text[], text, timestamptz, timestamptz, boolean)
-- Of each pair, each series with itself too. Returns are between neighbours of the times that both have (pairwise), or
-- that all have, and none is across a gap: so they are of the same periods. A return is a difference of logarithms,
-- which are taken once for each price.
create or replace function tidemark.return_sums(series text[], interval_name text, from_time timestamptz,
  to_time timestamptz, pairwise boolean)
returns table (name text, other text, n bigint, sx numeric, sy numeric, sxx numeric, syy numeric, sxy numeric)
language sql stable parallel safe as $$
  with prices as materialized (
    select time, array_position(series, name) as place, price is not null as is_known,
           price is null and coverage < 1 as is_gap, case when price > 0 then ln(price + tidemark.fine()) end as level
    from public.aligned(series, interval_name, from_time, to_time)
    where time < tidemark.open_since(interval_name) and tidemark.assert_given('pairwise', pairwise is null)
  ), times as (
    select time, bool_and(level is not null) as is_complete from prices
    where not pairwise group by time
    having bool_and(is_known) or bool_or(is_gap)
  ), grid as materialized (
    select time, place, is_known, is_gap, level from prices where pairwise
    union all
    select time, place, is_complete, not is_complete, case when is_complete then level end
    from prices join times using (time)
  ), changes as (
    select a.place, b.place as other, a.level - lag(a.level) over w as x, b.level - lag(b.level) over w as y
    from grid a join grid b using (time)
    where a.place <= b.place and (a.is_known and b.is_known or a.is_gap or b.is_gap)
    window w as (partition by a.place, b.place order by time)
  )
  select series[place], series[other], count(x + y), sum(x) filter (where y is not null),
         sum(y) filter (where x is not null), sum(x * x) filter (where y is not null),
         sum(y * y) filter (where x is not null), sum(x * y)
  from changes group by place, other order by place, other
$$;
comment on function tidemark.return_sums is
  'Internal: sums of the log returns of each pair of several series.';

--: function tidemark.covariance_of(bigint, numeric, numeric, numeric)
create or replace function tidemark.covariance_of(n bigint, sx numeric, sy numeric, sxy numeric)
returns numeric language sql immutable parallel safe as $$
  select case when n > 1 then tidemark.price_figure((n * sxy - sx * sy + tidemark.fine()) / (n * (n - 1))) end
$$;
comment on function tidemark.covariance_of is
  'Internal: the sample covariance of n pairs of x and y from their sums.';

--: function public.correlations(text[], text, timestamptz, timestamptz, boolean)
create or replace function public.correlations(series text[], interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, pairwise boolean default true)
returns table (name text, other text, correlation numeric, covariance numeric, beta numeric, observations bigint,
               coverage numeric, other_coverage numeric)
language sql stable parallel safe as $$
  with shares as materialized (
    select n as name, public.coverage_share(n, interval_name, from_time, to_time) as share
    from (select distinct n from unnest(series) n) names
  )
  select s.name, s.other, tidemark.correlation_of(n, sx, sy, sxx, syy, sxy),
         tidemark.covariance_of(n, sx, sy, sxy), tidemark.beta_of(n, sx, sy, syy, sxy), n, own.share, its.share
  from tidemark.return_sums(series, interval_name, from_time, to_time, pairwise) s
  join shares own on own.name = s.name join shares its on its.name = s.other
  where s.name <> s.other and tidemark.assert_series(series)
  order by array_position(series, s.name), array_position(series, s.other)
$$;
comment on function public.correlations is
  'Correlation, sample covariance and beta of the log returns of each pair of several series: at the times that both '
  'have (pairwise complete), or that all have (pairwise => false).
Example: select * from correlations(array[''bitcoin'', ''ethereum''], ''d1'', ''2024-01-01'', ''2024-06-01'')';

--: function public.correlation_matrix(text[], text, timestamptz, timestamptz, boolean)
create or replace function public.correlation_matrix(series text[], interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, pairwise boolean default true)
returns table (name text, correlations numeric[], covariances numeric[], observations bigint[], coverage numeric)
language sql stable parallel safe as $$
  with sums as materialized (
    select * from tidemark.return_sums(series, interval_name, from_time, to_time, pairwise)
  ), cells as (
    select name, other, n, tidemark.correlation_of(n, sx, sy, sxx, syy, sxy) as correlation,
           tidemark.covariance_of(n, sx, sy, sxy) as covariance
    from (select name, other, n, sx, sy, sxx, syy, sxy from sums
          union all select other, name, n, sy, sx, syy, sxx, sxy from sums where name <> other) both_ways
  )
  select name, array_agg(correlation order by array_position(series, other)),
         array_agg(covariance order by array_position(series, other)),
         array_agg(n order by array_position(series, other)),
         public.coverage_share(name, interval_name, from_time, to_time)
  from cells group by name order by array_position(series, name)
$$;
comment on function public.correlation_matrix is
  'Correlations and sample covariances of the log returns of several series as a matrix: a row for each, its arrays in '
  'the order of the rows, with the number of returns of each pair. At the times that both have, or that all have '
  '(pairwise => false).
Example: select * from correlation_matrix(array[''bitcoin'', ''ethereum''], ''d1'', ''2024-01-01'', ''2024-06-01'')';
