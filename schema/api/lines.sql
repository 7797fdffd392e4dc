-- From names to one line of points: its series, its relation, and its covered ranges; and the statement that reads
-- them.

--: function tidemark.known_ranges(integer, tstzmultirange)
-- Of those periods the source has something, and nobody knows what.
create or replace function tidemark.known_ranges(series_id integer, covered tstzmultirange) returns tstzmultirange
language plpgsql stable parallel safe as $$
begin
  -- Planning the look-ups of points takes longer than most queries, and hardly any series has such a row.
  if not exists (select from tidemark.quarantine q
                 where q.dataset = (select s.dataset from tidemark.series s where s.id = $1)
                   and coalesce(q.series_id, 0) = $1) then
    return covered;
  end if;
  return (select $2 - r.ranges
          from tidemark.series s,
               lateral tidemark.rejected_ranges(s.id, s.dataset, s.period, lower($2), upper($2)) r
          where s.id = $1);
end $$;
comment on function tidemark.known_ranges is
  'Internal: the covered ranges of a series without the periods for which only invalid rows came.';

--: function tidemark.asset_names(text, text)
-- An asset's name, and its others by the aliases of the watch list: the id that stands for a code, or the codes of an
-- id.
create or replace function tidemark.asset_names(exchange text, name text) returns setof text
language sql stable parallel safe as $$
  with known as (
    select code, asset from tidemark.asset_aliases a
    where source = exchange
       or source = '' and not exists (
         select from tidemark.asset_aliases o where o.source = exchange and o.code = a.code)
  )
  select name union select asset from known where code = name union select code from known where asset = name
$$;
comment on function tidemark.asset_names is
  'Internal: an asset as an exchange may name it, by id and by codes.';

--: function tidemark.quote_parts(text)
-- The same rule as parseQuote of model/market.ts.
create or replace function tidemark.quote_parts(quote text) returns table (asset text, settle text, expiry text)
language sql immutable parallel safe as $$
  select coalesce(substring(quote from '^([^:]*):.'), quote), substring(quote from '^[^:]*:(.+?)(?:-\d{6})?$'),
         substring(quote from '^[^:]*:.+-(\d{6})$')
$$;
comment on function tidemark.quote_parts is
  'The asset of a quote, what it is settled in (null: spot), and its day of expiry, YYMMDD (null: none).
Example: select * from tidemark.quote_parts(''tether:tether-261225'')';

--: function tidemark.quote_text(text, text, text)
create or replace function tidemark.quote_text(asset text, settle text, expiry text) returns text
language sql immutable parallel safe as $$
  select asset || coalesce(':' || settle, '') || coalesce('-' || expiry, '')
$$;
comment on function tidemark.quote_text is
  'Internal: a quote of its parts, as tidemark.quote_parts has them.';

--: function tidemark.quote_names(text, text)
create or replace function tidemark.quote_names(exchange text, quote text) returns setof text
language sql stable parallel safe as $$
  select tidemark.quote_text(own_asset, own_settle, p.expiry)
  from tidemark.quote_parts(quote) p
  cross join lateral tidemark.asset_names(exchange, p.asset) own_asset
  -- Of null it is null.
  cross join lateral tidemark.asset_names(exchange, p.settle) own_settle
$$;
comment on function tidemark.quote_names is
  'Internal: a quote as an exchange may name it, each part by id and by codes.';

--: function tidemark.own_names(text, text, text, text)
-- The names of a series whose market is given by the codes of its source, or by the ids that stand for them.
create or replace function tidemark.own_names(exchange text, base text, quote text,
  of_dataset text default 'candles', out base_id text, out quote_id text)
language plpgsql stable parallel safe as $$
begin
  select s.base_id, s.quote_id into base_id, quote_id
  from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
  join public.source_markets m on m.source = x.source and m.symbol = x.symbol
  where s.dataset = of_dataset and s.exchange_id = $1 and (s.base_id, s.quote_id) <> ($2, $3)
    and (($2, $3) = (m.base, m.quote) or ($2, $3) = (m.base_id, m.quote_id))
    and (s.untracked_at is null or s.points > 0)
  limit 1;
  if found then return; end if;
  select s.base_id, s.quote_id into base_id, quote_id
  from tidemark.series s
  where s.dataset = of_dataset and s.exchange_id = $1 and (s.base_id, s.quote_id) <> ($2, $3)
    and s.base_id in (select tidemark.asset_names($1, $2)) and s.quote_id in (select tidemark.quote_names($1, $3))
    and (s.untracked_at is null or s.points > 0)
  limit 1;
end $$;
comment on function tidemark.own_names(text, text, text, text) is
  'Internal: the ids of a stored market that is given by the codes of its source.';

--: function tidemark.market_line(text, text, text, text)
create or replace function tidemark.market_line(exchange text, base text, quote text, interval_name text,
  out series_id integer, out relation text, out period interval, out derived_from text, out covered tstzmultirange,
  out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  found_interval text;
  own record;
begin
  period := tidemark.interval_length(interval_name);
  -- The series itself, or the one that the view candles reads.
  select s.id, s.interval, s.covered, s.tracked into series_id, found_interval, covered, tracked
  from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote
    and s.interval = interval_name and (s.untracked_at is null or s.points > 0);
  if series_id is null then
    select s.id, s.interval, s.covered, s.tracked into series_id, found_interval, covered, tracked
    from tidemark.derived_series d join tidemark.series s on s.id = d.series_id
    where d.exchange_id = exchange and d.base_id = base and d.quote_id = quote and d.interval = interval_name;
  end if;
  if series_id is null then
    select * into own from tidemark.own_names(exchange, base, quote);
    if exists (select from tidemark.series s
               where s.dataset = 'candles' and s.exchange_id = exchange and s.base_id = own.base_id
                 and s.quote_id = own.quote_id and s.interval = interval_name
                 and (s.untracked_at is null or s.points > 0))
       or exists (select from tidemark.derived_series d
                  where d.exchange_id = exchange and d.base_id = own.base_id and d.quote_id = own.quote_id
                    and d.interval = interval_name) then
      select l.series_id, l.relation, l.period, l.derived_from, l.covered, l.tracked
      into series_id, relation, period, derived_from, covered, tracked
      from tidemark.market_line(exchange, own.base_id, own.quote_id, interval_name) l;
      return;
    end if;
    perform tidemark.refuse_market(exchange, coalesce(own.base_id, base), coalesce(own.quote_id, quote), interval_name);
  end if;
  relation := case when found_interval = interval_name then 'tidemark.candle_points'
                   else 'tidemark.rollup_' || interval_name end;
  derived_from := nullif(found_interval, interval_name);
  covered := tidemark.known_ranges(series_id, covered);
end $$;
comment on function tidemark.market_line is
  'Internal: the series, relation, period and coverage behind a market at an interval, stored or derived; unknown '
  'names are refused.';

--: function tidemark.stored_series(text, text, text, text, text)
create or replace function tidemark.stored_series(of_dataset text, exchange text, base text, quote text,
  interval_name text) returns integer
language plpgsql stable parallel safe as $$
declare
  found_id integer;
begin
  select s.id into found_id from tidemark.series s
  where s.dataset = of_dataset and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote
    and s.interval = interval_name and (s.untracked_at is null or s.points > 0);
  if found then return found_id; end if;
  select s.id into found_id
  from tidemark.own_names(exchange, base, quote, of_dataset) own
  join tidemark.series s on s.base_id = own.base_id and s.quote_id = own.quote_id
  where s.dataset = of_dataset and s.exchange_id = exchange and s.interval = interval_name
    and (s.untracked_at is null or s.points > 0);
  return found_id;
end $$;
comment on function tidemark.stored_series is
  'Internal: the id of a stored series of a market, by ids or codes; null where there is none.';

--: function tidemark.dataset_line(text, text, text, text, text)
create or replace function tidemark.dataset_line(of_dataset text, exchange text, base text, quote text,
  interval_name text, out series_id integer, out period interval, out tracked tstzrange, out covered tstzmultirange,
  out settled timestamptz)
language plpgsql stable parallel safe as $$
declare
  own record;
begin
  period := tidemark.interval_length(interval_name);
  series_id := tidemark.stored_series(of_dataset, exchange, base, quote, interval_name);
  if series_id is null then
    select * into own from tidemark.own_names(exchange, base, quote, of_dataset);
    perform tidemark.refuse_market(exchange, coalesce(own.base_id, base), coalesce(own.quote_id, quote),
                                   interval_name, of_dataset);
  end if;
  select s.tracked, tidemark.known_ranges(s.id, s.covered),
         case when s.due_at > now() - tidemark.grace() then s.newest + s.period else 'infinity' end
  into tracked, covered, settled
  from tidemark.series s where s.id = series_id;
end $$;
comment on function tidemark.dataset_line is
  'Internal: the series of a market in a dataset at an interval, by ids or codes; unknown names are refused. Of events '
  'settled is the end of the newest one, while the next one is not due.';

--: function tidemark.sampled(text, interval)
create or replace function tidemark.sampled(relation text, period interval) returns text
language sql immutable parallel safe as $$
  select format('(select * from %s where time = date_bin(%L, time, tidemark.grid_origin())) sampled', relation, period)
$$;
comment on function tidemark.sampled is
  'Internal: the points of a relation at which a longer period starts.';

--: function tidemark.sampled_ranges(tstzmultirange, interval, interval)
-- The price of a longer period is that at its start, so that the shorter period there is all that has to be covered. Of
-- a covered range these are the longer periods from the first to the last that starts in it.
create or replace function tidemark.sampled_ranges(covered tstzmultirange, shorter interval, longer interval)
returns tstzmultirange
language sql immutable parallel safe as $$
  select coalesce(range_agg(tstzrange(first, last + longer)) filter (where first <= last), '{}')
  from unnest(covered) r
  cross join lateral (
    select date_bin(longer, lower(r) - interval '1 microsecond', tidemark.grid_origin()) + longer as first,
           date_bin(longer, upper(r) - shorter, tidemark.grid_origin()) as last
  ) starts
$$;
comment on function tidemark.sampled_ranges is
  'Internal: the longer periods of which the shorter one at their start is covered.';

--: function tidemark.asset_line(text, text)
create or replace function tidemark.asset_line(asset text, interval_name text, out series_id integer, out relation text,
  out period interval, out derived_from text, out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  stored_period interval;
begin
  period := tidemark.interval_length(interval_name);
  if exists (
    select from tidemark.dataset_intervals i where i.dataset = 'asset_history' and i.interval = interval_name
  ) then
    select s.id, s.covered, s.tracked into series_id, covered, tracked
    from tidemark.series s where s.dataset = 'asset_history' and s.asset_id = asset and s.interval = interval_name
      and (s.untracked_at is null or s.points > 0);
    relation := 'tidemark.asset_history_points';
    if series_id is null then
      select s.id, s.covered, s.tracked, d.derived_from, s.period
      into series_id, covered, tracked, derived_from, stored_period
      from tidemark.derived_histories d join tidemark.series s on s.id = d.series_id
      where d.asset_id = asset and d.interval = interval_name;
      relation := tidemark.sampled(relation, period);
    end if;
  end if;
  if series_id is null then perform tidemark.refuse_asset(asset, interval_name); end if;
  covered := tidemark.known_ranges(series_id, covered);
  if derived_from is not null then
    covered := tidemark.sampled_ranges(covered, stored_period, period);
    -- The price of a period is that at its start.
    tracked := tracked * tstzrange(date_bin(period, lower(tracked) - interval '1 microsecond', tidemark.grid_origin())
                                     + period, null);
  end if;
end $$;
comment on function tidemark.asset_line is
  'Internal: the series, relation, period and coverage behind an asset at an interval; unknown names are refused.';

--: function tidemark.series_id(text, text, text, text)
-- Immutable, although it reads a table: the planner then replaces it by the id, as if that had been written. Of a chunk
-- that is partly in the columnstore, TimescaleDB evaluates a stable function for each row. Ids never change; a
-- statement that is prepared under one name looks another one up when it is prepared again. The cost keeps the planner
-- from evaluating it for each row where names are parameters.
create or replace function tidemark.series_id(exchange text, base text, quote text, interval_name text) returns integer
language plpgsql immutable parallel safe cost 100000 as $$
declare
  line record;
begin
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  if line.derived_from is null then return line.series_id; end if;
  raise exception '% %/% has no series at %: those candles are derived', exchange, base, quote, interval_name
    using errcode = '22023',
    hint = format('tidemark.series_id(%L, %L, %L, %L) is the series that they are derived from',
                  exchange, base, quote, line.derived_from);
end $$;
comment on function tidemark.series_id(text, text, text, text) is
  'The id of the stored series of the candles of a market, for queries of its points; unknown names are refused.
Example: select * from tidemark.candle_points where series_id = tidemark.series_id(''binance'', ''bitcoin'', '
  '''tether'', ''h1'') order by time desc limit 10';

--: function tidemark.series_id(text, text)
create or replace function tidemark.series_id(asset text, interval_name text) returns integer
language plpgsql immutable parallel safe cost 100000 as $$
declare
  line record;
begin
  select * into line from tidemark.asset_line(asset, interval_name);
  if line.derived_from is null then return line.series_id; end if;
  raise exception '% has no series at %: those prices are derived', asset, interval_name using errcode = '22023',
    hint = format('tidemark.series_id(%L, %L) is the series that they are derived from', asset, line.derived_from);
end $$;
comment on function tidemark.series_id(text, text) is
  'The id of the stored series of the history of an asset, for queries of its points; unknown names are refused.
Example: select * from tidemark.asset_history_points where series_id = tidemark.series_id(''bitcoin'', ''d1'') '
  'order by time desc limit 10';

--: function tidemark.line_of(text, text)
-- 'binance bitcoin/tether' is a market, 'bitcoin' an asset.
create or replace function tidemark.line_of(series text, interval_name text, out is_market boolean,
  out series_id integer, out relation text, out period interval, out derived_from text, out covered tstzmultirange,
  out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  parts text[] := regexp_match(series, '^\s*(\S+)\s+(.+?)/(.+?)\s*$');
begin
  perform tidemark.assert_given('series', series is null);
  is_market := parts is not null;
  if is_market then
    select l.series_id, l.relation, l.period, l.derived_from, l.covered, l.tracked
    into series_id, relation, period, derived_from, covered, tracked
    from tidemark.market_line(parts[1], parts[2], parts[3], interval_name) l;
  elsif series like '%/%' then
    raise exception 'a series is a market or an asset, not "%"', left(series, 200) using errcode = '22023',
      hint = 'a market is written as ''binance bitcoin/tether'', an asset as ''bitcoin''';
  else
    select l.series_id, l.relation, l.period, l.derived_from, l.covered, l.tracked
    into series_id, relation, period, derived_from, covered, tracked
    from tidemark.asset_line(btrim(series), interval_name) l;
  end if;
end $$;
comment on function tidemark.line_of is
  'Internal: the series, relation, period and coverage behind a market (binance bitcoin/tether) or an asset '
  '(bitcoin).';

--: function tidemark.line_statement(text, integer, text[], interval, tstzmultirange,
--:   timestamptz, timestamptz, timestamptz, boolean)
-- Rows of a line in order of time: the columns, `filled` and `coverage`. A closed period without a point that is not
-- completely covered is a row of nulls. A covered period without a point is absent, or with gap_fill a filled row: the
-- last price (within an unbroken stretch of coverage: beyond a gap it is unknown), and volume 0.
--
-- Every value in the statement is a constant, so that it is planned for exactly this series and range: TimescaleDB
-- excludes the other chunks while planning, and the columnstore filters by segment.
create or replace function tidemark.line_statement(relation text, series_id integer, columns text[], period interval,
  covered tstzmultirange, first timestamptz, ending timestamptz, closed timestamptz, gap_fill boolean) returns text
language plpgsql stable parallel safe as $$
declare
  price text := case when 'close' = any (columns) then 'close' else columns[1] end;
  known tstzmultirange := covered * tstzmultirange(tstzrange(first, ending));
  missing tstzmultirange := case when closed > first then tstzmultirange(tstzrange(first, closed)) - covered
                                 else '{}' end;
  listed text := array_to_string(columns, ', ');
  -- That function takes longer for a row than everything else: within the longest covered range it is not called.
  longest tstzrange := (select r from unnest(known) r order by upper(r) - lower(r) desc limit 1);
  share text := case
    when known = tstzmultirange(tstzrange(first, ending)) then '1::numeric'
    else format('case when time >= %L::timestamptz and time <= %L::timestamptz then 1
                      else tidemark.share_covered(%L::tstzmultirange, tstzrange(time, time + %L::interval)) end',
                lower(longest), upper(longest) - period, known, period) end;
  stored text := format('select time, %s, false as filled, %s as coverage from %s
    where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz',
    listed, share, tidemark.source_of(relation, series_id, period, first, ending), series_id, first, ending);
  nulls text := array_to_string(array(select 'null' from unnest(columns)), ', ');
  carried text;
begin
  perform tidemark.assert_given('gap_fill', gap_fill is null);
  if not gap_fill then
    if isempty(missing) then return stored || ' order by time'; end if;
    return format('with stored as materialized (%s), missing as (
        select distinct time from unnest(%L::tstzmultirange) r, lateral generate_series(
          greatest(date_bin(%L, lower(r), tidemark.grid_origin()), %L),
          upper(r) - interval ''1 microsecond'', %L::interval) time
      )
      select * from stored
      union all
      select time, %s, false, %s from missing where not exists (select from stored s where s.time = missing.time)
      order by time', stored, missing, period, first, period, nulls, share);
  end if;
  execute format('select %s from %s where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz
    and tstzrange(time, %L) <@ %L::tstzmultirange order by time desc limit 1', price,
    case when 'price_usd' = any (columns) then relation else 'tidemark.candle_points' end,
    series_id, lower(covered), first, first, covered) into carried;
  return format('with stored as materialized (%s), periods as (
      select time, %s, s.time is not null as is_stored, %s as coverage
      from generate_series(%L::timestamptz, %L::timestamptz - interval ''1 microsecond'', %L::interval) p (time)
      left join stored s using (time)
      where s.time is not null or time < %L
    ), runs as (
      select *, count(*) filter (where is_stored or coverage < 1) over (order by time) as run from periods
    ), carried as (
      select *, case when run = 0 then %L::numeric
                     else first_value(case when coverage = 1 then %s end) over (partition by run order by time) end
                  as last_price,
             not is_stored and coverage = 1 as filled
      from runs
    )
    select time, %s, filled, coverage from carried order by time',
    stored, listed, share, first, ending, period, closed, carried, price,
    array_to_string(array(select case when c = 'volume' then 'case when filled then 0 else volume end as volume'
                                      else format('case when filled then last_price else %s end as %s', c, c) end
                          from unnest(columns) c), ', '));
end $$;
comment on function tidemark.line_statement is
  'Internal: the statement that reads a line of points, with every value as a constant.';
