-- What a chart reads: an interval or a step that keeps its rows at a few thousand, however long its range is. By
-- default they are 4,000 at most: four for each point of a wide screen. Weeks fit for 76 years.

--: function public.intervals_of(text)
create or replace function public.intervals_of(series text)
returns table (interval_name text, period interval, derived_from text)
language plpgsql stable parallel safe as $$
declare
  parts text[] := regexp_match(series, '^\s*(\S+)\s+(.+?)/(.+?)\s*$');
  own record;
begin
  perform tidemark.assert_given('series', series is null);
  if parts is not null and not exists (
    select from tidemark.series s
    where s.dataset = 'candles' and (s.exchange_id, s.base_id, s.quote_id) = (parts[1], parts[2], parts[3])
  ) then
    select * into own from tidemark.own_names(parts[1], parts[2], parts[3]);
    if own.base_id is not null then parts := array[parts[1], own.base_id, own.quote_id]; end if;
  end if;
  return query
    select s.interval, s.period, null::text from tidemark.series s
    where (s.untracked_at is null or s.points > 0)
      and case when parts is null then s.dataset = 'asset_history' and s.asset_id = btrim(series)
               else s.dataset = 'candles'
                    and (s.exchange_id, s.base_id, s.quote_id) = (parts[1], parts[2], parts[3]) end
    union all
    select d.interval, tidemark.interval_length(d.interval), d.derived_from from tidemark.derived_series d
    where (d.exchange_id, d.base_id, d.quote_id) = (parts[1], parts[2], parts[3])
    union all
    select h.interval, h.period, h.derived_from from tidemark.derived_histories h
    where parts is null and h.asset_id = btrim(series)
    order by 2;
  if not found then perform tidemark.line_of(series, 'd1'); end if;
end $$;
comment on function public.intervals_of is
  'The intervals of a series (a market or an asset), shortest first: tracked ones, and those that follow from a '
  'finer one (derived_from).
Example: select * from intervals_of(''binance bitcoin/tether'')';

--: function public.chart_interval(text, text, timestamptz, timestamptz, numeric, integer)
create or replace function public.chart_interval(series text, wanted text, from_time timestamptz, to_time timestamptz,
  step_ms numeric default 0, most integer default 4000)
returns text language plpgsql stable parallel safe as $$
declare
  shortest interval := case wanted when 'auto' then make_interval(secs => step_ms / 1000)
                                   else tidemark.interval_length(wanted) end;
  chosen text;
begin
  perform tidemark.is_range(from_time, to_time);
  select fitting.interval_name into chosen from (
    select i.interval_name, i.period,
           case wanted when 'auto'
                then coalesce(tidemark.share_covered(l.covered, tstzrange(from_time, to_time)), 0) end as share
    from public.intervals_of(series) i cross join lateral tidemark.line_of(series, i.interval_name) l
    where i.period >= shortest and extract(epoch from to_time - from_time) / extract(epoch from i.period) <= most - 1
  ) fitting
  -- A finer one may lack a little of what a coarser one covers, such as the period that is open.
  order by share < 0.9 * max(share) over (), period limit 1;
  if chosen is null then
    select i.interval_name into chosen from public.intervals_of(series) i order by i.period desc limit 1;
  end if;
  return coalesce(chosen, nullif(wanted, 'auto'), 'd1');
end $$;
comment on function public.chart_interval is
  'The interval with which a chart of a series stays within most rows: the wanted one, or a coarser one; the '
  'longest one if none does. For ''auto'' the finest one that is not shorter than step_ms, the milliseconds of a '
  'point on the screen, and covers about as much of the range as any.
Example: select chart_interval(''binance bitcoin/tether'', ''auto'', ''2024-03-01'', ''2024-06-01'', 3600000)';

--: function public.chart_step(timestamptz, timestamptz, numeric, integer, integer)
create or replace function public.chart_step( from_time timestamptz, to_time timestamptz, step_ms numeric default 0,
  lines integer default 1, most integer default 4000)
returns interval language sql immutable parallel safe as $$
  select make_interval(secs => greatest(step_ms / 1000, 1,
    extract(epoch from to_time - from_time) / greatest(most / greatest(lines, 1) - 1, 1)))
$$;
comment on function public.chart_step is
  'The length of the steps with which a chart of so many lines stays within most rows; at least step_ms, the '
  'milliseconds of a point on the screen.
Example: select chart_step(''2024-03-01'', ''2024-06-01'', 3600000, lines => 3)';
