-- What is odd in the stored points of each series. Nothing here is changed or left out: a spike may be a trade.

--: view public.quality
-- A spike is a price that lies on the same side of both of its neighbours, beyond the nearer one (the median of the
-- three) by more than twenty times the usual move: the median of all moves that are not zero. A step to a new price is
-- none. A condition on series_id reads one series.
create or replace view public.quality as
  select c.series_id, c.dataset, c.exchange, c.base, c.quote, c.asset, c.interval, c.points, c.share, c.gaps,
         l.silences, l.longest_silence, x.revised as revisions,
         (select count(*) from tidemark.quarantine q
          where q.dataset = c.dataset and coalesce(q.series_id, 0) = c.series_id) as quarantined,
         f.inconsistent, f.spikes, f.largest_spike, f.largest_spike_time,
         f.unchanged, f.longest_unchanged, f.longest_unchanged_from, f.zero_volume,
         case when f.series_id is not null then e.share end as empty
  from public.coverage c
  join tidemark.series x on x.id = c.series_id
  cross join lateral (
    select count(*) as silences, max(s.length) as longest_silence from public.silences s where s.series_id = c.series_id
  ) l
  -- Of the covered periods from the first point to the last one.
  cross join lateral (
    select trim_scale(round(1 - least(c.points / sum(extract(epoch from upper(r) - lower(r))
                                                     / extract(epoch from x.period)), 1), 6)) as share
    from unnest(x.covered * tstzmultirange(tstzrange(x.earliest, x.newest + x.period))) r
  ) e
  left join lateral (
    with points as (
      select time, open, high, low, close as price, volume from tidemark.candle_points
      where c.dataset = 'candles' and series_id = c.series_id
      union all
      select time, open, high, low, close, null from tidemark.mark_candle_points
      where c.dataset = 'mark_candles' and series_id = c.series_id
      union all
      select time, open, high, low, close, null from tidemark.index_candle_points
      where c.dataset = 'index_candles' and series_id = c.series_id
      union all
      select time, null, null, null, price_usd, null from tidemark.asset_history_points
      where c.dataset = 'asset_history' and series_id = c.series_id
    ), neighbours as materialized (
      select time, price, volume, lag(price) over w as before, lead(price) over w as after,
             high < greatest(open, low, price) or low > least(open, price) or least(low, price) <= 0 or volume < 0
               as is_inconsistent,
             price is distinct from lag(price) over w as is_new, row_number() over w as place
      from points window w as (order by time)
    ), usual as (
      select percentile_disc(0.5) within group (order by abs(price - before) / before) as move
      from neighbours where price <> before and before > 0
    ), spikes as (
      select n.time, abs(price - nearer) / nearer as size
      from neighbours n
      cross join usual u
      cross join lateral (
        select case when price > greatest(before, after) then greatest(before, after)
                    when price < least(before, after) then least(before, after) end as nearer
      ) m
      where before is not null and after is not null and nearer > 0 and abs(price - nearer) > 20 * u.move * nearer
    ), runs as (
      select time, place, max(place) filter (where is_new) over (order by time) as first from neighbours
    ), run as (
      select first, max(place) - first + 1 as points from runs group by first order by 2 desc, 1 limit 1
    )
    select count(*) filter (where is_inconsistent) as inconsistent,
           (select count(*) from spikes) as spikes,
           (select trim_scale(round(max(size), 6)) from spikes) as largest_spike,
           (select time from spikes order by size desc, time limit 1) as largest_spike_time,
           trim_scale(round(count(*) filter (where not is_new)::numeric / nullif(count(*) - 1, 0), 6)) as unchanged,
           (select points from run) as longest_unchanged,
           (select time from neighbours where place = (select first from run)) as longest_unchanged_from,
           trim_scale(round(count(*) filter (where volume = 0)::numeric / nullif(count(volume), 0), 6)) as zero_volume,
           c.series_id
    from neighbours
  ) f on c.dataset in ('candles', 'mark_candles', 'index_candles', 'asset_history') and c.points > 0;
comment on view public.quality is
  'What is odd in each series: prices that contradict each other, spikes against the median of three, prices that stay '
  'the same, zero volume, silences, changes by the source, rejected rows and gaps. The same as tidemark quality.
Example: select * from quality where exchange = ''binance'' and base = ''bitcoin'' and interval = ''h1''';
