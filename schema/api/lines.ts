/**
 * From names to one line of points: its series, its relation, and its covered ranges. And how figures are
 * rounded.
 *
 * Figures are computed on NUMERIC throughout, to a stated number of digits. NUMERIC keeps every digit of a
 * sum and a product, so a state that is carried from row to row would grow without bound, and a quotient has
 * as many digits as its operands suggest. With rounding, the text is the same on every server.
 */

import { historyIntervals } from '../../model/intervals.ts';
import { gridOrigin } from '../../model/rollup-levels.ts';
import { rejectedPeriods } from '../../store/ledger/quarantine.ts';
import { example } from '../comments.ts';
import { quoted } from './statements.ts';

const ofHistories = historyIntervals.map((name) => `'${name}'`).join(', ');

export const lines = `
-- Coverage without the periods for which only invalid rows came: the source has something there, and nobody knows what.
create or replace function tidemark.known_ranges(series_id integer, covered tstzmultirange) returns tstzmultirange
language plpgsql stable parallel safe as $$
begin
  -- Planning the look-ups of points takes longer than most queries, and hardly any series has such a row.
  if not exists (select from tidemark.quarantine q
                 where q.dataset in ('candles', 'asset_history') and coalesce(q.series_id, 0) = $1) then
    return covered;
  end if;
  return (select $2 - ${rejectedPeriods('lower($2)', 'upper($2)')} from tidemark.series s where s.id = $1);
end $$;
comment on function tidemark.known_ranges is
  'Internal: the covered ranges of a series without the periods for which only invalid rows came.';

-- An asset's name, and its others by the aliases of the watch list: the id that stands for a code, or the codes of an id.
create or replace function tidemark.asset_names(exchange text, name text) returns setof text
language sql stable parallel safe as $$
  with known as (
    select code, asset from tidemark.asset_aliases a
    where source = exchange
       or source = '' and not exists (select from tidemark.asset_aliases o where o.source = exchange and o.code = a.code)
  )
  select name union select asset from known where code = name union select code from known where asset = name
$$;
comment on function tidemark.asset_names is
  'Internal: an asset as an exchange may name it, by id and by codes.';

-- The names of a series whose market is given by the codes of its source, or by the ids that stand for them.
create or replace function tidemark.own_names(exchange text, base text, quote text, out base_id text, out quote_id text)
language plpgsql stable parallel safe as $$
begin
  select s.base_id, s.quote_id into base_id, quote_id
  from tidemark.series s join tidemark.series_sources x on x.series_id = s.id
  join public.source_markets m on m.source = x.source and m.symbol = x.symbol
  where s.dataset = 'candles' and s.exchange_id = $1 and (s.base_id, s.quote_id) <> ($2, $3)
    and (($2, $3) = (m.base, m.quote) or ($2, $3) = (m.base_id, m.quote_id))
  limit 1;
  if found then return; end if;
  select s.base_id, s.quote_id into base_id, quote_id
  from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = $1 and (s.base_id, s.quote_id) <> ($2, $3)
    and s.base_id in (select tidemark.asset_names($1, $2)) and s.quote_id in (select tidemark.asset_names($1, $3))
  limit 1;
end $$;
comment on function tidemark.own_names is
  'Internal: the ids of a stored market that is given by the codes of its source.';

create or replace function tidemark.market_line(exchange text, base text, quote text, interval_name text,
  out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
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
    if own.base_id is not null then
      select l.series_id, l.relation, l.period, l.derived_from, l.covered, l.tracked
      into series_id, relation, period, derived_from, covered, tracked
      from tidemark.market_line(exchange, own.base_id, own.quote_id, interval_name) l;
      return;
    end if;
    perform tidemark.refuse_market(exchange, base, quote, interval_name);
  end if;
  relation := case when found_interval = interval_name then 'tidemark.candle_points'
                   else 'tidemark.rollup_' || interval_name end;
  derived_from := nullif(found_interval, interval_name);
  covered := tidemark.known_ranges(series_id, covered);
end $$;
comment on function tidemark.market_line is
  'Internal: the series, relation, period and coverage behind a market at an interval, stored or derived; unknown names are refused.';

create or replace function tidemark.sampled(relation text, period interval) returns text
language sql immutable parallel safe as $$
  select format('(select * from %s where time = date_bin(%L, time, ${quoted(gridOrigin)})) sampled', relation, period)
$$;
comment on function tidemark.sampled is
  'Internal: the points of a relation at which a longer period starts.';

-- The price of a longer period is that at its start, so that the shorter period there is all that has to be covered. Of a
-- covered range these are the longer periods from the first to the last that starts in it.
create or replace function tidemark.sampled_ranges(covered tstzmultirange, shorter interval, longer interval) returns tstzmultirange
language sql immutable parallel safe as $$
  select coalesce(range_agg(tstzrange(first, last + longer)) filter (where first <= last), '{}')
  from unnest(covered) r
  cross join lateral (
    select date_bin(longer, lower(r) - interval '1 microsecond', ${gridOrigin}) + longer as first,
           date_bin(longer, upper(r) - shorter, ${gridOrigin}) as last
  ) starts
$$;
comment on function tidemark.sampled_ranges is
  'Internal: the longer periods of which the shorter one at their start is covered.';

create or replace function tidemark.asset_line(asset text, interval_name text,
  out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  stored_period interval;
begin
  period := tidemark.interval_length(interval_name);
  if interval_name in (${ofHistories}) then
    select s.id, s.covered, s.tracked into series_id, covered, tracked
    from tidemark.series s where s.dataset = 'asset_history' and s.asset_id = asset and s.interval = interval_name
      and (s.untracked_at is null or s.points > 0);
    relation := 'tidemark.asset_history_points';
    if series_id is null then
      select s.id, s.covered, s.tracked, d.derived_from, s.period into series_id, covered, tracked, derived_from, stored_period
      from tidemark.derived_histories d join tidemark.series s on s.id = d.series_id
      where d.asset_id = asset and d.interval = interval_name;
      relation := tidemark.sampled(relation, period);
    end if;
  end if;
  if series_id is null then perform tidemark.refuse_asset(asset, interval_name); end if;
  covered := tidemark.known_ranges(series_id, covered);
  if derived_from is not null then covered := tidemark.sampled_ranges(covered, stored_period, period); end if;
end $$;
comment on function tidemark.asset_line is
  'Internal: the series, relation, period and coverage behind an asset at an interval; unknown names are refused.';

-- The id of a stored series, for queries of its points. It is looked up once for a statement.
create or replace function tidemark.series_id(exchange text, base text, quote text, interval_name text) returns integer
language plpgsql stable parallel safe as $$
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
  'The id of the stored series of the candles of a market, for queries of its points; unknown names are refused.${example("select * from tidemark.candle_points where series_id = tidemark.series_id('binance', 'bitcoin', 'tether', 'h1') order by time desc limit 10")}';

create or replace function tidemark.series_id(asset text, interval_name text) returns integer
language plpgsql stable parallel safe as $$
declare
  line record;
begin
  select * into line from tidemark.asset_line(asset, interval_name);
  if line.derived_from is null then return line.series_id; end if;
  raise exception '% has no series at %: those prices are derived', asset, interval_name using errcode = '22023',
    hint = format('tidemark.series_id(%L, %L) is the series that they are derived from', asset, line.derived_from);
end $$;
comment on function tidemark.series_id(text, text) is
  'The id of the stored series of the history of an asset, for queries of its points; unknown names are refused.${example("select * from tidemark.asset_history_points where series_id = tidemark.series_id('bitcoin', 'd1') order by time desc limit 10")}';

-- 'binance bitcoin/tether' is a market, 'bitcoin' an asset.
create or replace function tidemark.line_of(series text, interval_name text,
  out is_market boolean, out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  parts text[] := regexp_match(series, '^\\s*(\\S+)\\s+(.+?)/(.+?)\\s*$');
begin
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
  'Internal: the series, relation, period and coverage behind a market (binance bitcoin/tether) or an asset (bitcoin).';
`;

/**
 * Added to a value before it is divided, averaged, or its deviation is taken. PostgreSQL computes these to the digits of
 * their operands, or to about 16 figures: of prices with two decimals, a deviation of 10,000 had eight.
 */
export const fine = `0.${'0'.repeat(28)}`;

export const figures = `
-- A ratio: a return, a share, a correlation. 16 fraction digits.
create or replace function tidemark.ratio(x numeric) returns numeric language sql immutable parallel safe as $$
  select round(x, 16)
$$;
comment on function tidemark.ratio is
  'Internal: a ratio rounded to 16 fraction digits.';

-- From its text, because the logarithm of a small NUMERIC takes up to 10 ms.
create or replace function tidemark.zeros_after_point(x numeric) returns integer
language sql immutable parallel safe as $$
  select scale(x) - length(ltrim(abs(x)::text, '0.'))
$$;
comment on function tidemark.zeros_after_point is
  'Internal: of a number between -1 and 1 that is not 0, the zeros between the decimal point and the first other digit.';

-- A price: 16 fraction digits, as most of the source's; 28 below 0.1, and more where those would be fewer than 16 figures.
create or replace function tidemark.price_figure(x numeric) returns numeric language sql immutable parallel safe as $$
  select round(x, case when abs(x) >= 0.1 then 16 when abs(x) < 1e-12 and x <> 0 then 17 + tidemark.zeros_after_point(x) else 28 end)
$$;
comment on function tidemark.price_figure is
  'Internal: a price rounded to 16 fraction digits, below 0.1 to 28, and to no fewer than 16 figures.';

create or replace function tidemark.simple_return(price numeric, before numeric) returns numeric
language sql immutable parallel safe as $$
  select case when before <> 0 then tidemark.ratio((price + ${fine}) / before - 1) end
$$;
comment on function tidemark.simple_return is
  'Internal: the return from one price to the next, 0.01 for 1 %; null after a price of zero.';

create or replace function tidemark.log_return(price numeric, before numeric) returns numeric
language sql immutable parallel safe as $$
  select case when price > 0 and before > 0 then ln((price + ${fine}) / before) end
$$;
comment on function tidemark.log_return is
  'Internal: the logarithmic return from one price to the next, to 28 decimals or more; null where one is not above zero.';

-- Periods in a year of 365 days: crypto markets do not close.
create or replace function tidemark.periods_per_year(interval_name text) returns numeric
language sql immutable parallel safe as $$
  select 31536000 / extract(epoch from tidemark.interval_length(interval_name))
$$;
comment on function tidemark.periods_per_year is
  'Internal: periods of an interval in a year of 365 days.';

create or replace function tidemark.count_of(periods integer, at_least integer) returns integer
language plpgsql immutable parallel safe as $$
begin
  if periods >= at_least then return periods; end if;
  raise exception 'periods must be % or more, and is %', at_least, coalesce(periods::text, 'null') using errcode = '22023';
end $$;
comment on function tidemark.count_of is
  'Internal: a number of periods, refused where it is too small.';
`;
