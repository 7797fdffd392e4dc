/**
 * The views people query, with names instead of ids.
 *
 * Each looks a series up by its names and then reads that one series' points by a lateral subquery. The subquery is a
 * UNION ALL with nothing, which keeps the planner from turning it into a join: that could read the whole of a rollup to
 * find one series in it. Conditions on the time still reach the points, so that chunks are excluded.
 */

import type { DerivedObject } from './derived-object.ts';
import { type RollupLevel, rollupLevels } from './levels.ts';
import { bucketed } from './rollups.ts';

const market = 'exchange_id, base_id, quote_id';
const values = 'open, high, low, close, volume';
const noValues = 'null, null, null, null, null';

const storedCandles = `
    select s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.interval,
           p.time, p.open, p.high, p.low, p.close, p.volume,
           null::text as derived_from, null::bigint as points
    from tidemark.series s
    cross join lateral (
      select time, ${values} from tidemark.candle_points where series_id = s.id
      union all select null, ${noValues} from tidemark.series where false
    ) p
    where s.dataset = 'candles'`;

/**
 * The interval stands outside of what is read, which is a UNION ALL again, and has a condition of its own that always
 * holds. Both keep the planner from merging the two, so that of the levels that a query does not ask for nothing is
 * planned but the comparison of their names. (That took planning from 7 ms to 2, with eleven years in 135 chunks.)
 */
const derivedCandles = (level: RollupLevel, timescale: boolean) => `
    select exchange_id, base_id, quote_id, '${level.interval}', time, ${values}, derived_from, points
    from (
      ${timescale ? `with behind as materialized (select * from tidemark.behind('${level.name}'))` : ''}
      select d.exchange_id, d.base_id, d.quote_id, d.derived_from, p.*
      from tidemark.derived_series d
      cross join lateral (
        select time, ${values}, points from ${level.name} where series_id = d.series_id
        ${timescale ? instead(level) : `union all select null, ${noValues}, null from tidemark.series where false`}
      ) p
      where d.interval = '${level.interval}'
      union all select null, null, null, null, null, ${noValues}, null from tidemark.series where false
    ) ${level.interval}
    where time is not null`;

/** Where a continuous aggregate awaits a refresh the points answer, so that it never disagrees with them. */
const instead = (level: RollupLevel) => `
          and not time <@ (select ranges from behind)
        union all
        select ${bucketed(level)}
        from tidemark.candle_points
        where series_id = d.series_id and time <@ (select ranges from behind)
          and time >= (select first from behind) and time < (select ending from behind)
        group by 1`;

/**
 * Which stored series answers for an interval that a market has no series of: of those whose periods make up whole
 * ones of it, the finest that covers at most a day less than the one that covers most. A series that is not tracked any
 * more, and never got a point, counts for nothing.
 */
const derivedSeries = `
  create or replace view tidemark.derived_series as
    select distinct on (${market}, interval) ${market}, interval, series_id, derived_from
    from (
      select *, max(covered) over (partition by ${market}, interval) as longest
      from (
        select s.exchange_id, s.base_id, s.quote_id, l.interval, s.id as series_id, s.interval as derived_from, s.period,
               (select coalesce(sum(upper(r) - lower(r)), '0') from unnest(s.covered) r) as covered
        from tidemark.series s
        join (values ${rollupLevels.map(({ interval, finer }) => `('${interval}', '{${finer.join(',')}}'::text[])`).join(', ')})
          as l (interval, finer) on s.interval = any (l.finer)
        where s.dataset = 'candles'
      ) finer
    ) measured
    where covered >= longest - interval '1 day' and not exists (
      select from tidemark.series t
      where (t.untracked_at is null or t.points > 0) and t.dataset = 'candles' and t.exchange_id = measured.exchange_id and t.base_id = measured.base_id
        and t.quote_id = measured.quote_id and t.interval = measured.interval
    )
    order by ${market}, interval, period`;

/** In the order of making them. @param timescale whether the points are a hypertable. */
export const viewObjects = (timescale: boolean): readonly DerivedObject[] => [
  view('tidemark.derived_series', derivedSeries),
  {
    ...view(
      'public.candles',
      `create or replace view public.candles as ${[storedCandles, ...rollupLevels.map((level) => derivedCandles(level, timescale))].join('\n    union all')}`,
    ),
    // Of the same columns, so that a user's view on it lives on.
    detach: `create or replace view public.candles as ${storedCandles}`,
  },
  view(
    'public.latest_candles',
    `
  create or replace view public.latest_candles as
    select s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.interval,
           p.time, p.open, p.high, p.low, p.close, p.volume
    from tidemark.series s
    cross join lateral (
      select time, ${values} from tidemark.candle_points
      where series_id = s.id and time >= s.newest order by time desc limit 1
    ) p
    where s.dataset = 'candles'`,
  ),
  view(
    'public.asset_history',
    `
  create or replace view public.asset_history as
    select s.asset_id as asset, s.interval, p.time, p.price_usd
    from tidemark.series s
    cross join lateral (
      select time, price_usd from tidemark.asset_history_points where series_id = s.id
      union all select null, null from tidemark.series where false
    ) p
    where s.dataset = 'asset_history'`,
  ),
  view(
    'public.latest_prices',
    `
  create or replace view public.latest_prices as
    select s.asset_id as asset, s.interval, p.time, p.price_usd
    from tidemark.series s
    cross join lateral (
      select time, price_usd from tidemark.asset_history_points
      where series_id = s.id and time >= s.newest order by time desc limit 1
    ) p
    where s.dataset = 'asset_history'`,
  ),
  view(
    'public.latest_rates',
    `
  create or replace view public.latest_rates as
    select c.currency, c.symbol, c.type, p.time, p.rate_usd
    from tidemark.currencies c
    cross join lateral (
      select time, rate_usd from tidemark.rate_points where currency_id = c.id order by time desc limit 1
    ) p`,
  ),
];

function view(name: string, create: string): DerivedObject {
  return Object.freeze({ name, create, drop: `drop view ${name}` });
}
