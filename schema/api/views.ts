/**
 * The views that people query, with names instead of ids.
 *
 * Each finds a series by its names and then reads that series' points in a lateral subquery. The subquery is
 * a UNION ALL with an empty part, which keeps the planner from turning it into a join: a join might read a
 * whole rollup to find one series in it. Conditions on the time still reach the points, so chunks are
 * excluded.
 */

import { historyIntervals, intervalMs } from '../../model/intervals.ts';
import { gridOrigin, type RollupLevel, rollupLevels } from '../../model/rollup-levels.ts';
import { example } from '../comments.ts';

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
 * The interval is outside the subquery, which is a UNION ALL again, and has a condition that always holds.
 * Both keep the planner from merging the two, so for a level that is not requested only the comparison of
 * names is planned. (Planning took 2 ms instead of 7, with eleven years in 135 chunks.)
 */
const derivedCandles = (level: RollupLevel) => `
    select exchange_id, base_id, quote_id, '${level.interval}', time, ${values}, derived_from, points
    from (
      select d.exchange_id, d.base_id, d.quote_id, d.derived_from, p.*
      from tidemark.derived_series d
      cross join lateral (
        select time, ${values}, points from ${level.name} where series_id = d.series_id
        union all select null, ${noValues}, null from tidemark.series where false
      ) p
      where d.interval = '${level.interval}'
      union all select null, null, null, null, null, ${noValues}, null from tidemark.series where false
    ) ${level.interval}
    where time is not null`;

/**
 * The stored series that answers for an interval without a series of its own. Candidates are series of the
 * market whose periods divide the interval. Of those that cover at most a day less than the best one, the
 * finest is used. An untracked series without any point does not count.
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
  order by ${market}, interval, period;
comment on view tidemark.derived_series is
  'The stored series that answers for each interval of a market without a series of its own.'`;

/** Intervals whose points are prices at a time, so that every n-th of them is a longer interval. A day is a mean. */
const sampled = historyIntervals.filter((interval) => interval !== 'd1');
const sampledFrom = sampled.flatMap((interval) => {
  const finer = sampled.filter(
    (one) => intervalMs[one] < intervalMs[interval] && intervalMs[interval] % intervalMs[one] === 0,
  );
  return finer.length === 0 ? [] : [`('${interval}', ${intervalMs[interval] / 1000}, '{${finer.join(',')}}'::text[])`];
});

/** The longest stored interval answers, of those that cover at most a day less than the best one. */
const derivedHistories = `
create or replace view tidemark.derived_histories as
  select distinct on (asset_id, interval) asset_id, interval, make_interval(secs => seconds) as period, series_id, derived_from
  from (
    select *, max(covered) over (partition by asset_id, interval) as longest
    from (
      select s.asset_id, l.interval, l.seconds, s.id as series_id, s.interval as derived_from, s.period as finer_period,
             (select coalesce(sum(upper(r) - lower(r)), '0') from unnest(s.covered) r) as covered
      from tidemark.series s join (values ${sampledFrom.join(', ')}) as l (interval, seconds, finer)
        on s.interval = any (l.finer)
      where s.dataset = 'asset_history'
    ) finer
  ) measured
  where covered >= longest - interval '1 day' and not exists (
    select from tidemark.series t
    where (t.untracked_at is null or t.points > 0) and t.dataset = 'asset_history' and t.asset_id = measured.asset_id
      and t.interval = measured.interval
  )
  order by asset_id, interval, finer_period desc;
comment on view tidemark.derived_histories is
  'The stored series that answers for each interval of an asset without a series of its own: the price at a time is the same in both. Days are means, and never derived.'`;

/** The view without rollups, of the same columns, so that a user's view on it survives. */
export const detachCandles = `create or replace view public.candles as ${storedCandles}`;

/** In the order of creation. */
export const views = `${derivedSeries};
${derivedHistories};

create or replace view public.candles as ${[storedCandles, ...rollupLevels.map(derivedCandles)].join('\n    union all')};
comment on view public.candles is
  'Candles of every market and interval, stored or derived from finer ones (derived_from). Name an interval: without one every level is read.${example("select * from candles where exchange = 'binance' and base = 'bitcoin' and quote = 'tether' and interval = 'd1' and time >= '2024-03-01' and time < '2024-03-08' order by time")}';

create or replace view public.latest_candles as
  select s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.interval,
         p.time, p.open, p.high, p.low, p.close, p.volume
  from tidemark.series s
  cross join lateral (
    select time, ${values} from tidemark.candle_points
    where series_id = s.id and time >= s.newest order by time desc limit 1
  ) p
  where s.dataset = 'candles';
comment on view public.latest_candles is
  'The newest stored candle of each series, which may be open.${example('select * from latest_candles order by time desc limit 10')}';

create or replace view public.asset_history as
  select s.asset_id as asset, s.interval, p.time, p.price_usd, null::text as derived_from
  from tidemark.series s
  cross join lateral (
    select time, price_usd from tidemark.asset_history_points where series_id = s.id
    union all select null, null from tidemark.series where false
  ) p
  where s.dataset = 'asset_history'
  union all
  select d.asset_id, d.interval, p.time, p.price_usd, d.derived_from
  from tidemark.derived_histories d
  cross join lateral (
    select time, price_usd from tidemark.asset_history_points
    where series_id = d.series_id and time = date_bin(d.period, time, ${gridOrigin})
    union all select null, null from tidemark.series where false
  ) p;
comment on view public.asset_history is
  'Prices of assets in USD at every interval, stored or derived from finer ones (derived_from): those of minutes and hours at their time; for d1 the mean over the UTC day.${example("select * from asset_history where asset = 'bitcoin' and interval = 'd1' and time >= '2024-03-01' and time < '2024-03-08' order by time")}';

create or replace view public.latest_prices as
  select s.asset_id as asset, s.interval, p.time, p.price_usd
  from tidemark.series s
  cross join lateral (
    select time, price_usd from tidemark.asset_history_points
    where series_id = s.id and time >= s.newest order by time desc limit 1
  ) p
  where s.dataset = 'asset_history';
comment on view public.latest_prices is
  'The newest stored price of each asset and interval, USD.${example('select * from latest_prices order by time desc limit 10')}';

create or replace view public.latest_rates as
  select c.currency, c.symbol, c.type, p.time, p.rate_usd, c.currency_symbol, c.gone_since
  from tidemark.currencies c
  cross join lateral (
    select time, rate_usd from tidemark.rate_points where currency_id = c.id order by time desc limit 1
  ) p;
comment on view public.latest_rates is
  'The newest polled rate of each currency, USD; gone_since when the source ceased to list it (null: it is listed).${example('select * from latest_rates order by currency limit 10')}';
`;
