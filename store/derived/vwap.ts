/** The volume-weighted average price, by bucket and since the session's start. */

import { candleIntervals } from '../../contract/intervals.ts';
import { gridOrigin } from './levels.ts';
import { ranged } from './returns.ts';
import { quoted } from './statements.ts';

const origin = quoted(gridOrigin);
const intervals = candleIntervals.map((name) => `'${name}'`).join(', ');

/**
 * From the finest stored candles that cover the range best: a candle counts with its typical price, a third of high,
 * low and close together, so the finer they are the nearer is the result to the trades. Sums are exact; the one
 * division comes last.
 */
export const vwap = `
create or replace function tidemark.vwap_statement(exchange text, base text, quote text, interval_name text,
  from_time timestamptz, to_time timestamptz, session text) returns text
language plpgsql stable parallel safe as $$
declare
  line record;
  asked record;
  source record;
  session_length interval;
begin
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  session_length := tidemark.interval_length(coalesce(session, case when line.period > interval '24 hours' then interval_name else 'd1' end));
  if session_length < line.period then
    raise exception 'a session of % is shorter than the interval %', session, interval_name using errcode = '22023';
  end if;
  select s.id, s.interval, s.covered, s.tracked into source from tidemark.series s
  where s.dataset = 'candles' and s.exchange_id = $1 and s.base_id = $2 and s.quote_id = $3
    and s.interval in (${intervals}) and extract(epoch from line.period) % extract(epoch from s.period) = 0
  order by tidemark.share_covered(s.covered, tstzrange(asked.first, greatest(asked.closed, asked.first))) desc, s.period
  limit 1;
  perform tidemark.tell_coverage(source.id, source.covered, source.tracked, asked.first, asked.closed);
  return format('select time, case when volume > 0 then tidemark.price_figure(turnover / (3 * volume)) end as vwap, volume,
      case when sum(volume) over w > 0 then tidemark.price_figure(sum(turnover) over w / (3 * sum(volume) over w)) end as session_vwap,
      candles::bigint, %L::text as derived_from, coverage
    from (%s) buckets
    window w as (partition by date_bin(%L, time, ${origin}) order by time)
    order by time',
    source.interval,
    tidemark.line_statement(format('(
        select series_id, date_bin(%L, time, ${origin}) as time, sum(volume) as volume,
               sum((high + low + close) * volume) as turnover, count(*)::numeric as candles
        from tidemark.candle_points where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz
        group by 1, 2
      ) candles', line.period, source.id, asked.first, asked.ending),
      source.id, '{volume,turnover,candles}', line.period, source.covered, asked.first, asked.ending, asked.closed, false),
    session_length);
end $$;

create or replace function public.vwap(exchange text, base text, quote text, interval_name text default 'd1', ${ranged},
  session text default null)
returns table ("time" timestamptz, vwap numeric, volume numeric, session_vwap numeric, candles bigint, derived_from text,
               coverage numeric)
language plpgsql stable parallel safe as $$
begin
  return query execute tidemark.vwap_statement(exchange, base, quote, interval_name, from_time, to_time,
                                               session);
end $$;
comment on function public.vwap is
  'Volume-weighted average price of each period, and since the beginning of its session (an interval, UTC; by default the day, or the period where that is longer), from the finest stored candles that cover the range best (derived_from), each with its typical price (high + low + close) / 3.';
`;
