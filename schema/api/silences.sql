--: view public.silences
create or replace view public.silences as
  with found as (
    select s.*, r from tidemark.series s, unnest(s.confirmed_empty - s.before_beginning) r
    where lower(r) > s.earliest and upper(r) <= s.newest
  )
  select s.id as series_id, s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote,
         s.asset_id as asset, s.interval,
         lower(s.r) as from_time, upper(s.r) as to_time, upper(s.r) - lower(s.r) as length,
         'no answer had a point, the last one on its own' as proof,
         (select max(e.answered_at) from tidemark.empty_answers e where e.series_id = s.id and e.range && s.r)
           as answered_at
  from found s
  -- Time of the covered periods without a point. A history may have several points in one.
  cross join lateral (
    select extract(epoch from upper(s.r) - lower(s.r)) as seconds,
           greatest(0, (select coalesce(sum(extract(epoch from upper(c) - lower(c))), 0)
                        from unnest(s.covered - s.before_beginning) c)
                       - s.points * extract(epoch from s.period)) as all_seconds
  ) silent
  where exists (
    select from tidemark.silence_rules l
    where silent.seconds >= l.seconds
      and silent.seconds * s.points > l.times_usual * (all_seconds - silent.seconds + l.granted_seconds)
  );
comment on view public.silences is
  'Stretches between two points of a series that hold none, for far longer than is usual there: an outage of the '
  'source that was never filled, a pause of trading, or a name that was used again.
Example: select * from silences order by length desc limit 10';
