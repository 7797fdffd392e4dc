/**
 * Values that the source changed later, and series as they were known at a time.
 *
 * Of a covered period every value is kept: the present one with the points, and each earlier one in
 * `tidemark.point_revisions` with the time of the observed change. So the value known at T is the one before
 * the first change observed after T. Values of a candle while it was open are not kept, nor the time when a
 * point was first stored.
 */

import { gridOrigin } from '../../model/rollup-levels.ts';
import { rollupColumns } from '../../store/upkeep/rollup-definitions.ts';
import { example } from '../comments.ts';
import { ranged } from './returns.ts';
import { quoted } from './statements.ts';

const candleValues = ['open', 'high', 'low', 'close', 'volume'];

/**
 * The body of a function with the argument `known_at`, for the line `from` whose points are in `table`.
 *
 * @param derived an expression for the relation of a longer period, from that of the points, `known`.
 */
const body = (
  table: string,
  columns: readonly string[],
  from: string,
  derived: string,
) => `language plpgsql stable parallel safe as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  begun timestamptz;
  known text;
begin
  select * into line from ${from};
  if known_at is null then
    raise exception 'known_at must be given, and is null' using errcode = '22004';
  end if;
  select created_at into begun from tidemark.series where id = line.series_id;
  if known_at < begun then
    raise notice 'nothing of the series was stored at %: it is tracked since %', known_at, begun
      using detail = 'the answer is what the service gave later, without the changes that were seen since';
  end if;
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  -- A period that had not ended at known_at was not known in its present form.
  asked.ending := greatest(asked.first, least(asked.ending, date_bin(line.period, known_at, ${gridOrigin})));
  asked.closed := least(asked.closed, asked.ending);
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.first, asked.closed);
  known := format('(
      select series_id, p.time, ${columns.map((column) => `coalesce((r.before ->> ''${column}'')::numeric, p.${column}) as ${column}`).join(', ')},
             r.seen_at as changed_at
      from tidemark.${table} p left join (
        select distinct on (time) time, before, seen_at from tidemark.point_revisions
        where series_id = %1$s and seen_at > %2$L::timestamptz and time >= %3$L::timestamptz and time < %4$L::timestamptz
        order by time, seen_at
      ) r using (time)
      where series_id = %1$s and p.time >= %3$L::timestamptz and p.time < %4$L::timestamptz
    ) points', line.series_id, known_at, asked.first, asked.ending);
  if line.derived_from is not null then
    known := ${derived};
  end if;
  return query execute format('select time, ${columns.join(', ')}, changed_at, coverage from (%s) line',
    tidemark.line_statement(known, line.series_id, '{${columns.join(',')},changed_at}', line.period, line.covered,
      asked.first, asked.ending, asked.closed, false));
end $$;`;

/** A change of any of its points changes a derived candle. */
const grouped = `format('(
      select ${quoted(rollupColumns('%1$L'))}, min(changed_at) as changed_at from %2$s group by 1, 2
    ) rolled_up', line.period, known)`;

export const revisions = `
create or replace view public.revisions as
  select s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.asset_id as asset, s.interval,
         r.time, r.seen_at, r.before,
         coalesce(
           (select n.before from tidemark.point_revisions n
            where n.series_id = r.series_id and n.time = r.time and n.seen_at > r.seen_at order by n.seen_at limit 1),
           (select jsonb_build_object('open', open, 'high', high, 'low', low, 'close', close, 'volume', volume)
            from tidemark.candle_points p where s.dataset = 'candles' and p.series_id = r.series_id and p.time = r.time),
           (select jsonb_build_object('price_usd', price_usd) from tidemark.asset_history_points p
            where s.dataset = 'asset_history' and p.series_id = r.series_id and p.time = r.time)
         ) as after
  from tidemark.point_revisions r join tidemark.series s on s.id = r.series_id;
comment on view public.revisions is
  'Values of closed periods that the service changed later: what they were before, what they became, and when that was seen.${example('select * from revisions order by seen_at desc limit 10')}';

create or replace function public.candles_as_known_at(exchange text, base text, quote text, interval_name text,
  known_at timestamptz, ${ranged})
returns table ("time" timestamptz, open numeric, high numeric, low numeric, close numeric, volume numeric,
               changed_at timestamptz, coverage numeric)
${body('candle_points', candleValues, 'tidemark.market_line(exchange, base, quote, interval_name)', grouped)}
comment on function public.candles_as_known_at is
  'Candles whose periods had ended at known_at, with the values of then. changed_at is when the next change of the row was seen (null: it is still the same).${example("select * from candles_as_known_at('binance', 'bitcoin', 'tether', 'h1', '2024-06-02', '2024-06-01')")}';

create or replace function public.history_as_known_at(asset text, interval_name text, known_at timestamptz, ${ranged})
returns table ("time" timestamptz, price_usd numeric, changed_at timestamptz, coverage numeric)
${body('asset_history_points', ['price_usd'], 'tidemark.asset_line(asset, interval_name)', 'tidemark.sampled(known, line.period)')}
comment on function public.history_as_known_at is
  'Price history of an asset with the values that were known at a time; see candles_as_known_at.${example("select * from history_as_known_at('bitcoin', 'd1', '2024-06-02', '2024-05-01')")}';
`;
