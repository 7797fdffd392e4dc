-- Coverage and gaps, by which an analysis can check itself; and the functions that commands and views share to compute
-- them. PostgreSQL replaces such a function by its body as long as that is one stable SELECT, and no argument is a
-- subquery. Conditions then reach the tables. In a view, whose readers may have no rights on the tables, api.ts writes
-- the body in place of the call.

--: function tidemark.closed_series(timestamptz, interval)
-- The bound is a subquery, so that it is computed once.
create or replace function tidemark.closed_series(at timestamptz, grace interval)
returns table (
  id integer, dataset text, exchange_id text, base_id text, quote_id text, asset_id text, "interval" text,
  period interval, tracked tstzrange, covered tstzmultirange, confirmed_empty tstzmultirange,
  before_beginning tstzmultirange, points bigint, revised bigint, earliest timestamptz, newest timestamptz,
  refreshed_at timestamptz, reread_at timestamptz, blocked_until timestamptz, blocked_message text,
  untracked_at timestamptz, closed_up_to timestamptz, missing tstzmultirange
)
language sql stable parallel safe as $$
  select s.id, s.dataset, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.interval, s.period, s.tracked, s.covered,
         s.confirmed_empty, s.before_beginning, s.points, s.revised, s.earliest, s.newest, s.refreshed_at, s.reread_at,
         s.blocked_until, s.blocked_message, s.untracked_at, c.up_to as closed_up_to,
         tstzmultirange(s.tracked * tstzrange(null, c.up_to)) - s.covered as missing
  from tidemark.series s
  -- Of events nothing is awaited after the newest one until the next is due, and a minute late. Then its period counts
  -- as closed (planning/periods.ts).
  cross join lateral (
    select case when s.due_at is null then date_bin(s.period, (select $1 - $2), tidemark.grid_origin())
                when s.due_at > (select $1 - $2 - interval '1 minute')
                then date_bin(s.period, s.newest, tidemark.grid_origin()) + s.period
                else date_bin(s.period, (select $1 - $2 - interval '1 minute'), tidemark.grid_origin()) + s.period
           end as up_to
  ) c
$$;
comment on function tidemark.closed_series is
  'Internal: every series with the end of its last closed period and the gaps of its tracked range up to there.';

--: function tidemark.deferred_parts(timestamptz, interval, integer[], boolean)
-- Deferred windows of two plans may overlap. A period is requested when the last of them is due, so that one gives its
-- reason. What the next source of the series is asked for is not_asked, unless that source is deferred too. (The files
-- of an archive come late: what failed is not left to them.) Overlaps are searched among neighbours only, because
-- thousands may be deferred. With the ledger, recent requests for what is missing tell where nothing is deferred
-- which window is retried, and has not failed yet: for two hours, which is longer than any pause of the queue. That is
-- too slow for a loop.
create or replace function tidemark.deferred_parts(at timestamptz, grace interval, ids integer[], ledger boolean)
returns table (
  series_id integer, range tstzrange, reason text, message text, retry_at timestamptz, since timestamptz, source text,
  of_covered boolean, parts tstzmultirange
)
language sql stable parallel safe as $$
  with deferred as (
    select p.*, not p.of_covered and r.shown = 'failed' and r.may_be_elsewhere and exists (
             select from tidemark.series_sources own
             join tidemark.series_sources next on next.series_id = own.series_id and next.rank > own.rank
             where own.series_id = p.series_id and own.source = p.source and (r.left_to_next or not next.archive)
               and coalesce(next.blocked_until <= $1, true)) as is_left
    from tidemark.pending_windows p join tidemark.gap_reasons r using (reason)
    where $3 is null or p.series_id = any ($3)
  ), asked as (
    select series_id, range, case when is_left then 'not_asked' else reason end as reason, message,
           case when not is_left then retry_at end as retry_at, first_at, 'infinity'::timestamptz as asked_at, source,
           of_covered
    from deferred
    union all
    (select distinct on (f.series_id, f.range) f.series_id, f.range,
            case when f.error is null then 'not_asked' else 'retried' end, f.error, null::timestamptz,
            null::timestamptz, f.time, f.source, false
     from tidemark.fetches f
     where $4 and f.verdict <> 'checksum' and f.time > $1 - interval '2 hours'
       and ($3 is null or f.series_id = any ($3))
       and exists (select from tidemark.closed_series($1, $2) s where s.id = f.series_id and s.missing && f.range)
     order by f.series_id, f.range, f.time desc)
  ), apart as (
    select *, coalesce(lower(range) >= max(upper(range)) over (
                         partition by series_id order by range rows between unbounded preceding and 1 preceding), true)
                as is_apart
    from asked
  ), neighbours as (
    select *, count(*) filter (where is_apart) over (partition by series_id order by range) as place from apart
  )
  select series_id, range, reason, message, retry_at, min(first_at) over (partition by series_id, place) as since,
         source, of_covered,
         tstzmultirange(range) - coalesce(range_agg(range) over (
           partition by series_id, place order by retry_at desc nulls last, asked_at desc, range
           rows between unbounded preceding and 1 preceding), '{}') as parts
  from neighbours
$$;
comment on function tidemark.deferred_parts is
  'Internal: the deferred windows, each with the part of it to which it gives the reason.';

--: function tidemark.measured_series(timestamptz, interval, integer[])
-- `offset 0` keeps PostgreSQL from computing the ranges again for each column that is made of them.
create or replace function tidemark.measured_series(at timestamptz, grace interval, ids integer[])
returns table (
  id integer, dataset text, exchange_id text, base_id text, quote_id text, asset_id text, "interval" text,
  period interval, tracked tstzrange, covered tstzmultirange, confirmed_empty tstzmultirange,
  before_beginning tstzmultirange, points bigint, revised bigint, earliest timestamptz, newest timestamptz,
  refreshed_at timestamptz, reread_at timestamptz, blocked_until timestamptz, blocked_message text,
  untracked_at timestamptz, closed_up_to timestamptz, missing tstzmultirange, wanted tstzrange,
  failed tstzmultirange, beyond_depth tstzmultirange, awaiting tstzmultirange
)
language sql stable parallel safe as $$
  select s.id, s.dataset, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.interval, s.period, s.tracked, s.covered,
         s.confirmed_empty, s.before_beginning, s.points, s.revised, s.earliest, s.newest, s.refreshed_at, s.reread_at,
         s.blocked_until, s.blocked_message, s.untracked_at, s.closed_up_to, g.missing, w.wanted,
         p.failed, p.beyond_depth, p.awaiting
  from tidemark.closed_series($1, $2) s
  cross join lateral (select s.tracked * tstzrange(null, s.closed_up_to) as wanted offset 0) w
  cross join lateral (select tstzmultirange(w.wanted) - s.covered as missing offset 0) g
  left join (
    select d.series_id, range_agg(d.parts) filter (where r.shown = 'failed') as failed,
           range_agg(d.parts) filter (where r.counts = 'lost') as beyond_depth,
           range_agg(d.parts) filter (where r.counts = 'awaiting') as awaiting
    from tidemark.deferred_parts($1, $2, $3, false) d join tidemark.gap_reasons r using (reason)
    group by d.series_id
  ) p on p.series_id = s.id
  where s.untracked_at is null and ($3 is null or s.id = any ($3))
$$;
comment on function tidemark.measured_series is
  'Internal: tracked series with what is wanted of them, and the deferred windows that failed, that the source no '
  'longer keeps, and that await a second answer.';

--: function tidemark.gap_pieces(timestamptz, interval, integer[], boolean)
create or replace function tidemark.gap_pieces(at timestamptz, grace interval, ids integer[], ledger boolean)
returns table (
  id integer, dataset text, exchange_id text, base_id text, quote_id text, asset_id text, "interval" text,
  gap_start timestamptz, gap_end timestamptz, reason text, cause text, message text, retry_at timestamptz,
  since timestamptz, source text
)
language sql stable parallel safe as $$
  with missing as (
    select s.id, s.dataset, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.interval, s.blocked_until,
           s.blocked_message, s.missing as gaps
    from tidemark.closed_series($1, $2) s where s.untracked_at is null and ($3 is null or s.id = any ($3))
  ), reasons as (
    select m.id, d.reason, d.message, d.retry_at, d.source, d.since, d.parts * m.gaps as ranges
    from missing m join tidemark.deferred_parts($1, $2, $3, $4) d on d.series_id = m.id and d.parts && m.gaps
    where d.reason <> 'not_asked'
  ), pieces as (
    select * from reasons
    union all
    select m.id, 'not_asked', null, null, null, null, m.gaps - coalesce(known.ranges, '{}')
    from missing m left join (
      select reasons.id, range_agg(r) as ranges from reasons, unnest(ranges) r group by reasons.id
    ) known on known.id = m.id
  )
  select s.id, s.dataset, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.interval, lower(gap) as gap_start,
         upper(gap) as gap_end, r.shown as reason, r.reason as cause,
         case when s.blocked_until > $1 then s.blocked_message else p.message end as message,
         case when s.blocked_until > $1 then s.blocked_until else p.retry_at end as retry_at, p.since, p.source
  from pieces p join missing s using (id)
  join tidemark.gap_reasons r on r.reason = case when s.blocked_until > $1 then 'blocked' else p.reason end,
       unnest(p.ranges) gap
$$;
comment on function tidemark.gap_pieces is
  'Internal: the gaps of tracked series, cut where the reason changes.';

--: view public.coverage
create or replace view public.coverage as
  with measured as (
    select *, case when closed_up_to > lower(tracked) then tracked * tstzrange(null, closed_up_to) end as wanted
    from tidemark.closed_series(now(), tidemark.grace()) s
  )
  select s.id as series_id, s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote,
         s.asset_id as asset, s.interval, lower(s.tracked) as tracked_from, upper(s.tracked) as tracked_to,
         s.untracked_at, tidemark.share_covered(s.covered, s.wanted) as share,
         (select count(*)::integer from unnest(s.missing)) as gaps,
         s.covered, s.confirmed_empty, s.missing, s.points, s.earliest, s.newest, s.before_beginning,
         (select s.covered * r.ranges
          from tidemark.rejected_ranges(s.id, s.dataset, s.period, lower(s.covered), upper(s.covered)) r) as rejected,
         case when s.quote_id is null then null when q.settle is null then 'spot' when q.expiry is null then 'perpetual'
              else 'future' end as kind,
         q.settle, q.expiry, c.contract_size, c.contract_asset
  from measured s
  left join lateral tidemark.quote_parts(s.quote_id) q on true
  left join lateral (
    select m.contract_size, m.contract_asset
    from tidemark.series_sources x join tidemark.source_symbols m on (m.source, m.symbol) = (x.source, x.symbol)
    where x.series_id = s.id and m.contract_size is not null order by x.rank limit 1
  ) c on true;
comment on view public.coverage is
  'Each series: the kind of its market, the part of it that is wanted, which share of that, up to the last closed '
  'period, is covered, and what is missing.
Example: select exchange, base, quote, asset, interval, share, gaps from coverage order by share';

--: view public.gaps
create or replace view public.gaps as
  select id as series_id, dataset, exchange_id as exchange, base_id as base, quote_id as quote, asset_id as asset,
         interval, gap_start as from_time, gap_end as to_time, gap_end - gap_start as length,
         reason, message, retry_at, source, cause
  from tidemark.gap_pieces(now(), tidemark.grace(), null::integer[], true) p;
comment on view public.gaps is
  'Every gap of what is tracked, cut where the reason changes: not_asked, awaits_second_answer, failed, stale or '
  'blocked. The same as tidemark gaps.
Example: select * from gaps order by from_time limit 10';

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
