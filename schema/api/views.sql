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
