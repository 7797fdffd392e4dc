-- Figures of moving windows of time, which know what they lack.

--: function tidemark.window_length(interval, interval)
create or replace function tidemark.window_length(length interval, period interval) returns interval
language plpgsql immutable parallel safe as $$
declare
  seconds numeric := extract(epoch from length);
begin
  perform tidemark.assert_given('length', length is null);
  if extract(year from length) = 0 and extract(month from length) = 0 and seconds > 0
     and mod(seconds, extract(epoch from period)) = 0 then
    return make_interval(secs => seconds);
  end if;
  raise exception 'a window of % is no whole number of periods of %', length, period using errcode = '22023',
    hint = 'such as ''24 hours'' or ''7 days''; a month has no fixed length';
end $$;
comment on function tidemark.window_length is
  'Internal: the length of a window in seconds; one that is no whole number of periods is refused.';

--: function public.rolling(text, interval, text, timestamptz, timestamptz, text, numeric, boolean)
-- A window lies in two blocks of its length: its extremes are those from its beginning to the end of the first block,
-- and from there to its own end. A moving minimum takes PostgreSQL a whole window for each row.
create or replace function public.rolling(series text, length interval default '24 hours',
  interval_name text default 'h1', from_time timestamptz default null, to_time timestamptz default null,
  field text default 'close', minimum_coverage numeric default 1, gap_fill boolean default false)
returns table ("time" timestamptz, value numeric, mean numeric, sum numeric, stddev numeric, minimum numeric,
               maximum numeric, observations bigint, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  whole interval;
  since timestamptz;
  parts text[] := regexp_match(series, '^\s*(\S+)\s+(.+?)/(.+?)\s*$');
  source text := 'select time, price as value from public.prices($1, $2, $3, $4, $5)';
begin
  perform tidemark.assert_given('field', field is null);
  perform tidemark.assert_given('minimum_coverage', minimum_coverage is null);
  if minimum_coverage not between 0 and 1 then
    raise exception 'minimum_coverage must be from 0 to 1, and is %', minimum_coverage using errcode = '22023';
  end if;
  select * into line from tidemark.line_of(series, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  whole := tidemark.window_length(length, line.period);
  if field = any (array['open', 'high', 'low', 'volume']) and line.is_market then
    source := format('select time, %I as value from public.ohlcv(%L, %L, %L, $2, $3, $4, $5)',
                     field, parts[1], parts[2], parts[3]);
  elsif field <> 'close' then
    raise exception 'a series of % has no field "%"', case when line.is_market then 'a market' else 'an asset' end,
      field using errcode = '22023',
      hint = case when line.is_market then 'it has open, high, low, close and volume' else 'its price is close' end;
  end if;
  -- The first windows reach back to what is tracked.
  since := case when isfinite(from_time) then greatest(asked.first - whole + line.period,
                                                       least(asked.first, lower(line.tracked)))
                else from_time end;
  return query execute format('
    with rows as materialized (%1$s), blocks as (
      select time, value, date_bin(%2$L, time, tidemark.grid_origin()) as block from rows
    ), extremes as (
      select time, value, block, min(value) over up as low_so_far, max(value) over up as high_so_far,
             min(value) over down as low_from_here, max(value) over down as high_from_here
      from blocks window up as (partition by block order by time), down as (partition by block order by time desc)
    ), windows as (
      select time, value, avg(value + tidemark.fine()) over w as mean, sum(value) over w as sum,
             stddev_samp(value + tidemark.fine()) over w as stddev, count(value) over w as observations,
             case when first_value(block) over w < block then least(first_value(low_from_here) over w, low_so_far)
                  else low_so_far end as minimum,
             case when first_value(block) over w < block then greatest(first_value(high_from_here) over w, high_so_far)
                  else high_so_far end as maximum
      from extremes
      window w as (order by time range between %3$L::interval preceding and current row)
    ), known as (
      -- Otherwise the planner repeats the share for each figure.
      select *, tidemark.share_covered(%4$L::tstzmultirange,
                                       tstzrange(time - %3$L::interval, time + %5$L::interval)) as coverage
      from windows where time >= %6$L offset 0
    )
    select time, value, case when coverage >= $6 then tidemark.price_figure(mean) end,
           case when coverage >= $6 then sum end, case when coverage >= $6 then tidemark.price_figure(stddev) end,
           case when coverage >= $6 then minimum end, case when coverage >= $6 then maximum end, observations, coverage
    from known order by time',
    source, whole, whole - line.period, line.covered, line.period, asked.first)
    using series, interval_name, since, to_time, gap_fill, minimum_coverage;
end $$;
comment on function public.rolling is
  'Mean, sum, standard deviation (of a sample), minimum and maximum of a field over a window of time up to the end of '
  'each period: null where less than minimum_coverage of the window is known.
Example: select * from rolling(''binance bitcoin/tether'', ''24 hours'', ''h1'', ''2024-03-01'', ''2024-03-08'')';
