-- Candles and prices of a range, with the covered share of each period; and candles by name.

--: function tidemark.stored_or_zero(text, text, text, text)
-- Derived candles have the id 0. Immutable as tidemark.series_id is.
create or replace function tidemark.stored_or_zero(exchange text, base text, quote text, interval_name text)
returns integer
language plpgsql immutable parallel safe cost 100000 as $$
declare
  found_id integer;
  line record;
begin
  -- Most calls need nothing else of the series, such as its coverage.
  select s.id into found_id from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote
    and s.interval = interval_name and (s.untracked_at is null or s.points > 0);
  if found then return found_id; end if;
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  return case when line.derived_from is null then line.series_id else 0 end;
end $$;
comment on function tidemark.stored_or_zero is
  'Internal: the id of a stored series of a market; 0 where its candles are derived.';

--: function tidemark.ohlcv_statement(text, text, text, text, timestamptz, timestamptz, boolean)
create or replace function tidemark.ohlcv_statement(exchange text, base text, quote text, interval_name text,
  from_time timestamptz, to_time timestamptz, gap_fill boolean) returns text
language plpgsql stable parallel safe as $$
declare
  line record;
  asked record;
begin
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.since, asked.ending, asked.closed);
  return format('select time, open, high, low, close, volume, filled, %L::text as derived_from, coverage
                 from (%s) line', line.derived_from,
    tidemark.line_statement(line.relation, line.series_id, '{open,high,low,close,volume}', line.period, line.covered,
      asked.first, asked.ending, asked.closed, gap_fill));
end $$;
comment on function tidemark.ohlcv_statement is
  'Internal: the statement of ohlcv.';

--: function public.ohlcv(text, text, text, text, timestamptz, timestamptz, boolean)
create or replace function public.ohlcv(exchange text, base text, quote text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, open numeric, high numeric, low numeric, close numeric, volume numeric,
               filled boolean, derived_from text, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
begin
  return query execute tidemark.ohlcv_statement(exchange, base, quote, interval_name, from_time, to_time, gap_fill);
end $$;
comment on function public.ohlcv is
  'Candles of a market whose periods start in [from_time, to_time), in order; intervals that are not tracked '
  'follow from finer ones (derived_from). Coverage is the known share of the period; a period of which too little '
  'is known is a row of nulls. With gap_fill, periods without trades repeat the last close.
Example: select * from ohlcv(''binance'', ''bitcoin'', ''tether'', ''h1'', ''2024-03-01'', ''2024-03-02'')';

--: function tidemark.prices_statement(text, text, timestamptz, timestamptz, boolean)
create or replace function tidemark.prices_statement(series text, interval_name text, from_time timestamptz,
  to_time timestamptz, gap_fill boolean) returns text
language plpgsql stable parallel safe as $$
declare
  line record;
  asked record;
  price text;
begin
  select * into line from tidemark.line_of(series, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.since, asked.ending, asked.closed);
  price := case when line.is_market then 'close' else 'price_usd' end;
  return format('select time, %I as price, filled, coverage from (%s) line', price,
    tidemark.line_statement(line.relation, line.series_id, array[price], line.period, line.covered,
      asked.first, asked.ending, asked.closed, gap_fill));
end $$;
comment on function tidemark.prices_statement is
  'Internal: the statement of prices.';

--: function public.prices(text, text, timestamptz, timestamptz, boolean)
create or replace function public.prices(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, price numeric, filled boolean, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
begin
  return query execute tidemark.prices_statement(series, interval_name, from_time, to_time, gap_fill);
end $$;
comment on function public.prices is
  'Prices of a series in order of time: the closes of a market (''binance bitcoin/tether'', in its quote), or the '
  'history of an asset (''bitcoin'', in USD). What the other functions of a price build on.
Example: select * from prices(''binance bitcoin/tether'', ''d1'', ''2024-03-01'', ''2024-03-08'')';

--: function public.price_history(text, text, timestamptz, timestamptz, boolean)
create or replace function public.price_history(asset text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, gap_fill boolean default false)
returns table ("time" timestamptz, price_usd numeric, filled boolean, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
begin
  if asset like '%/%' then perform tidemark.asset_line(asset, interval_name); end if;
  return query execute tidemark.prices_statement(asset, interval_name, from_time, to_time, gap_fill);
end $$;
comment on function public.price_history is
  'Price history of an asset, USD, in order of time; for d1 the mean over the UTC day. Filled and coverage as in '
  'ohlcv.
Example: select * from price_history(''bitcoin'', ''d1'', ''2024-03-01'', ''2024-03-08'')';

--: function public.coverage_share(text, text, timestamptz, timestamptz)
create or replace function public.coverage_share(series text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null) returns numeric
language plpgsql stable parallel safe as $$
declare
  line record;
  asked record;
begin
  select * into line from tidemark.line_of(series, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  if asked.closed <= asked.since then return null; end if;
  return tidemark.share_covered(line.covered, tstzrange(asked.since, asked.closed));
end $$;
comment on function public.coverage_share is
  'Which share of the closed periods of a range is covered, from 0 to 1; null when none of them has ended.
Example: select coverage_share(''binance bitcoin/tether'', ''h1'', ''2024-03-01'', ''2024-04-01'')';
