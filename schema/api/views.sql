-- Points with names instead of ids, as people query them. Each finds a series by its names and then reads that series'
-- points in a lateral subquery: a UNION ALL with an empty part, which keeps the planner from turning it into a join. A
-- join might read a whole table to find one series in it. Conditions on the time still reach the points, so chunks are
-- excluded.

--: view tidemark.rollups_behind
create or replace view tidemark.rollups_behind as
  select s.id as series_id, behind as range
  from tidemark.series s, unnest(s.rollups_behind
    * tstzmultirange(tstzrange(null, date_bin('1 day', now() - interval '1 hour', timestamptz 'epoch')))) behind;
comment on view tidemark.rollups_behind is
  'Days of each series whose points have changed since they were rolled up.';

--: view tidemark.derived_series
-- Candidates are series of the market whose periods divide the interval. Of those that cover at most a day less than
-- the best one, the finest is used. An untracked series without any point does not count.
create or replace view tidemark.derived_series as
  select distinct on (exchange_id, base_id, quote_id, interval)
         exchange_id, base_id, quote_id, interval, series_id, derived_from
  from (
    select *, max(covered) over (partition by exchange_id, base_id, quote_id, interval) as longest
    from (
      select s.exchange_id, s.base_id, s.quote_id, l.interval, s.id as series_id, s.interval as derived_from, s.period,
             (select coalesce(sum(upper(r) - lower(r)), '0') from unnest(s.covered) r) as covered
      from tidemark.series s
      join tidemark.rollup_levels l on s.interval = any (l.finer)
      where s.dataset = 'candles'
    ) finer
  ) measured
  where covered >= longest - interval '1 day' and not exists (
    select from tidemark.series t
    where (t.untracked_at is null or t.points > 0) and t.dataset = 'candles'
      and t.exchange_id = measured.exchange_id and t.base_id = measured.base_id and t.quote_id = measured.quote_id
      and t.interval = measured.interval
  )
  order by exchange_id, base_id, quote_id, interval, period;
comment on view tidemark.derived_series is
  'The stored series that answers for each interval of a market without a series of its own.';

--: view tidemark.derived_histories
-- The longest stored interval answers, of those that cover at most a day less than the best one.
create or replace view tidemark.derived_histories as
  select distinct on (asset_id, interval) asset_id, interval, length as period, series_id, derived_from
  from (
    select *, max(covered) over (partition by asset_id, interval) as longest
    from (
      select s.asset_id, l.interval, l.length, s.id as series_id, s.interval as derived_from, s.period as finer_period,
             (select coalesce(sum(upper(r) - lower(r)), '0') from unnest(s.covered) r) as covered
      from tidemark.series s join tidemark.history_levels l on s.interval = any (l.finer)
      where s.dataset = 'asset_history'
    ) finer
  ) measured
  where covered >= longest - interval '1 day' and not exists (
    select from tidemark.series t
    where (t.untracked_at is null or t.points > 0) and t.dataset = 'asset_history'
      and t.asset_id = measured.asset_id and t.interval = measured.interval
  )
  order by asset_id, interval, finer_period desc;
comment on view tidemark.derived_histories is
  'The stored series that answers for each interval of an asset without a series of its own: the price at a time '
  'is the same in both. Days are means, and never derived.';

--: view public.latest_candles
create or replace view public.latest_candles as
  select s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.interval,
         p.time, p.open, p.high, p.low, p.close, p.volume
  from tidemark.series s
  cross join lateral (
    select time, open, high, low, close, volume from tidemark.candle_points
    where series_id = s.id and time >= s.newest order by time desc limit 1
  ) p
  where s.dataset = 'candles';
comment on view public.latest_candles is
  'The newest stored candle of each series, which may be open.
Example: select * from latest_candles order by time desc limit 10';

--: view public.asset_history
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
    where series_id = d.series_id and time = date_bin(d.period, time, tidemark.grid_origin())
    union all select null, null from tidemark.series where false
  ) p;
comment on view public.asset_history is
  'Prices of assets in USD at every interval, stored or derived from finer ones (derived_from): those of minutes '
  'and hours at their time; for d1 the mean over the UTC day.
Example: select * from asset_history where asset = ''bitcoin'' and interval = ''d1'' and time >= ''2024-03-01'' '
  'and time < ''2024-03-08'' order by time';

--: view public.latest_prices
create or replace view public.latest_prices as
  select s.asset_id as asset, s.interval, p.time, p.price_usd
  from tidemark.series s
  cross join lateral (
    select time, price_usd from tidemark.asset_history_points
    where series_id = s.id and time >= s.newest order by time desc limit 1
  ) p
  where s.dataset = 'asset_history';
comment on view public.latest_prices is
  'The newest stored price of each asset and interval, USD.
Example: select * from latest_prices order by time desc limit 10';
