/** From names to one line of points: which series and which relation hold it, and what of it is covered. */

import { historyIntervals } from '../../contract/intervals.ts';

const ofHistories = historyIntervals.map((name) => `'${name}'`).join(', ');

export const lines = `
create or replace function tidemark.market_line(exchange text, base text, quote text, interval_name text,
  out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
declare
  found_interval text;
begin
  period := tidemark.interval_length(interval_name);
  -- The series itself, or the one that the view candles takes it from.
  select s.id, s.interval, s.covered, s.tracked into series_id, found_interval, covered, tracked
  from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = exchange and s.base_id = base and s.quote_id = quote
    and s.interval = interval_name and (s.untracked_at is null or s.points > 0);
  if series_id is null then
    select s.id, s.interval, s.covered, s.tracked into series_id, found_interval, covered, tracked
    from tidemark.derived_series d join tidemark.series s on s.id = d.series_id
    where d.exchange_id = exchange and d.base_id = base and d.quote_id = quote and d.interval = interval_name;
  end if;
  if series_id is null then perform tidemark.refuse_market(exchange, base, quote, interval_name); end if;
  relation := case when found_interval = interval_name then 'tidemark.candle_points'
                   else 'tidemark.rollup_' || interval_name end;
  derived_from := nullif(found_interval, interval_name);
end $$;

create or replace function tidemark.asset_line(asset text, interval_name text,
  out series_id integer, out relation text, out period interval, out derived_from text,
  out covered tstzmultirange, out tracked tstzrange)
language plpgsql stable parallel safe as $$
#variable_conflict use_variable
begin
  period := tidemark.interval_length(interval_name);
  if interval_name in (${ofHistories}) then
    select s.id, s.covered, s.tracked into series_id, covered, tracked
    from tidemark.series s where s.dataset = 'asset_history' and s.asset_id = asset and s.interval = interval_name;
  end if;
  if series_id is null then perform tidemark.refuse_asset(asset, interval_name); end if;
  relation := 'tidemark.asset_history_points';
end $$;

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
`;
