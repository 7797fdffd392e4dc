-- Funding of perpetuals, and how far they trade from spot markets and the index.

--: function public.funding(text, text, text, timestamptz, timestamptz)
create or replace function public.funding(exchange text, base text, quote text, from_time timestamptz default null,
  to_time timestamptz default null)
returns table ("time" timestamptz, rate numeric, hours numeric, annual_rate numeric, mark_price numeric,
               payment numeric, coverage numeric)
language plpgsql stable parallel safe as $$
#variable_conflict use_column
declare
  line record;
  asked record;
begin
  select * into line from tidemark.dataset_line('funding_rates', exchange, base, quote, 'h1');
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  asked.closed := least(asked.closed, line.settled);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.first, asked.closed);
  return query
    with events as materialized (
      select p.time, p.rate, p.mark_price,
             -- The distance says nothing where an event may be missing.
             coalesce(p.interval_hours, case when line.covered @> tstzrange(before.time, p.time)
                                             then extract(epoch from p.time - before.time) / 3600 end) as hours,
             before.time as since
      from tidemark.funding_rate_points p
      left join lateral (
        select b.time from tidemark.funding_rate_points b
        where b.series_id = line.series_id and b.time < p.time and b.time > p.time - interval '1 day'
        order by b.time desc limit 1
      ) before on true
      where p.series_id = line.series_id and p.time >= asked.first and p.time < asked.ending
    )
    select e.time, e.rate, trim_scale(e.hours), trim_scale(e.rate * 8760 / nullif(e.hours, 0)), m.price,
           e.rate * m.price,
           tidemark.share_covered(line.covered, tstzrange(coalesce(e.since, e.time), e.time + line.period))
    from events e
    -- The last mark price that was known at the event, where the event has none.
    left join lateral (
      select e.mark_price as price where e.mark_price is not null
      union all
      (select c.close from tidemark.series s join tidemark.mark_candle_points c on c.series_id = s.id
       where e.mark_price is null and s.dataset = 'mark_candles' and s.period <= interval '1 hour'
         and (s.exchange_id, s.base_id, s.quote_id) =
             (select o.exchange_id, o.base_id, o.quote_id from tidemark.series o where o.id = line.series_id)
         and c.time <= e.time - s.period and c.time > e.time - s.period - interval '2 hours'
       order by c.time + s.period desc, s.period limit 1)
    ) m on true
    order by e.time;
end $$;
comment on function public.funding is
  'Funding of a perpetual in [from_time, to_time): the rate of each event, hours since the one before, the rate of a '
  'year of 8,760 hours without compounding, the mark price (of the event, else the last one that was known then; '
  'null: none), and what a long position of one base asset paid in the quote. Coverage is of the time since the event '
  'before.
Example: select * from funding(''binance'', ''bitcoin'', ''tether:tether'', ''2024-12-01'', ''2024-12-02'')';

--: function public.funding_paid(text, text, text, timestamptz, timestamptz, numeric)
create or replace function public.funding_paid(exchange text, base text, quote text,
  from_time timestamptz default null, to_time timestamptz default null, quantity numeric default 1)
returns table (paid numeric, events bigint, without_price bigint, coverage numeric)
language plpgsql stable parallel safe as $$
declare
  line record;
  asked record;
begin
  select * into line from tidemark.dataset_line('funding_rates', exchange, base, quote, 'h1');
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  asked.closed := least(asked.closed, line.settled);
  return query
    select case when sums.events = 0 and known.share = 1 then quantity * 0 else sums.paid end, sums.events,
           sums.without_price, known.share
    from (select sum(quantity * f.payment) as paid, count(*) as events,
                 count(*) filter (where f.payment is null) as without_price
          from public.funding(exchange, base, quote, from_time, to_time) f) sums,
         (select case when asked.first < asked.closed
                        then tidemark.share_covered(line.covered, tstzrange(asked.first, asked.closed)) end as share
         ) known;
end $$;
comment on function public.funding_paid is
  'What a position of so many base assets paid for funding in [from_time, to_time), in the quote; negative: it '
  'received that, as a short position (a negative quantity) does of a positive rate. Events without a mark price are '
  'counted, and not in the sum; null: no payment is known. Coverage below 1: events may be missing.
Example: select * from funding_paid(''binance'', ''bitcoin'', ''tether:tether'', ''2024-12-01'', ''2025-01-01'', 0.5)';

--: function public.basis(text, text, text, text, text, timestamptz, timestamptz)
create or replace function public.basis(exchange text, base text, quote text, spot_quote text,
  interval_name text default 'h1', from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, price numeric, spot numeric, index_price numeric, basis numeric,
               basis_share numeric, index_share numeric, coverage numeric)
language sql stable parallel safe as $$
  select time, p.close, s.close, i.close, p.close - s.close, (p.close - s.close) / nullif(s.close, 0),
         (p.close - i.close) / nullif(i.close, 0), least(coalesce(p.coverage, 0), coalesce(s.coverage, 0))
  from public.ohlcv($1, $2, $3, $5, $6, $7) p
  full join public.ohlcv($1, $2, $4, $5, $6, $7) s using (time)
  left join (
    select c.time, c.close from tidemark.index_candle_points c
    where c.time >= coalesce($6, '-infinity') and c.time < coalesce($7, 'infinity') and c.series_id = (
      select tidemark.stored_series('index_candles', $1, $2, $3, $5))
  ) i using (time)
  order by time
$$;
comment on function public.basis is
  'How far a perpetual or future closes above the spot market of another quote and above its index, at the end of each '
  'period that starts in [from_time, to_time): in the quote, and as a share of the spot and index price. Null where a '
  'side has no price; coverage is that of the side of which less is known, and 0 where one has no candle.
Example: select * from basis(''binance'', ''bitcoin'', ''tether:tether'', ''tether'', ''h1'', ''2024-12-01'', '
  '''2024-12-02'')';
