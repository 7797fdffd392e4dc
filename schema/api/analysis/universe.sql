-- Which markets traded at a date, and how much: the universe of a backtest, with those that are gone by now.

--: function public.universe_at(timestamptz, numeric, integer, text[], text[], interval)
-- Only whole days before the date are read. A series that is no longer tracked counts as long as it has points.
create or replace function public.universe_at(at timestamptz, minimum_quote_volume numeric default 0,
  days integer default 30, quotes text[] default null, exchanges text[] default null,
  max_silence interval default '1 day')
returns table (exchange text, base text, quote text, kind text, quote_volume numeric, days_traded bigint,
               last_day timestamptz, close numeric, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  ending timestamptz := date_bin('24 hours', least(at, now()), tidemark.grid_origin());
  first timestamptz;
  known_exchanges text[];
  known_quotes text[];
  wrong text;
  market record;
  uncertain text[] := '{}';
  markets bigint := 0;
begin
  perform tidemark.assert_moment('at', at);
  perform tidemark.assert_given(name, is_null) from (values
    ('minimum_quote_volume', minimum_quote_volume is null), ('days', days is null),
    ('max_silence', max_silence is null)) v (name, is_null);
  if not abs(minimum_quote_volume) < 'infinity' then
    raise exception 'minimum_quote_volume must be finite, and is %', minimum_quote_volume using errcode = '22023';
  elsif days not between 1 and 3660 then
    raise exception 'days must be from 1 to 3660, and is %', days using errcode = '22023';
  elsif max_silence < interval '1 day' then
    raise exception 'max_silence is at least a day, and is %', max_silence using errcode = '22023';
  end if;
  first := ending - days * interval '24 hours';
  select coalesce(array_agg(distinct s.exchange_id), '{}'), coalesce(array_agg(distinct s.quote_id), '{}')
  into known_exchanges, known_quotes
  from tidemark.series s where s.dataset = 'candles' and (s.untracked_at is null or s.points > 0);
  for wrong in select e from unnest(exchanges) e where e = any (known_exchanges) is not true loop
    perform tidemark.refuse_name('exchange', wrong, known_exchanges);
  end loop;
  for wrong in select q from unnest(quotes) q where q = any (known_quotes) is not true loop
    perform tidemark.refuse_name('quote', wrong, known_quotes);
  end loop;
  for market in
    with stored as (
      select s.id, s.exchange_id, s.base_id, s.quote_id, s.period, s.interval <> 'd1' as is_derived, s.tracked,
             tidemark.known_ranges(s.id, s.covered) as covered
      from tidemark.series s
      where s.dataset = 'candles' and (s.untracked_at is null or s.points > 0)
        and (s.interval = 'd1'
             or s.interval = any (array(select unnest(finer) from tidemark.rollup_levels where interval = 'd1')))
        and (exchanges is null or s.exchange_id = any (exchanges)) and (quotes is null or s.quote_id = any (quotes))
        and s.tracked && tstzrange(first, ending)
    ), lines as materialized (
      -- Days of its own, or of the series that knows most of these days: another one may know more of other years.
      select distinct on (exchange_id, base_id, quote_id) *
      from stored
      order by exchange_id, base_id, quote_id, is_derived,
               tidemark.share_covered(covered, tstzrange(first, ending)) desc, period
    )
    select l.exchange_id, l.base_id, l.quote_id, tidemark.share_covered(l.covered, tstzrange(first, ending)) as share,
           d.traded, tidemark.price_figure((d.value + tidemark.fine()) / k.days) as daily, d.newest, d.last_close
    from lines l
    cross join lateral (
      select sum(extract(epoch from upper(r) - lower(r))) / 86400 as days
      from unnest(l.covered * tstzmultirange(tstzrange(first, ending))) r
    ) k
    cross join lateral (
      select count(*) filter (where c.volume > 0) as traded,
             sum((c.high + c.low + c.close) * c.volume) / 3 as value,
             max(c.time) filter (where c.volume > 0) as newest,
             (array_agg(c.close order by c.time desc) filter (where c.volume > 0))[1] as last_close
      from (
        select p.time, p.high, p.low, p.close, p.volume from tidemark.candle_points p
        where not l.is_derived and p.series_id = l.id and p.time >= first and p.time < ending
        union all
        select p.time, p.high, p.low, p.close, p.volume from tidemark.rollup_d1 p
        where l.is_derived and p.series_id = l.id and p.time >= first and p.time < ending
      ) c
    ) d
    order by daily desc nulls last, l.exchange_id, l.base_id, l.quote_id
  loop
    markets := markets + 1;
    if market.share < 1 then
      uncertain := uncertain || format('%s %s/%s', market.exchange_id, market.base_id, market.quote_id);
    end if;
    continue when (market.daily >= minimum_quote_volume and market.newest >= ending - max_silence) is not true;
    exchange := market.exchange_id;
    base := market.base_id;
    quote := market.quote_id;
    select case when p.settle is null then 'spot' when p.expiry is null then 'perpetual' else 'future' end
    into kind from tidemark.quote_parts(quote) p;
    quote_volume := market.daily;
    days_traded := market.traded;
    last_day := market.newest;
    close := market.last_close;
    coverage := market.share;
    return next;
  end loop;
  if cardinality(uncertain) > 0 then
    raise notice '% of % markets are not fully covered from %', cardinality(uncertain), markets,
      tidemark.utc(tstzrange(first, ending)) using
      detail = array_to_string(uncertain[1:12], ', ') || case when cardinality(uncertain) > 12 then ', and more' else ''
               end,
      hint = 'their quote_volume is of the days that are known, and one of which the last day is not known is left out';
  end if;
end $$;
comment on function public.universe_at is
  'Markets that traded on the last whole day before a time (or within max_silence), with a mean daily quote volume of '
  'the days before it; those that are gone or untracked by now too. Nothing after that time is used.
Example: select * from universe_at(''2024-03-31Z'', minimum_quote_volume => 1000000, days => 7)';
