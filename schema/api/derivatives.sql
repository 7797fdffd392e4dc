-- Funding of perpetuals, and how far they trade from spot markets and the index.

--: function tidemark.mark_prices_at(integer, timestamptz[], interval)
-- Times and closes are merged once in order of time. A close is known at the end of its period.
create or replace function tidemark.mark_prices_at(series_id integer, times timestamptz[], max_age interval)
returns table ("time" timestamptz, price numeric, age interval)
language plpgsql stable parallel safe as $$
declare
  first timestamptz := (select min(t) - max_age from unnest(times) t);
  last timestamptz := (select max(t) from unnest(times) t);
  closes text;
begin
  select string_agg(format('select time + %1$L::interval, %1$L::interval, close from tidemark.mark_candle_points
                            where series_id = %2$s and time >= %3$L::timestamptz and time <= %4$L::timestamptz',
                           m.period, m.id, first - m.period, last - m.period), ' union all ')
  into closes
  from tidemark.series o join tidemark.series m using (exchange_id, base_id, quote_id)
  where o.id = mark_prices_at.series_id and m.dataset = 'mark_candles';
  if closes is null or last is null then return; end if;
  return query execute format('
    with merged (moment, period, close) as (
      select t, null::interval, null::numeric from unnest($1) t union all %s
    ), runs as (
      -- A run begins with a close. Of those that are known at once the one of the shortest period is the last.
      select *, count(close) over (order by moment, close is null, period desc) as run from merged
    ), known as (
      select close is null as is_time, moment, first_value(moment) over run_so_far as since,
             first_value(close) over run_so_far as price
      from runs window run_so_far as (partition by run order by moment, close is null)
    )
    select moment, price, moment - since from known where is_time and price is not null and moment - since <= $2',
    closes) using times, max_age;
end $$;
comment on function tidemark.mark_prices_at is
  'Internal: the last close of a mark candle that was known at each time, of the market of a series, and since how '
  'long; none that is older than max_age.';

--: function tidemark.tell_no_price(integer)
create or replace function tidemark.tell_no_price(series_id integer) returns void
language plpgsql stable parallel safe as $$
declare
  market text := (
    select format('%s %s/%s', s.exchange_id, s.base_id, s.quote_id) from tidemark.series s
    where s.id = $1 and not exists (
      select from tidemark.series m
      where (m.dataset, m.exchange_id, m.base_id, m.quote_id) = ('mark_candles', s.exchange_id, s.base_id, s.quote_id)
        and (m.untracked_at is null or m.points > 0)));
begin
  if market is not null then
    raise notice 'the mark price of % is not tracked', market using hint = 'tidemark backfill mark-candles adds it';
  end if;
end $$;
comment on function tidemark.tell_no_price is
  'Internal: raises a notice where the mark price of the market of a series is not tracked.';

--: function tidemark.funding_events(integer, tstzmultirange, timestamptz, timestamptz)
create or replace function tidemark.funding_events(series_id integer, covered tstzmultirange, first timestamptz,
  ending timestamptz)
returns table ("time" timestamptz, rate numeric, hours numeric, annual_rate numeric, mark_price numeric,
               coverage numeric)
language sql stable parallel safe as $$
  select p.time, p.rate, trim_scale(since.hours), trim_scale(p.rate * 8760 / nullif(since.hours, 0)), p.mark_price,
         tidemark.share_covered($2, tstzrange(coalesce(before.time, p.time), p.time + interval '1 hour'))
  from tidemark.funding_rate_points p
  left join lateral (
    select b.time from tidemark.funding_rate_points b
    where b.series_id = $1 and b.time < p.time and b.time > p.time - interval '1 day'
    order by b.time desc limit 1
  ) before on true
  cross join lateral (
    -- The distance says nothing where an event may be missing.
    select coalesce(p.interval_hours, case when $2 @> tstzrange(before.time, p.time)
                                           then extract(epoch from p.time - before.time) / 3600 end) as hours
  ) since
  where p.series_id = $1 and p.time >= $3 and p.time < $4
$$;
comment on function tidemark.funding_events is
  'Internal: the funding events of a series in a range, with the time since the one before.';

--: function public.funding(text, text, text, timestamptz, timestamptz)
create or replace function public.funding(exchange text, base text, quote text, from_time timestamptz default null,
  to_time timestamptz default null)
returns table ("time" timestamptz, rate numeric, hours numeric, annual_rate numeric, mark_price numeric,
               price_from text, price_age interval, payment numeric, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  is_inverse boolean;
begin
  select * into line from tidemark.dataset_line('funding_rates', exchange, base, quote, 'h1');
  is_inverse := (select s.settle_id = s.base_id from tidemark.series s where s.id = line.series_id);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.since, asked.ending,
                                 least(asked.closed, line.settled));
  return query
    with events as materialized (
      select * from tidemark.funding_events(line.series_id, line.covered, asked.first, asked.ending)
    )
    select e.time, e.rate, e.hours, e.annual_rate, coalesce(e.mark_price, m.price),
           case when e.mark_price is not null then 'source' when m.price is not null then 'mark_candles' end,
           m.age,
           -- An inverse contract is an amount of the quote, of which the mark price makes one of the base.
           case when is_inverse then round((e.rate + tidemark.fine()) / nullif(coalesce(e.mark_price, m.price), 0), 28)
                else e.rate * coalesce(e.mark_price, m.price) end,
           e.coverage
    from events e
    left join tidemark.mark_prices_at(line.series_id, array(select n.time from events n where n.mark_price is null),
                                      interval '2 hours') m on m.time = e.time
    order by e.time;
end $$;
comment on function public.funding is
  'Funding of a perpetual in [from_time, to_time): the rate of each event, hours since the one before, the rate of a '
  'year of 8,760 hours without compounding, the mark price, and what a long position of one base asset paid; of an '
  'inverse contract, which is settled in its base asset, what one of one unit of the quote paid in the base. The price '
  'is that of the event (price_from: source), else the close of a mark candle that had ended price_age before '
  '(mark_candles), at most two hours. Coverage is of the time since the event before.
Example: select * from funding(''binance'', ''bitcoin'', ''tether:tether'', ''2024-12-01'', ''2024-12-02'')';

--: function public.funding_paid(text, text, text, timestamptz, timestamptz, numeric)
create or replace function public.funding_paid(exchange text, base text, quote text,
  from_time timestamptz default null, to_time timestamptz default null, quantity numeric default 1)
returns table (paid numeric, paid_in text, events bigint, from_candles bigint, without_price bigint, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
declare
  line record;
  asked record;
begin
  select * into line from tidemark.dataset_line('funding_rates', exchange, base, quote, 'h1');
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  asked.closed := least(asked.closed, line.settled);
  select case when sums.events = 0 and known.share = 1 then quantity * 0 else sums.paid end,
         (select s.settle_id from tidemark.series s where s.id = line.series_id), sums.events, sums.from_candles,
         sums.without_price, known.share
  into paid, paid_in, events, from_candles, without_price, coverage
  from (select sum(quantity * f.payment) as paid, count(*) as events,
               count(*) filter (where f.price_from = 'mark_candles') as from_candles,
               count(*) filter (where f.payment is null) as without_price
        from public.funding(exchange, base, quote, from_time, to_time) f) sums,
       (select case when asked.since < asked.closed
                      then tidemark.share_covered(line.covered, tstzrange(asked.since, asked.closed)) end as share
       ) known;
  if without_price > 0 then perform tidemark.tell_no_price(line.series_id); end if;
  return next;
end $$;
comment on function public.funding_paid is
  'What a position paid for funding in [from_time, to_time), in paid_in, the asset that it is settled in; negative: '
  'it received that, as a short position (a negative quantity) does of a positive rate. The quantity is in the base '
  'asset; of an inverse contract, which is settled in its base asset, in the quote: contracts times contract_size. '
  'from_candles of the events are paid at the close of a mark candle, and without_price have none and are not in the '
  'sum; null: no payment is known. Coverage below 1: events may be missing.
Example: select * from funding_paid(''binance'', ''bitcoin'', ''tether:tether'', ''2024-12-01'', ''2025-01-01'', 0.5)';

--: function public.funding_panel(text[], timestamptz, timestamptz)
create or replace function public.funding_panel(series text[], from_time timestamptz default null,
  to_time timestamptz default null)
returns table ("time" timestamptz, name text, rate numeric, hours numeric, annual_rate numeric, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  -- Also as status names its series.
  written constant text := '^\s*(\S+)\s+(.+?)/(.+?)(?:\s+h1)?(?:\s+funding)?\s*$';
  wrong text[] := array(select n from unnest(series) n where n ~ written is not true);
begin
  perform tidemark.assert_series(series, 'binance bitcoin/tether:tether');
  if cardinality(wrong) > 0 then
    perform tidemark.assert_given('series', wrong[1] is null);
    raise exception 'a market is written as ''binance bitcoin/tether:tether'', not "%"', left(wrong[1], 200)
      using errcode = '22023';
  end if;
  return query
    with names as (
      -- A name that is given twice is one market.
      select n.name, min(n.place) as place, regexp_match(n.name, written) as parts
      from unnest($1) with ordinality n (name, place) group by n.name
    ), known as materialized (
      select n.name, n.place, l.*, a.first, a.ending
      from names n
      cross join lateral tidemark.dataset_line('funding_rates', n.parts[1], n.parts[2], n.parts[3], 'h1') l
      cross join lateral tidemark.asked_range(l.period, l.tracked, $2, $3) a
      cross join lateral tidemark.tell_coverage(l.series_id, l.covered, l.tracked, a.since, a.ending,
                                                least(a.closed, l.settled))
    ), rates as materialized (
      select n.name, f.* from known n
      cross join lateral tidemark.funding_events(n.series_id, n.covered, n.first, n.ending) f
    )
    -- Where a market has no event, none was due, or it is known to have none, or one may be missing.
    select g.time, n.name, r.rate, r.hours, r.annual_rate,
           coalesce(r.coverage, case when g.time >= n.settled then 1 end,
                    tidemark.share_covered(n.covered, tstzrange(g.time, g.time + n.period)))
    from (select distinct time from rates) g
    cross join known n
    left join rates r on r.time = g.time and r.name = n.name
    order by g.time, n.place;
end $$;
comment on function public.funding_panel is
  'Funding of several perpetuals: a row for each at every time that any of them has an event in [from_time, to_time), '
  'with its rate, hours and annual rate as in funding. Null where it has no event then; a coverage below 1 there: one '
  'may be missing.
Example: select * from funding_panel(array[''binance bitcoin/tether:tether''], ''2024-12-31'', ''2025-01-01'')';

--: function public.funding_panel_wide(text[], timestamptz, timestamptz)
create or replace function public.funding_panel_wide(series text[], from_time timestamptz default null,
  to_time timestamptz default null)
returns table ("time" timestamptz, rates jsonb, annual_rates jsonb, complete boolean)
language sql stable parallel safe as $$
  select time, jsonb_object_agg(name, rate), jsonb_object_agg(name, annual_rate), bool_and(coverage = 1)
  from public.funding_panel($1, $2, $3) group by time order by time
$$;
comment on function public.funding_panel_wide is
  'Funding of several perpetuals, a row a time: objects with the rate and the annual rate of each by its name, null '
  'where it has no event, and whether of each all is known.
Example: select * from funding_panel_wide(array[''binance bitcoin/tether:tether''], ''2024-12-31'', ''2025-01-01'')';

--: function tidemark.usual_interval(text, text, text, text)
create or replace function tidemark.usual_interval(of_dataset text, exchange text, base text, quote text) returns text
language plpgsql stable parallel safe as $$
declare
  own record;
begin
  select * into own from tidemark.own_names(exchange, base, quote, of_dataset);
  return coalesce((
    select s.interval from tidemark.series s
    where s.dataset = of_dataset and s.exchange_id = exchange
      and (s.base_id, s.quote_id) in (($3, $4), (own.base_id, own.quote_id))
      and (s.untracked_at is null or s.points > 0)
    order by s.interval <> 'h1', s.period limit 1), 'h1');
end $$;
comment on function tidemark.usual_interval is
  'Internal: the interval of a market in a dataset where none is named: h1, or if that is not stored the shortest.';

--: function public.open_interest_value(text, text, text, text, timestamptz, timestamptz, interval)
create or replace function public.open_interest_value(exchange text, base text, quote text,
  interval_name text default null, from_time timestamptz default null, to_time timestamptz default null,
  max_age interval default interval '1 hour')
returns table ("time" timestamptz, amount numeric, value numeric, value_from text, mark_price numeric,
               price_age interval, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
declare
  line record;
  asked record;
begin
  if max_age < interval '0' then
    raise exception 'max_age is %, and cannot be negative', max_age using errcode = '22023';
  end if;
  select * into line from tidemark.dataset_line(
    'open_interest', exchange, base, quote,
    coalesce(interval_name, tidemark.usual_interval('open_interest', exchange, base, quote)));
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.since, asked.ending, asked.closed);
  -- A source gives values always or never.
  if (select n.value is null from (
        select p.value from tidemark.open_interest_points p
        where p.series_id = line.series_id and p.time >= asked.first and p.time < asked.ending
        order by p.time desc limit 1) n) then
    perform tidemark.tell_no_price(line.series_id);
  end if;
  return query execute format('
    with points as materialized (%s)
    select p.time, p.amount, coalesce(p.value, p.amount * m.price),
           case when p.value is not null then ''source'' when m.price is not null then ''mark_candles'' end,
           m.price, m.age, p.coverage
    from points p
    left join tidemark.mark_prices_at($1, array(select n.time from points n where n.amount is not null
                                                                             and n.value is null), $2) m
      on m.time = p.time
    order by p.time',
    tidemark.line_statement('tidemark.open_interest_points', line.series_id, '{amount,value}', line.period,
                            line.covered, asked.first, asked.ending, asked.closed, false))
  using line.series_id, coalesce(max_age, interval '1 hour');
end $$;
comment on function public.open_interest_value is
  'Open interest in [from_time, to_time) in the base asset, and its value in the quote: as the source gave it '
  '(value_from: source), else at the close of the mark candle that had ended price_age before, at most max_age '
  '(mark_candles), else null. Without an interval it is that of h1, or if that is not stored of the shortest one that '
  'is. Coverage is the known share of the period; a closed one that is not known is a row of nulls.
Example: select * from open_interest_value(''binance'', ''bitcoin'', ''tether:tether'', ''h1'', ''2024-12-31'', '
  '''2025-01-01'')';

--: function tidemark.refuse_kind(text, boolean, text)
create or replace function tidemark.refuse_kind(quote text, is_spot boolean, taken text) returns void
language plpgsql stable parallel safe as $$
begin
  if (select p.settle is null from tidemark.quote_parts(quote) p where quote is not null) <> is_spot then
    raise exception '%, and "%" is a % market', taken, quote,
      case when is_spot then 'perpetual or future' else 'spot' end using errcode = '22023',
      hint = 'tether is the quote of a spot market, tether:tether of a perpetual that is settled in tether';
  end if;
end $$;
comment on function tidemark.refuse_kind is
  'Internal: refuses the quote of a market of another kind.';

--: function public.basis(text, text, text, text, text, timestamptz, timestamptz, text)
create or replace function public.basis(exchange text, base text, quote text, spot_quote text default null,
  interval_name text default 'h1', from_time timestamptz default null, to_time timestamptz default null,
  spot_exchange text default null)
returns table ("time" timestamptz, price numeric, spot numeric, index_price numeric, basis numeric,
               basis_share numeric, index_share numeric, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  closed timestamptz := tidemark.open_since(interval_name);
begin
  perform tidemark.refuse_kind(quote, false, 'basis takes a perpetual or future before the spot market'),
          tidemark.refuse_kind(spot_quote, true, 'basis takes a spot market after the perpetual or future');
  -- Such a name is no mistake, so that no similar one helps.
  if spot_exchange is null and spot_quote = (select p.asset from tidemark.quote_parts(quote) p)
     and not exists (select from tidemark.series s
                     where s.dataset = 'candles' and (s.exchange_id, s.base_id, s.quote_id) = ($1, $2, $4))
     and (select o.base_id is null from tidemark.own_names($1, $2, $4) o)
     and tidemark.stored_series('candles', $1, $2, $3, $5) is not null then
    raise exception 'the spot market % %/% is not tracked', exchange, base, spot_quote using errcode = '22023',
      hint = 'without spot_quote, basis is that of the index alone';
  end if;
  return query
    select time, p.close, s.close, i.close, d.basis, d.basis / nullif(s.close, 0),
           case when time < closed then (p.close - i.close) / nullif(i.close, 0) end,
           least(coalesce(p.coverage, 0), case when $4 is not null then coalesce(s.coverage, 0) end)
    from public.ohlcv($1, $2, $3, $5, $6, $7) p
    full join (select o.* from public.ohlcv(coalesce($8, $1), $2, $4, $5, $6, $7) o where $4 is not null) s
      using (time)
    left join (
      select c.time, c.close from tidemark.index_candle_points c
      where c.time >= coalesce($6, '-infinity') and c.time < coalesce($7, 'infinity') and c.series_id = (
        select tidemark.stored_series('index_candles', $1, $2, $3, $5))
    ) i using (time)
    -- Open candles have the prices of different moments.
    cross join lateral (select case when time < closed then p.close - s.close end as basis) d
    order by time;
end $$;
comment on function public.basis is
  'How far a perpetual or future closes above a spot market (of spot_exchange, by default its own) and above its '
  'index, at the end of each period that starts in [from_time, to_time): in the quote, and as a share of the spot and '
  'index price. Null where a side has no price, and while the period is open: its two prices are of different moments. '
  'Coverage is that of the side of which less is known, and 0 where one has no candle. Without spot_quote there is no '
  'spot market: its columns are null, and coverage is that of the perpetual or future.
Example: select * from basis(''binance'', ''bitcoin'', ''tether:tether'', ''tether'', ''h1'', ''2024-12-01'', '
  '''2024-12-02'')';
