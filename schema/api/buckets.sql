-- Candles of any length: of minutes that divide no day, of calendar months, of the days of a time zone, and of
-- sessions. The buckets are listed first. Then the longest interval whose periods fit into all of them is read, stored
-- or derived: a year by months reads days, and not minutes. 2000-01-03 is a Monday, as of every grid.

--: function tidemark.first_at(timestamp, text)
-- Where clocks go back, PostgreSQL takes the second of two times; where they skip one, the offset before.
create or replace function tidemark.first_at(local_time timestamp, zone text) returns timestamptz
language plpgsql stable parallel safe as $$
declare
  later timestamptz := local_time at time zone zone;
  earlier timestamptz := later - ((later - interval '24 hours') at time zone zone - (local_time - interval '24 hours'));
  middle timestamptz;
begin
  if earlier at time zone zone = local_time then return earlier; end if;
  if later at time zone zone = local_time then return later; end if;
  earlier := later - interval '24 hours';
  while later - earlier > interval '1 second' loop
    middle := earlier + date_trunc('second', (later - earlier) / 2);
    if middle at time zone zone - middle at time zone 'UTC' = earlier at time zone zone - earlier at time zone 'UTC'
    then
      earlier := middle;
    else
      later := middle;
    end if;
  end loop;
  return later;
end $$;
comment on function tidemark.first_at is
  'Internal: the time at which clocks of a zone first show a local time, or a later one where they skip it.';

--: function tidemark.bucket_bounds(interval, text, time, time, timestamptz, timestamptz)
create or replace function tidemark.bucket_bounds(bucket interval, zone text, session_from time, session_to time,
  first timestamptz, ending timestamptz)
returns table (begins timestamptz, ends timestamptz)
language plpgsql stable parallel safe as $$
declare
  months integer := 12 * extract(year from bucket) + extract(month from bucket);
  days integer := extract(day from bucket);
  seconds numeric := extract(epoch from bucket - make_interval(months => months, days => days));
  since timestamp := date_trunc('day', first at time zone zone) - interval '1 day';
  until timestamp := ending at time zone zone;
  opens time := coalesce(session_from, '00:00');
  closes time := coalesce(session_to, session_from, '00:00');
begin
  perform tidemark.assert_given('zone', zone is null);
  perform tidemark.assert_given('session_from', session_from is null and session_to is not null);
  if num_nonnulls(nullif(months, 0), nullif(days, 0), nullif(seconds, 0)) <> 1 or least(months, days, seconds) < 0 then
    raise exception 'a bucket is a number of months, a number of days, or a time, not "%"', bucket
      using errcode = '22023', hint = 'such as ''7 minutes'', ''4 hours'', ''1 day'', ''1 month''';
  end if;
  if session_from is not null and (months > 0 or days > 1) then
    raise exception 'a bucket of sessions is at most one day, not "%"', bucket using errcode = '22023';
  end if;
  if months > 0 then
    return query
      select b.begins, b.ends
      from generate_series(div(12 * extract(year from since) + extract(month from since) - 1, months) * months,
                           12 * extract(year from until) + extract(month from until), months) month,
           lateral make_timestamp(div(month, 12)::integer, mod(month, 12)::integer + 1, 1, 0, 0, 0) at,
           lateral (select tidemark.first_at(at, zone), tidemark.first_at(at + bucket, zone)) b (begins, ends)
      where b.begins >= first and b.begins < ending;
  elsif days > 0 and session_from is null then
    return query
      select b.begins, b.ends
      from generate_series(date_bin(bucket, since, timestamp '2000-01-03'), until, bucket) at,
           lateral (select tidemark.first_at(at, zone), tidemark.first_at(at + bucket, zone)) b (begins, ends)
      -- A day that a zone skips has no length.
      where b.begins >= first and b.begins < ending and b.begins < b.ends;
  elsif session_from is null and mod(86400, seconds) <> 0 then
    return query
      select at, at + bucket
      from generate_series(
             date_bin(bucket, first - interval '1 microsecond', timestamp '2000-01-03' at time zone zone) + bucket,
             ending - interval '1 microsecond', bucket) at;
  else
    return query
      select at, least(at + step, session.ends)
      from generate_series(since, until, interval '1 day') day
      cross join lateral (
        select tidemark.first_at(day + opens, zone) as begins,
               tidemark.first_at(day + closes + case when closes <= opens then interval '1 day' else '0' end, zone)
                 as ends
      ) session
      -- In seconds: a difference of times may have days, whose length depends on the time zone of the caller. Null, and
      -- so no bucket, where clocks skip the whole session.
      cross join lateral (
        select case when session.begins < session.ends then
                 case when days > 0 then make_interval(secs => extract(epoch from session.ends - session.begins))
                      else bucket end end as step
      ) length
      cross join lateral generate_series(session.begins, session.ends - interval '1 microsecond', step) at
      where at >= first and at < ending;
  end if;
end $$;
comment on function tidemark.bucket_bounds is
  'Internal: the buckets that begin in [first, ending).';

--: function tidemark.bucket_line(text, text, text, timestamptz[], timestamptz[])
-- Of the intervals of a market whose periods fit into all of the buckets, the longest that covers the most of them.
create or replace function tidemark.bucket_line(exchange text, base text, quote text, begins timestamptz[],
  ends timestamptz[], out interval_name text, out series_id integer, out relation text, out period interval,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
begin
  select i.interval_name, l.series_id, l.relation, l.period, l.covered, l.tracked
  into interval_name, series_id, relation, period, covered, tracked
  from public.intervals_of(format('%s %s/%s', exchange, base, quote)) i
  cross join lateral tidemark.market_line(exchange, base, quote, i.interval_name) l
  where not exists (
    select from unnest(begins || ends) at where at <> date_bin(i.period, at, tidemark.grid_origin())
  )
  order by tidemark.share_covered(l.covered, tstzrange(begins[1], greatest(ends[cardinality(ends)], begins[1])))
             desc nulls last, i.period desc
  limit 1;
  if series_id is null then
    raise exception 'no tracked interval of % %/% fits into these buckets', exchange, base, quote
      using errcode = '22023', hint = format('tracked: %s; a shorter one is tracked by tidemark backfill', (
        select string_agg(i.interval_name, ', ' order by i.period)
        from public.intervals_of(format('%s %s/%s', exchange, base, quote)) i where i.derived_from is null));
  end if;
end $$;
comment on function tidemark.bucket_line is
  'Internal: the interval of a market that is read for some buckets.';

--: function public.ohlcv_by(text, text, text, interval, timestamptz, timestamptz, text, time, time)
create or replace function public.ohlcv_by(exchange text, base text, quote text, bucket interval,
  from_time timestamptz default null, to_time timestamptz default null, zone text default 'UTC',
  session_from time default null, session_to time default null)
returns table ("time" timestamptz, ends timestamptz, open numeric, high numeric, low numeric, close numeric,
               volume numeric, derived_from text, points bigint, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  own record;
  wanted tstzrange;
  asked record;
  line record;
  begin_times timestamptz[];
  end_times timestamptz[];
  until timestamptz;
  most constant integer := 5000000;
begin
  select tstzrange(min(lower(s.tracked)), nullif(max(coalesce(upper(s.tracked), 'infinity')), 'infinity')) into wanted
  from tidemark.series s
  where s.dataset = 'candles' and (s.exchange_id, s.base_id, s.quote_id) = ($1, $2, $3)
    and (s.untracked_at is null or s.points > 0);
  if lower(wanted) is null then
    select * into own from tidemark.own_names(exchange, base, quote);
    if own.base_id is null then perform tidemark.refuse_market(exchange, base, quote, 'm1'); end if;
    return query select * from public.ohlcv_by($1, own.base_id, own.quote_id, $4, $5, $6, $7, $8, $9);
    return;
  end if;
  perform tidemark.assert_given('bucket', bucket is null);
  select * into asked from tidemark.asked_range(interval '1 minute', wanted, from_time, to_time);
  if bucket > interval '0' and extract(epoch from asked.ending - asked.first) / extract(epoch from bucket) > most then
    raise exception 'the range from % to % has more than % buckets', asked.first, asked.ending, most
      using errcode = '22023', hint = 'ask for a shorter range, or longer buckets';
  end if;
  -- First the buckets of a day or two: what fits into none of them is refused before all are listed.
  foreach until in array array[least(asked.ending, asked.first + greatest(bucket, interval '1 day')), asked.ending] loop
    select array_agg(b.begins order by b.begins), array_agg(b.ends order by b.begins) into begin_times, end_times
    from tidemark.bucket_bounds(
      bucket, zone, session_from, session_to,
      -- A day more: buckets are counted in local time. At most one bucket contains the beginning.
      case when isfinite(from_time) then asked.first else asked.first - bucket - interval '1 day' end, until) b
    where b.begins >= asked.first or b.ends > asked.first;
    if begin_times is not null then
      select * into line from tidemark.bucket_line(exchange, base, quote, begin_times, end_times);
      -- Not where a longer interval begins, which does not fit.
      if isfinite(from_time) is not true then asked.first := greatest(asked.first, lower(line.tracked)); end if;
    end if;
  end loop;
  if begin_times is null then return; end if;
  asked.first := begin_times[1];
  asked.ending := end_times[cardinality(end_times)];
  asked.closed := least(asked.ending, now() - tidemark.grace());
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked,
                                 greatest(asked.first, asked.since), asked.ending,
                                 date_bin(line.period, asked.closed, tidemark.grid_origin()));
  -- A point after the end of its bucket has no place. A condition instead would be tested on each point of a view.
  return query execute format('
    with candles as (
      select case when time < ($2)[place] then place end as place, %s, count(*) as points
      from (select *, width_bucket(time, $1) as place from %s
            where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz) placed
      group by 1
    ), known as (
      select b.begins, b.ends, c.*, tidemark.share_covered(%L::tstzmultirange, tstzrange(b.begins, b.ends)) as coverage
      from unnest($1, $2) with ordinality b (begins, ends, place) left join candles c using (place)
    )
    select begins, ends, open, high, low, close, volume, %L::text, coalesce(points, 0), coverage from known
    where points is not null or (coverage < 1 and ends <= %L::timestamptz) order by begins',
    tidemark.grouped_candle(),
    tidemark.source_of(line.relation, line.series_id, line.period, asked.first, asked.ending),
    line.series_id, asked.first, asked.ending, line.covered, line.interval_name, asked.closed)
    using begin_times, end_times;
end $$;
comment on function public.ohlcv_by is
  'Candles of a market in buckets of any length that begin in [from_time, to_time), or from the one in which the '
  'data begin: minutes and hours, days and months of a time zone, and sessions of a day. Derived from the longest '
  'interval that fits (derived_from); coverage as in ohlcv.
Example: select * from ohlcv_by(''binance'', ''bitcoin'', ''tether'', ''1 day'', ''2024-03-08'', ''2024-03-12'', '
  'zone => ''America/New_York'')';

--: function public.ohlcv_in(text, text, text, text, text, timestamptz, timestamptz, interval)
create or replace function public.ohlcv_in(exchange text, base text, quote text, currency text,
  interval_name text default 'd1', from_time timestamptz default null, to_time timestamptz default null,
  max_age interval default null)
returns table ("time" timestamptz, open numeric, high numeric, low numeric, close numeric, volume numeric,
               open_rate_time timestamptz, close_rate_time timestamptz, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  source_name text;
  target integer;
  source integer;
  oldest interval;
begin
  if max_age < interval '0' then
    raise exception 'max_age is %, and cannot be negative', max_age using errcode = '22023';
  end if;
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  select split_part(s.quote_id, ':', 1) into source_name from tidemark.series s where s.id = line.series_id;
  if tidemark.is_currency(currency, source_name) then
    return query select c.time, c.open, c.high, c.low, c.close, c.volume, null::timestamptz, null::timestamptz,
                        c.coverage
                 from public.ohlcv(exchange, base, quote, interval_name, from_time, to_time) c;
    return;
  end if;
  target := tidemark.currency_id(currency);
  source := tidemark.currency_id(source_name);
  oldest := coalesce(max_age, line.period);
  return query
    with candles as materialized (
      select time, open, high, low, close, volume, coverage
      from public.ohlcv(exchange, base, quote, interval_name, from_time, to_time)
    ), rates as materialized (
      select time, source_rate, rate from tidemark.rates_around(source, target, asked.first, asked.ending)
    ), latest as (
      select candle, kind, max(at) over (order by moment, kind rows unbounded preceding) as at from (
        select time as moment, 1 as kind, time as candle, null::timestamptz as at from candles
        union all select time + line.period, 2, time, null from candles
        union all select time, 0, null, time from rates
      ) merged
    ), times as (
      select candle, max(at) filter (where kind = 1) as opened, max(at) filter (where kind = 2) as closed
      from latest where kind > 0 group by candle
    ), factors as (
      select t.candle, t.opened, t.closed,
             case when t.candle - t.opened <= oldest then o.source_rate end as open_source, o.rate as open_rate,
             case when t.candle + line.period - t.closed <= oldest then c.source_rate end as close_source,
             c.rate as close_rate
      from times t left join rates o on o.time = t.opened left join rates c on c.time = t.closed
    ), converted as (
      select c.*, f.*,
             tidemark.price_figure((c.open * open_source + tidemark.fine()) / nullif(open_rate, 0)) as first,
             tidemark.price_figure((c.close * close_source + tidemark.fine()) / nullif(close_rate, 0)) as last,
             tidemark.price_figure((c.high * open_source + tidemark.fine()) / nullif(open_rate, 0)) as high_by_open,
             tidemark.price_figure((c.high * close_source + tidemark.fine()) / nullif(close_rate, 0)) as high_by_close,
             tidemark.price_figure((c.low * open_source + tidemark.fine()) / nullif(open_rate, 0)) as low_by_open,
             tidemark.price_figure((c.low * close_source + tidemark.fine()) / nullif(close_rate, 0)) as low_by_close
      from candles c join factors f on f.candle = c.time
    )
    select time, first,
           case when num_nulls(high_by_open, high_by_close) = 0 then greatest(high_by_open, high_by_close) end,
           case when num_nulls(low_by_open, low_by_close) = 0 then least(low_by_open, low_by_close) end,
           last, volume, opened, closed, coverage
    from converted order by time;
end $$;
comment on function public.ohlcv_in is
  'Candles of a market in a currency (its id or symbol): open by the last rate at or before the start of the '
  'period, close by that at its end, high by the higher and low by the lower of the two. Null where a rate is '
  'older than max_age, by default a period. Volume stays in the base asset.
Example: select * from ohlcv_in(''binance'', ''bitcoin'', ''tether'', ''euro'', ''d1'', ''2024-03-01'', '
  '''2024-03-08'', max_age => ''2 days'')';
