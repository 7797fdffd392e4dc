-- Values that the source changed later, and series as they were known at a time.
--
-- Of a covered period every value is kept: the present one with the points, and each earlier one in
-- tidemark.point_revisions with the time of the observed change. So the value known at T is the one before the first
-- change observed after T. Values of a candle while it was open are not kept, nor the time when a point was first
-- stored.

--: view public.revisions
create or replace view public.revisions as
  select s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.asset_id as asset, s.interval,
         r.time, r.seen_at, r.before,
         coalesce(
           (select n.before from tidemark.point_revisions n
            where n.series_id = r.series_id and n.time = r.time and n.seen_at > r.seen_at order by n.seen_at limit 1),
           (select jsonb_build_object('open', open, 'high', high, 'low', low, 'close', close, 'volume', volume)
            from tidemark.candle_points p
            where s.dataset = 'candles' and p.series_id = r.series_id and p.time = r.time),
           (select jsonb_build_object('price_usd', price_usd) from tidemark.asset_history_points p
            where s.dataset = 'asset_history' and p.series_id = r.series_id and p.time = r.time)
         ) as after
  from tidemark.point_revisions r join tidemark.series s on s.id = r.series_id;
comment on view public.revisions is
  'Values of closed periods that the service changed later: what they were before, what they became, and when that '
  'was seen.
Example: select * from revisions order by seen_at desc limit 10';

--: function tidemark.tell_beginning(integer, timestamptz)
create or replace function tidemark.tell_beginning(series_id integer, known_at timestamptz) returns void
language plpgsql stable parallel safe as $$
declare
  begun timestamptz := (select s.created_at from tidemark.series s where s.id = $1);
begin
  if known_at is null then
    raise exception 'known_at must be given, and is null' using errcode = '22004';
  end if;
  if known_at < begun then
    raise notice 'nothing of the series was stored at %: it is tracked since %', known_at, begun
      using detail = 'the answer is what the service gave later, without the changes that were seen since';
  end if;
end $$;
comment on function tidemark.tell_beginning is
  'Internal: raises a notice where a time is before the beginning of a series here; null is refused.';

--: function tidemark.points_known_at(text, text[], integer, timestamptz, timestamptz, timestamptz)
create or replace function tidemark.points_known_at(points text, columns text[], series_id integer,
  known_at timestamptz, first timestamptz, ending timestamptz)
returns text language sql stable parallel safe as $$
  select format('(
      select series_id, p.time, %5$s, r.seen_at as changed_at
      from %6$s p left join (
        select distinct on (time) time, before, seen_at from tidemark.point_revisions
        where series_id = %1$s and seen_at > %2$L::timestamptz
          and time >= %3$L::timestamptz and time < %4$L::timestamptz
        order by time, seen_at
      ) r using (time)
      where series_id = %1$s and p.time >= %3$L::timestamptz and p.time < %4$L::timestamptz
    ) points', series_id, known_at, first, ending,
    (select string_agg(format('coalesce((r.before ->> %1$L)::numeric, p.%1$I) as %1$I', c), ', ')
     from unnest(columns) c),
    points)
$$;
comment on function tidemark.points_known_at is
  'Internal: the points of a table for a range of a series, with the values that were known at a time.';

--: function public.candles_as_known_at(text, text, text, text, timestamptz, timestamptz, timestamptz)
create or replace function public.candles_as_known_at(exchange text, base text, quote text, interval_name text,
  known_at timestamptz, from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, open numeric, high numeric, low numeric, close numeric, volume numeric,
               changed_at timestamptz, coverage numeric)
language plpgsql stable parallel safe as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  known text;
begin
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  perform tidemark.tell_beginning(line.series_id, known_at);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  -- A period that had not ended at known_at was not known in its present form.
  asked.ending := greatest(asked.first, least(asked.ending, date_bin(line.period, known_at, tidemark.grid_origin())));
  asked.closed := least(asked.closed, asked.ending);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.first, asked.closed);
  known := tidemark.points_known_at('tidemark.candle_points', '{open,high,low,close,volume}', line.series_id, known_at,
                                    asked.first, asked.ending);
  if line.derived_from is not null then
    known := format('(
      select series_id, date_bin(%L, time, tidemark.grid_origin()) as time, %s, count(*) as points,
             min(changed_at) as changed_at
      from %s group by 1, 2
    ) rolled_up', line.period, tidemark.grouped_candle(), known);
  end if;
  return query execute format('select time, open, high, low, close, volume, changed_at, coverage from (%s) line',
    tidemark.line_statement(known, line.series_id, '{open,high,low,close,volume,changed_at}', line.period, line.covered,
      asked.first, asked.ending, asked.closed, false));
end $$;
comment on function public.candles_as_known_at is
  'Candles whose periods had ended at known_at, with the values of then. changed_at is when the next change of the '
  'row was seen (null: it is still the same).
Example: select * from candles_as_known_at(''binance'', ''bitcoin'', ''tether'', ''h1'', ''2024-06-02'', '
  '''2024-06-01'')';

--: function public.history_as_known_at(text, text, timestamptz, timestamptz, timestamptz)
create or replace function public.history_as_known_at(asset text, interval_name text, known_at timestamptz,
  from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, price_usd numeric, changed_at timestamptz, coverage numeric)
language plpgsql stable parallel safe as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  known text;
begin
  select * into line from tidemark.asset_line(asset, interval_name);
  perform tidemark.tell_beginning(line.series_id, known_at);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  -- A period that had not ended at known_at was not known in its present form.
  asked.ending := greatest(asked.first, least(asked.ending, date_bin(line.period, known_at, tidemark.grid_origin())));
  asked.closed := least(asked.closed, asked.ending);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.first, asked.closed);
  known := tidemark.points_known_at('tidemark.asset_history_points', '{price_usd}', line.series_id, known_at,
                                    asked.first, asked.ending);
  if line.derived_from is not null then
    known := tidemark.sampled(known, line.period);
  end if;
  return query execute format('select time, price_usd, changed_at, coverage from (%s) line',
    tidemark.line_statement(known, line.series_id, '{price_usd,changed_at}', line.period, line.covered,
      asked.first, asked.ending, asked.closed, false));
end $$;
comment on function public.history_as_known_at is
  'Price history of an asset with the values that were known at a time; see candles_as_known_at.
Example: select * from history_as_known_at(''bitcoin'', ''d1'', ''2024-06-02'', ''2024-05-01'')';
