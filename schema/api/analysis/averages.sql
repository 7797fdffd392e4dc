-- Moving averages, RSI and Bollinger bands, by the conventions of TA-Lib; and the volume-weighted average price.
--
-- ema and rsi are aggregates too, to be used over any column: ema(close, 20) over (order by time). A null restarts
-- them. Their state has far more digits than they show.

--: function tidemark.running_decimals(numeric)
-- 32 decimals, and no fewer than 25 figures. PostgreSQL divides to at most 1000 decimals.
create or replace function tidemark.running_decimals(size numeric) returns integer
language sql immutable parallel safe as $$
  select case when abs(size) >= 1e-8 or size = 0 then 32 else least(25 + tidemark.zeros_after_point(size), 1000) end
$$;
comment on function tidemark.running_decimals is
  'Internal: the decimals to which the state of an average is rounded, by its size.';

--: function tidemark.ema_step(numeric[], numeric, integer)
-- The state: number of values, their sum (their average once there are enough), and the periods.
create or replace function tidemark.ema_step(state numeric[], value numeric, periods integer) returns numeric[]
language plpgsql immutable parallel safe as $$
declare
  total numeric;
  parts integer := periods;
  decimals integer;
begin
  if value is null then return null; end if;
  if state is null then state := array[0, 0, periods]; end if;
  if state[1] < tidemark.count_of(periods, 1) then
    state[1] := state[1] + 1;
    total := state[2] + value;
    if state[1] < periods then return array[state[1], total, periods]; end if;
  else
    total := state[2] * (periods - 1) + value * 2;
    parts := periods + 1;
  end if;
  decimals := tidemark.running_decimals(total);
  return array[state[1], round(round(total, decimals) / parts, decimals), periods];
end $$;
comment on function tidemark.ema_step is
  'Internal: the state of the aggregate ema after one more value.';

--: function tidemark.ema_value(numeric[])
create or replace function tidemark.ema_value(state numeric[]) returns numeric
language sql immutable parallel safe as $$
  select case when state[1] = state[3] then tidemark.price_figure(state[2]) end
$$;
comment on function tidemark.ema_value is
  'Internal: the result of the aggregate ema from its state.';

--: aggregate public.ema(numeric, integer)
create or replace aggregate public.ema(value numeric, periods integer) (
  sfunc = tidemark.ema_step, stype = numeric[], finalfunc = tidemark.ema_value, parallel = safe
);
comment on aggregate public.ema(numeric, integer) is
  'Exponential moving average, as a window function: ema(close, 20) over (order by time). Begins with the mean of '
  'the first periods values; a null starts it anew.
Example: select time, ema(close, 20) over (order by time) from ohlcv(''binance'', ''bitcoin'', ''tether'', ''d1'', '
  '''2024-03-01'', ''2024-06-01'')';

--: function tidemark.rsi_step(numeric[], numeric, integer)
-- The state: number of changes, mean gain and mean loss (sums at first), and the last value.
create or replace function tidemark.rsi_step(state numeric[], value numeric, periods integer) returns numeric[]
language plpgsql immutable parallel safe as $$
declare
  seen numeric := state[1];
  gain numeric;
  loss numeric;
  decimals integer;
begin
  if value is null then return null; end if;
  if state is null then return array[0, 0, 0, value, periods]; end if;
  gain := greatest(value - state[4], 0);
  loss := greatest(state[4] - value, 0);
  if seen < tidemark.count_of(periods, 1) then
    seen := seen + 1;
    gain := state[2] + gain;
    loss := state[3] + loss;
    if seen < periods then return array[seen, gain, loss, value, periods]; end if;
  else
    gain := state[2] * (periods - 1) + gain;
    loss := state[3] * (periods - 1) + loss;
  end if;
  decimals := tidemark.running_decimals(gain + loss);
  return array[seen, round(round(gain, decimals) / periods, decimals), round(round(loss, decimals) / periods, decimals),
               value, periods];
end $$;
comment on function tidemark.rsi_step is
  'Internal: the state of the aggregate rsi after one more value.';

--: function tidemark.rsi_value(numeric[])
create or replace function tidemark.rsi_value(state numeric[]) returns numeric
language sql immutable parallel safe as $$
  select case when state[1] = state[5] and state[2] + state[3] > 0
              then round(100 * state[2] / (state[2] + state[3]), 16) end
$$;
comment on function tidemark.rsi_value is
  'Internal: the result of the aggregate rsi from its state.';

--: aggregate public.rsi(numeric, integer)
create or replace aggregate public.rsi(value numeric, periods integer) (
  sfunc = tidemark.rsi_step, stype = numeric[], finalfunc = tidemark.rsi_value, parallel = safe
);
comment on aggregate public.rsi(numeric, integer) is
  'Relative strength index by Wilder, as a window function: rsi(close, 14) over (order by time). Begins with the '
  'mean gain and loss of the first periods changes; a null starts it anew; null while nothing moved.
Example: select time, rsi(close, 14) over (order by time) from ohlcv(''binance'', ''bitcoin'', ''tether'', ''d1'', '
  '''2024-03-01'', ''2024-06-01'')';

--: function public.sma(text, text, timestamptz, timestamptz, integer, boolean)
create or replace function public.sma(series text, interval_name text default 'd1', from_time timestamptz default null,
  to_time timestamptz default null, periods integer default 20, gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, sma numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price,
         case when count(price) over w = periods then tidemark.price_figure(avg(price + tidemark.fine()) over w) end,
         coverage
  from public.prices(series, interval_name, from_time, to_time, gap_fill)
  window w as (order by time rows between tidemark.count_of(periods, 1) - 1 preceding and current row)
  order by time
$$;
comment on function public.sma is
  'Simple moving average: the mean of the last periods prices; null until there are enough, and where one of them '
  'is missing.
Example: select * from sma(''bitcoin'', ''d1'', ''2024-03-01'', ''2024-06-01'', periods => 7)';

--: function public.ema(text, text, timestamptz, timestamptz, integer, boolean)
create or replace function public.ema(series text, interval_name text default 'd1', from_time timestamptz default null,
  to_time timestamptz default null, periods integer default 20, gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, ema numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, public.ema(price, tidemark.count_of(periods, 1)) over (order by time), coverage
  from public.prices(series, interval_name, from_time, to_time, gap_fill)
  order by time
$$;
comment on function public.ema(text, text, timestamptz, timestamptz, integer, boolean) is
  'Exponential moving average with the weight 2 / (periods + 1), which begins with the mean of the first periods '
  'prices; after a gap it begins anew.
Example: select * from ema(''bitcoin'', ''d1'', ''2024-03-01'', ''2024-06-01'')';

--: function public.rsi(text, text, timestamptz, timestamptz, integer, boolean)
create or replace function public.rsi(series text, interval_name text default 'd1', from_time timestamptz default null,
  to_time timestamptz default null, periods integer default 14, gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, rsi numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, public.rsi(price, tidemark.count_of(periods, 1)) over (order by time), coverage
  from public.prices(series, interval_name, from_time, to_time, gap_fill)
  order by time
$$;
comment on function public.rsi(text, text, timestamptz, timestamptz, integer, boolean) is
  'Relative strength index by Wilder, 0 to 100, which begins with the mean gain and loss of the first periods '
  'changes; after a gap it begins anew; null while nothing moved.
Example: select * from rsi(''bitcoin'', ''d1'', ''2024-03-01'', ''2024-06-01'')';

--: function tidemark.width_of(numeric)
create or replace function tidemark.width_of(deviations numeric) returns numeric
language plpgsql immutable parallel safe as $$
begin
  if deviations >= 0 and deviations < 'infinity' then return deviations; end if;
  perform tidemark.assert_given('deviations', deviations is null);
  raise exception 'deviations must be 0 or more, and is %', deviations using errcode = '22023';
end $$;
comment on function tidemark.width_of is
  'Internal: a number of deviations, refused where it is negative or infinite.';

--: function public.bollinger(text, text, timestamptz, timestamptz, integer, numeric, boolean)
create or replace function public.bollinger(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, periods integer default 20,
  deviations numeric default 2, gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, lower_band numeric, middle_band numeric, upper_band numeric,
               bandwidth numeric, percent_b numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, price, tidemark.price_figure(middle - reach), tidemark.price_figure(middle),
         tidemark.price_figure(middle + reach),
         case when middle > 0 then tidemark.ratio(2 * reach / middle) end,
         case when reach > 0 then tidemark.ratio((price - middle + reach) / (2 * reach)) end, coverage
  from (
    select time, price, coverage,
           case when count(price) over w = periods then avg(price + tidemark.fine()) over w end as middle,
           case when count(price) over w = periods
                then tidemark.width_of(deviations) * stddev_pop(price + tidemark.fine()) over w end as reach
    from public.prices(series, interval_name, from_time, to_time, gap_fill)
    window w as (order by time rows between tidemark.count_of(periods, 1) - 1 preceding and current row)
  ) bands
  order by time
$$;
comment on function public.bollinger is
  'Bollinger bands: the mean of the last periods prices, and deviations population standard deviations below and '
  'above it. bandwidth is (upper - lower) / middle, percent_b where the price lies: 0 on the lower band, 1 on the '
  'upper.
Example: select * from bollinger(''binance bitcoin/tether'', ''d1'', ''2024-03-01'', ''2024-06-01'')';

--: function tidemark.vwap_statement(text, text, text, text, timestamptz, timestamptz, text)
-- From the finest stored candles that cover the range best. A candle counts with its typical price, a third of high,
-- low and close together, so finer candles give a result nearer to the trades. Sums are exact, with one division at the
-- end.
create or replace function tidemark.vwap_statement(exchange text, base text, quote text, interval_name text,
  from_time timestamptz, to_time timestamptz, session text) returns text
language plpgsql stable parallel safe as $$
declare
  line record;
  asked record;
  source record;
  session_length interval;
begin
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  session_length := tidemark.interval_length(
    coalesce(session, case when line.period > interval '24 hours' then interval_name else 'd1' end));
  if mod(extract(epoch from session_length), extract(epoch from line.period)) <> 0 then
    raise exception 'a session of % is not a whole number of periods of %', session, interval_name
      using errcode = '22023';
  end if;
  select s.id, s.interval, k.covered, s.tracked into source
  from tidemark.series s cross join lateral (select tidemark.known_ranges(s.id, s.covered) as covered) k
  where s.dataset = 'candles' and s.exchange_id = $1 and s.base_id = $2 and s.quote_id = $3
    and extract(epoch from line.period) % extract(epoch from s.period) = 0
  order by tidemark.share_covered(k.covered, tstzrange(asked.first, greatest(asked.closed, asked.first))) desc, s.period
  limit 1;
  perform tidemark.tell_coverage(source.id, source.covered, source.tracked, asked.since, asked.ending, asked.closed);
  return format('select time,
      case when volume > 0 then tidemark.price_figure((turnover + tidemark.fine()) / (3 * volume)) end as vwap, volume,
      case when volume is not null and sum(volume) over w > 0
           then tidemark.price_figure((sum(turnover) over w + tidemark.fine()) / (3 * sum(volume) over w)) end
        as session_vwap,
      candles::bigint, %L::text as derived_from, coverage
    from (%s) buckets
    window w as (partition by date_bin(%L, time, tidemark.grid_origin()) order by time)
    order by time',
    source.interval,
    tidemark.line_statement(format('(
        select series_id, date_bin(%L, time, tidemark.grid_origin()) as time, sum(volume) as volume,
               sum((high + low + close) * volume) as turnover, count(*)::numeric as candles
        from tidemark.candle_points where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz
        group by 1, 2
      ) candles', line.period, source.id, asked.first, asked.ending),
      source.id, '{volume,turnover,candles}', line.period, source.covered,
      asked.first, asked.ending, asked.closed, false),
    session_length);
end $$;
comment on function tidemark.vwap_statement is
  'Internal: the statement of vwap.';

--: function public.vwap(text, text, text, text, timestamptz, timestamptz, text)
create or replace function public.vwap(exchange text, base text, quote text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, session text default null)
returns table ("time" timestamptz, vwap numeric, volume numeric, session_vwap numeric, candles bigint,
               derived_from text, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
begin
  return query execute tidemark.vwap_statement(exchange, base, quote, interval_name, from_time, to_time,
                                               session);
end $$;
comment on function public.vwap is
  'Volume-weighted average price of each period, and since the beginning of its session (an interval that is a '
  'whole number of periods, UTC; by default the day, or the period where that is longer), from the finest stored '
  'candles that cover the range best (derived_from), each with its typical price (high + low + close) / 3.
Example: select * from vwap(''binance'', ''bitcoin'', ''tether'', ''h8'', ''2024-03-01'', ''2024-03-08'')';
