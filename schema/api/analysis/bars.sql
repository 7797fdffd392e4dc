-- Bars that close by what was traded, and not by time.

--: function tidemark.bars(text, text, text, boolean, numeric, text, timestamptz, timestamptz)
-- A candle that is not fully covered is not known: it ends a bar as a gap does.
create or replace function tidemark.bars(exchange text, base text, quote text, by_value boolean, threshold numeric,
  interval_name text, from_time timestamptz, to_time timestamptz)
returns table ("time" timestamptz, ends timestamptz, open numeric, high numeric, low numeric, close numeric,
               volume numeric, quote_volume numeric, candles bigint, complete boolean)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_variable
declare
  period interval := tidemark.interval_length(interval_name);
  candle record;
begin
  perform tidemark.assert_given('threshold', threshold is null);
  if not (threshold > 0 and threshold < 'infinity') then
    raise exception 'the threshold of a bar is above 0, and not %', threshold using errcode = '22023';
  end if;
  complete := false;
  candles := 0;
  for candle in
    execute tidemark.ohlcv_statement(exchange, base, quote, interval_name, from_time, to_time, false)
  loop
    if candle.coverage < 1 then
      if candles > 0 then return next; end if;
      candles := 0;
      continue;
    end if;
    if candles = 0 then
      time := candle.time;
      open := candle.open;
      high := candle.high;
      low := candle.low;
      volume := 0;
      quote_volume := 0;
    end if;
    high := greatest(high, candle.high);
    low := least(low, candle.low);
    close := candle.close;
    volume := volume + candle.volume;
    -- Three times the value, which is exact.
    quote_volume := quote_volume + (candle.high + candle.low + candle.close) * candle.volume;
    candles := candles + 1;
    ends := candle.time + period;
    if by_value and quote_volume >= 3 * threshold or not by_value and volume >= threshold then
      complete := true;
      return next;
      complete := false;
      candles := 0;
    end if;
  end loop;
  if candles > 0 then return next; end if;
end $$;
comment on function tidemark.bars is
  'Internal: bars that close when their volume or three times their value passes a threshold; quote_volume is three '
  'times the value.';

--: function public.volume_bars(text, text, text, numeric, text, timestamptz, timestamptz)
create or replace function public.volume_bars(exchange text, base text, quote text, threshold numeric,
  interval_name text default 'm1', from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, ends timestamptz, open numeric, high numeric, low numeric, close numeric,
               volume numeric, quote_volume numeric, candles bigint, complete boolean)
language sql stable parallel safe as $$
  select time, ends, open, high, low, close, volume, tidemark.price_figure((quote_volume + tidemark.fine()) / 3),
         candles, complete
  from tidemark.bars(exchange, base, quote, false, threshold, interval_name, from_time, to_time)
$$;
comment on function public.volume_bars is
  'Volume bars of a market: each closes with the first candle with which its volume, in the base asset, is the '
  'threshold or more. A gap ends a bar that is not complete, and so does the end of the range.
Example: select * from volume_bars(''binance'', ''bitcoin'', ''tether'', 5000, ''h1'', ''2024-03-01'', ''2024-03-08'')';

--: function public.dollar_bars(text, text, text, numeric, text, timestamptz, timestamptz)
create or replace function public.dollar_bars(exchange text, base text, quote text, threshold numeric,
  interval_name text default 'm1', from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, ends timestamptz, open numeric, high numeric, low numeric, close numeric,
               volume numeric, quote_volume numeric, candles bigint, complete boolean)
language sql stable parallel safe as $$
  select time, ends, open, high, low, close, volume, tidemark.price_figure((quote_volume + tidemark.fine()) / 3),
         candles, complete
  from tidemark.bars(exchange, base, quote, true, threshold, interval_name, from_time, to_time)
$$;
comment on function public.dollar_bars is
  'Dollar bars of a market: each closes with the first candle with which its value, in the quote, is the threshold or '
  'more. The value of a candle is its volume at its typical price, (high + low + close) / 3. Otherwise as volume_bars.
Example: select * from dollar_bars(''binance'', ''bitcoin'', ''tether'', 100000000, ''h1'', ''2024-03-01'', '
  '''2024-03-08'')';
