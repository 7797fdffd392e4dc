-- Errors for unknown names, with suggestions: never an empty result. They tell an unknown name from an untracked
-- combination.
--
-- The distance counts edits of one character (insert, delete, replace, or swap with the neighbour), ignoring case. The
-- symbol of a currency or an asset counts like its name (BTC is near bitcoin), and the asset of a quote like the quote
-- (tether is near tether:tether). It is written in PL/pgSQL, so that no
-- extension is needed. It runs only before an error, and reads 40 characters of a name.

--: function tidemark.edit_distance(text, text)
create or replace function tidemark.edit_distance(a text, b text) returns integer
language plpgsql immutable strict parallel safe as $$
declare
  x text[] := string_to_array(left(lower(a), 40), null);
  y text[] := string_to_array(left(lower(b), 40), null);
  before integer[];
  previous integer[];
  row integer[];
  cost integer;
  best integer;
begin
  -- Element j + 1 of a row is the distance to the first j characters of the second name.
  previous := array(select generate_series(0, cardinality(y)));
  for i in 1 .. cardinality(x) loop
    row := array[i];
    for j in 1 .. cardinality(y) loop
      cost := case when x[i] = y[j] then 0 else 1 end;
      best := least(previous[j + 1] + 1, row[j] + 1, previous[j] + cost);
      if i > 1 and j > 1 and x[i] = y[j - 1] and x[i - 1] = y[j] then
        best := least(best, before[j - 1] + 1);
      end if;
      row := row || best;
    end loop;
    before := previous;
    previous := row;
  end loop;
  return previous[cardinality(y) + 1];
end $$;
comment on function tidemark.edit_distance is
  'Internal: edits of one character between two names, ignoring case, of the first 40 characters.';

--: function tidemark.near_names(text, text[])
create or replace function tidemark.near_names(given text, known text[]) returns text[]
language sql stable strict parallel safe as $$
  select coalesce(array_agg(name order by distance, name), '{}')
  from (
    select name, case when same then 0 else tidemark.edit_distance(given, name) end as distance
    from (
      select k.name,
             lower(split_part(k.name, ':', 1)) = lower(given)
             or exists (select from tidemark.currencies c where c.currency = k.name
                                                          and lower(c.symbol) = lower(given)) as same
      from unnest(known) k (name)
    ) named
    where same or abs(length(name) - length(given)) <= greatest(2, least(length(given), 40) / 3)
    order by 2, 1 limit 3
  ) nearest
  where distance <= greatest(2, least(length(given), 40) / 3)
$$;
comment on function tidemark.near_names is
  'Internal: up to three known names that resemble a given one.';

--: function tidemark.refuse_name(text, text, text[], text)
create or replace function tidemark.refuse_name(what text, given text, known text[], of_where text default '')
returns void
language plpgsql stable parallel safe as $$
declare
  near text[] := tidemark.near_names(given, known);
  listed text := array_to_string((array(select k from unnest(known) k order by k))[1:12], ', ');
begin
  if given is null then
    raise exception '% must be given, and is null', what using errcode = '22004',
      hint = format('known: %s', listed);
  elsif cardinality(known) = 0 then
    raise exception 'unknown % "%": nothing is tracked%', what, left(given, 200), of_where using errcode = '22023',
      hint = 'tidemark track, or tidemark backfill, begins a series; select * from coverage lists what there is';
  end if;
  raise exception 'unknown % "%"%', what, left(given, 200), of_where using errcode = '22023',
    hint = case when cardinality(near) > 0
                then format('did you mean %s?', (select string_agg(format('"%s"', n), ' or ' order by place)
                                                 from unnest(near) with ordinality as u (n, place)))
                else format('nothing known is near; known: %s%s', listed,
                            case when cardinality(known) > 12 then ', and more' else '' end) end;
end $$;
comment on function tidemark.refuse_name is
  'Internal: refuses a name, with known names that resemble it.';

--: function tidemark.interval_length(text)
-- The length of an interval. Seconds, never days: a day of the session's time zone may have 23 hours.
create or replace function tidemark.interval_length(interval_name text) returns interval
language plpgsql immutable parallel safe as $$
declare
  length interval := (select l.length from tidemark.interval_lengths l where l.interval = interval_name);
  turned text := (regexp_match(lower(interval_name), '^(\d+) ?(m|h|d|w)'))[2]
              || (regexp_match(lower(interval_name), '^(\d+) ?(m|h|d|w)'))[1];
begin
  if length is null then
    if exists (select from tidemark.interval_lengths l where l.interval = turned) then
      raise exception 'unknown interval "%"', left(interval_name, 200) using errcode = '22023',
        hint = format('did you mean "%s"?', turned);
    end if;
    perform tidemark.refuse_name('interval', interval_name,
                                 array(select l.interval from tidemark.interval_lengths l));
  end if;
  return length;
end $$;
comment on function tidemark.interval_length is
  'Internal: the length of an interval by its name; an unknown one is refused.';

--: function tidemark.market_names(text)
-- Ids, the codes of sources that stand for them, and the aliases.
create or replace function tidemark.market_names(of_dataset text default 'candles')
returns table (exchange_id text, base_id text, quote_id text, base text, quote text)
language plpgsql stable parallel safe as $$
begin
  return query
  select s.exchange_id, s.base_id, s.quote_id, s.base_id, s.quote_id from tidemark.series s
  where s.dataset = of_dataset and (s.untracked_at is null or s.points > 0)
  union
  select s.exchange_id, s.base_id, s.quote_id, m.base, m.quote
  from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
  join public.source_markets m on m.source = x.source and m.symbol = x.symbol
  where s.dataset = of_dataset and (s.untracked_at is null or s.points > 0)
  union
  select s.exchange_id, s.base_id, s.quote_id, own_base, own_quote
  from tidemark.series s
  cross join lateral tidemark.asset_names(s.exchange_id, s.base_id) own_base
  cross join lateral tidemark.quote_names(s.exchange_id, s.quote_id) own_quote
  where s.dataset = of_dataset and (s.untracked_at is null or s.points > 0);
end $$;
comment on function tidemark.market_names(text) is
  'Internal: the names of the tracked markets of a dataset, in ids and in the codes of their sources.';

--: function tidemark.refuse_market(text, text, text, text, text)
create or replace function tidemark.refuse_market(exchange text, base text, quote text, interval_name text,
  of_dataset text default 'candles') returns void
language plpgsql stable parallel safe as $$
declare
  names text[];
  tracked text;
  of_where text := case when of_dataset = 'candles' then '' else ' in ' || of_dataset end;
begin
  select coalesce(array_agg(distinct exchange_id), '{}') into names from tidemark.series s
  where dataset = of_dataset and (s.untracked_at is null or s.points > 0);
  if exchange = any (names) is not true then
    select string_agg(distinct s.exchange_id, ', ') into tracked
    from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
    where x.source = exchange and s.exchange_id = any (names);
    if tracked is not null then
      raise exception 'unknown exchange "%"%: it is a source', left(exchange, 200), of_where using errcode = '22023',
        hint = format('its series are of the exchange %s', tracked);
    end if;
    perform tidemark.refuse_name('exchange', exchange, names, of_where);
  end if;
  -- Suggestions are names of this exchange, and quotes of this base, if it has any.
  if not exists (select from tidemark.market_names(of_dataset) m where m.base = $2) then
    select string_agg(distinct format('%s of %s is %L, %L', x.symbol, x.source, s.base_id, s.quote_id), '; ')
    into tracked
    from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
    where s.dataset = of_dataset and s.exchange_id = exchange and lower(x.symbol) = lower($2)
      and (s.untracked_at is null or s.points > 0);
    if tracked is not null then
      raise exception 'unknown base "%"%: it is the symbol of a market', left(base, 200), of_where
        using errcode = '22023', hint = tracked;
    end if;
    select array_agg(distinct m.base) into names from tidemark.market_names(of_dataset) m where m.exchange_id = $1;
    perform tidemark.refuse_name('base', base, names, of_where);
  end if;
  if not exists (select from tidemark.market_names(of_dataset) m where m.quote = $3) then
    -- In ids or in codes, not one part of each, though such a quote is known too.
    select coalesce(array_agg(distinct m.quote) filter (where m.base = $2), array_agg(distinct m.quote)) into names
    from (
      select n.base, n.quote, in_codes, max(in_codes) over (partition by n.quote_id) as most
      from tidemark.market_names(of_dataset) n
      cross join lateral tidemark.quote_parts(n.quote) p
      cross join lateral tidemark.quote_parts(n.quote_id) i
      cross join lateral (values ((p.asset <> i.asset)::integer + coalesce(p.settle <> i.settle, false)::integer))
        as v (in_codes)
      where n.exchange_id = $1
    ) m where in_codes in (0, most);
    perform tidemark.refuse_name('quote', quote, names, of_where);
  end if;

  select string_agg(s.interval, ', ' order by s.period) into tracked from tidemark.series s
  where s.dataset = of_dataset and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote
    and (s.untracked_at is null or s.points > 0);
  if tracked is not null and of_dataset <> 'candles' then
    raise exception '% %/% is not tracked at %', exchange, base, quote, interval_name || of_where
      using errcode = '22023', hint = format('tracked: %s', tracked);
  elsif tracked is not null then
    raise exception 'the candles of % %/% are not tracked at %, and do not follow from finer ones',
      exchange, base, quote, interval_name using errcode = '22023',
      hint = format('tracked: %s; from these follow: %s', tracked, (
        select coalesce(string_agg(d.interval, ', ' order by tidemark.interval_length(d.interval)), 'none')
        from tidemark.derived_series d where d.exchange_id = exchange and d.base_id = base and d.quote_id = quote));
  end if;
  select string_agg(name, ', ' order by name) into tracked from (
    select distinct format('%s %s/%s', m.exchange_id, m.base_id, m.quote_id) as name
    from tidemark.market_names(of_dataset) m
    where m.base = $2 and (m.quote = $3 or m.exchange_id = $1)
    order by 1 limit 12
  ) near;
  raise exception 'no market %/% is tracked on %', base, quote, exchange || of_where using errcode = '22023',
    hint = case when tracked is null then 'select * from coverage lists what is tracked'
                else format('tracked: %s', tracked) end;
end $$;
comment on function tidemark.refuse_market(text, text, text, text, text) is
  'Internal: refuses a market or its interval in a dataset, with suggestions.';

--: function tidemark.refuse_asset(text, text)
create or replace function tidemark.refuse_asset(asset text, interval_name text) returns void
language plpgsql stable parallel safe as $$
declare
  assets text[];
  tracked text;
  known text[] := array(
    select i.interval from tidemark.dataset_intervals i where i.dataset = 'asset_history' order by i.length);
begin
  select coalesce(array_agg(distinct asset_id), '{}') into assets from tidemark.series s
  where dataset = 'asset_history' and (s.untracked_at is null or s.points > 0);
  if asset = any (assets) is not true then
    perform tidemark.refuse_name('asset', asset, assets,
      case when exists (select from tidemark.series s
                        where s.base_id = asset and (s.untracked_at is null or s.points > 0))
           then ': its history is not tracked, though it is the base of a market' else '' end);
  end if;
  if interval_name <> all (known) then
    raise exception 'no price history has the interval "%"', interval_name using errcode = '22023',
      hint = format('it is one of %s', array_to_string(known, ', '));
  end if;
  select string_agg(s.interval, ', ' order by s.period) into tracked from tidemark.series s
  where s.asset_id = asset and (s.untracked_at is null or s.points > 0);
  raise exception 'the price history of % is not tracked at %', asset, interval_name using errcode = '22023',
    hint = format('tracked: %s; %s', tracked,
      case when interval_name = 'd1' then 'the mean of a day follows from none of them' else (
        select format('from these follow: %s', coalesce(string_agg(d.interval, ', ' order by d.period), 'none'))
        from tidemark.derived_histories d where d.asset_id = asset) end);
end $$;
comment on function tidemark.refuse_asset is
  'Internal: refuses an asset or its interval, with suggestions.';
