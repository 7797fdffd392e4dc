-- A price in any currency, through the last rate that was known at its moment.
--
-- Rates are polled, so their history begins with the first poll, and has breaks: each row gives the time of its rate
-- and its age, and one that is too old converts nothing. A rate of later is used only where the caller asks for it.
-- Prices and rates are merged once in order of time, without a lookup for each row.

--: function tidemark.currency_id(text)
create or replace function tidemark.currency_id(name text) returns integer
language plpgsql stable parallel safe as $$
declare
  found integer[];
begin
  if name is null then
    perform tidemark.refuse_name('currency', name, array(select c.currency from tidemark.currencies c));
  end if;
  select array_agg(c.id order by c.id) into found from tidemark.currencies c where c.currency = name;
  if found is null then
    select array_agg(c.id order by c.currency) into found
    from tidemark.currencies c where lower(c.symbol) = lower(name);
  end if;
  if found is null then
    if not exists (select from tidemark.currencies) then
      raise exception 'no rates are stored yet, so there is none of "%"', left(name, 200) using errcode = '22023',
        hint = 'the scheduler polls them: tidemark run, unless rates are untracked';
    end if;
    perform tidemark.refuse_name('currency', name, array(select c.currency from tidemark.currencies c));
  end if;
  if cardinality(found) > 1 then
    raise exception 'the currency "%" is ambiguous', left(name, 200) using errcode = '22023',
      hint = format('say which: %s', (select string_agg(format('"%s"', c.currency), ' or ' order by c.currency)
                                      from tidemark.currencies c where c.id = any (found)));
  end if;
  return found[1];
end $$;
comment on function tidemark.currency_id is
  'Internal: the id in tidemark.currencies of a currency by its id or symbol; an unknown or ambiguous one is '
  'refused.';

--: function tidemark.is_currency(text, text)
create or replace function tidemark.is_currency(name text, id text) returns boolean
language sql stable parallel safe as $$
  -- Its own id needs no rate.
  select name is not distinct from id
      or tidemark.currency_id(name) = (select c.id from tidemark.currencies c where c.currency = $2)
$$;
comment on function tidemark.is_currency is
  'Internal: whether a name, an id or a symbol, is that of a currency.';

--: function tidemark.rates_around(integer, integer, timestamptz, timestamptz)
-- Rates for [since, until]: those within, the last one before and the first one after. Where the price is not
-- in USD (source is not null), only times with a rate of both, also before and after.
create or replace function tidemark.rates_around(source integer, target integer, since timestamptz, until timestamptz)
returns table ("time" timestamptz, rate numeric, source_rate numeric)
language plpgsql stable parallel safe as $$
declare
  -- Where the search below begins. It is null, and nothing is searched, if the source has no rate there.
  first timestamptz := (select max(r.time) from tidemark.rate_points r
                        where r.currency_id = coalesce(source, target) and r.time <= since);
  last timestamptz := (select min(r.time) from tidemark.rate_points r
                       where r.currency_id = coalesce(source, target) and r.time >= until);
begin
  first := coalesce((
    select t.time from tidemark.rate_points t
    where t.currency_id = target and t.time <= first and (source is null or exists (
      select from tidemark.rate_points s where s.currency_id = source and s.time = t.time))
    order by t.time desc limit 1), since);
  last := coalesce((
    select t.time from tidemark.rate_points t
    where t.currency_id = target and t.time >= last and (source is null or exists (
      select from tidemark.rate_points s where s.currency_id = source and s.time = t.time))
    order by t.time limit 1), until);
  if source is null then
    return query execute format('select time, rate_usd, 1::numeric from tidemark.rate_points
      where currency_id = %s and time >= %L::timestamptz and time <= %L::timestamptz', target, first, last);
  else
    return query execute format('select t.time, t.rate_usd, s.rate_usd
      from (select time, rate_usd from tidemark.rate_points
            where currency_id = %1$s and time >= %3$L::timestamptz and time <= %4$L::timestamptz) t
      join (select time, rate_usd from tidemark.rate_points
            where currency_id = %2$s and time >= %3$L::timestamptz and time <= %4$L::timestamptz) s using (time)',
      target, source, first, last);
  end if;
end $$;
comment on function tidemark.rates_around is
  'Internal: rates of a currency, and of the currency of a price, for a range with the last before and the first '
  'after it.';

--: function public.prices_in(text, text, text, timestamptz, timestamptz, interval, boolean)
create or replace function public.prices_in(series text, currency text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null, max_age interval default null,
  look_ahead boolean default false)
returns table ("time" timestamptz, price numeric, source_price numeric, source_currency text, rate_time timestamptz,
               rate_age interval, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  target integer;
  source integer;
  source_name text := 'united-states-dollar';
  -- From a row's time to the moment of its price: a close is the end of its period, a d1 mean the middle of
  -- its day.
  ahead interval;
  oldest interval;
begin
  perform tidemark.assert_given('look_ahead', look_ahead is null);
  if max_age < interval '0' then
    raise exception 'max_age is %, and cannot be negative', max_age using errcode = '22023',
      hint = 'look_ahead => true also uses rates of later';
  end if;
  select * into line from tidemark.line_of(series, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  if line.is_market then
    select split_part(s.quote_id, ':', 1) into source_name from tidemark.series s where s.id = line.series_id;
  end if;
  if tidemark.is_currency(currency, source_name) then
    return query select p.time, p.price, p.price, source_name, null::timestamptz, null::interval, p.coverage
                 from public.prices(series, interval_name, from_time, to_time) p;
    return;
  end if;
  target := tidemark.currency_id(currency);
  if line.is_market then source := tidemark.currency_id(source_name); end if;
  oldest := coalesce(max_age, line.period);
  ahead := case when line.is_market then line.period when interval_name = 'd1' then line.period / 2
                else interval '0' end;
  return query
    with line as materialized (
      select time, price, coverage, time + ahead as moment from public.prices(series, interval_name, from_time, to_time)
    ), rates as materialized (
      select time, rate, source_rate from tidemark.rates_around(source, target, asked.first, asked.ending + ahead)
    ), merged as (
      select moment, time, price, coverage, true as is_price, null::timestamptz as at from line
      union all select time, null, null, null, false, time from rates
    ), before as (
      select *, max(at) over (order by moment, is_price rows unbounded preceding) as last from merged
    ), around as (
      select *, min(at) over (order by moment desc, is_price desc rows unbounded preceding) as next from before
    ), nearest as (
      select time, price, coverage, moment,
             case when look_ahead and (next - moment < moment - last or last is null) then next else last end as at
      from around where is_price
    )
    select n.time, case when greatest(n.moment, n.at) - least(n.moment, n.at) <= oldest
                        then tidemark.price_figure((n.price * r.source_rate + tidemark.fine()) / nullif(r.rate, 0)) end,
           n.price, source_name, n.at, n.moment - n.at, n.coverage
    from nearest n left join rates r on r.time = n.at
    order by n.time;
end $$;
comment on function public.prices_in is
  'Prices of a series in a currency (its id or symbol), through the last rate at or before the price''s moment: '
  'rate_time, and rate_age from there. Null where it is older than max_age, by default a period. look_ahead also '
  'takes rates of later (a negative age), whichever is nearer. A market is converted from its quote.
Example: select * from prices_in(''binance bitcoin/tether'', ''euro'', ''d1'', ''2024-03-01'', ''2024-03-08'', '
  'max_age => ''2 days'')';
