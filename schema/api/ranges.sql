-- The requested range as whole periods, its covered share, and how an analysis is told what it lacks.

--: function tidemark.is_range(timestamptz, timestamptz)
-- Immutable, so that the planner evaluates it once where the bounds are constants.
create or replace function tidemark.is_range(from_time timestamptz, to_time timestamptz) returns boolean
language plpgsql immutable parallel safe as $$
begin
  if from_time > to_time then
    raise exception 'the range begins at % and ends before that, at %', from_time, to_time using errcode = '22023',
      hint = 'from_time comes first, then to_time, which is not part of the range';
  end if;
  return true;
end $$;
comment on function tidemark.is_range is
  'Internal: true; a range that ends before it begins is refused.';

--: function tidemark.asked_range(interval, tstzrange, timestamptz, timestamptz)
-- The periods that start in [from_time, to_time): [first, ending); those before closed have ended. Null: from
-- the period in which the tracked range starts, and up to now or its end, whichever is earlier. What is known is told
-- of times since `since`: of the first period it may be a part.
create or replace function tidemark.asked_range(period interval, tracked tstzrange, from_time timestamptz,
  to_time timestamptz, out first timestamptz, out ending timestamptz, out closed timestamptz, out since timestamptz)
language plpgsql stable parallel safe as $$
begin
  if from_time = 'infinity' or to_time = '-infinity' then
    raise exception 'no period is between % and %', coalesce(from_time, '-infinity'), coalesce(to_time, 'infinity')
      using errcode = '22023', hint = 'leave out from_time for the beginning of what is tracked, and to_time for now';
  end if;
  -- An end that the caller did not give is not said to be theirs.
  if not coalesce(isfinite(to_time), false) and from_time > least(now(), upper(tracked)) then
    raise exception using errcode = '22023',
      message = case
        when from_time > now() then format('the range begins in the future, at %s', from_time)
        else format('the range begins at %s, and what is tracked ends at %s', from_time, upper(tracked)) end,
      hint = 'leave out from_time for the beginning of what is tracked';
  elsif not coalesce(isfinite(from_time), false) and to_time < lower(tracked) then
    raise exception 'the range ends at %, and what is tracked begins at %', to_time, lower(tracked)
      using errcode = '22023', hint = 'leave out to_time for now';
  end if;
  if not coalesce(isfinite(from_time), false) then since := lower(tracked); end if;
  from_time := coalesce(since, from_time);
  to_time := case when isfinite(to_time) then to_time else least(now(), upper(tracked)) end;
  perform tidemark.is_range(from_time, to_time);
  if extract(epoch from to_time - from_time) / extract(epoch from period) > 50000000 then
    raise exception 'the range from % to % has more than 50 million periods', from_time, to_time
      using errcode = '22023', hint = 'ask for a shorter range, or a longer interval';
  end if;
  first := case when since is null
                then date_bin(period, from_time - interval '1 microsecond', tidemark.grid_origin()) + period
                else date_bin(period, since, tidemark.grid_origin()) end;
  since := coalesce(since, first);
  ending := date_bin(period, to_time - interval '1 microsecond', tidemark.grid_origin()) + period;
  closed := least(ending, date_bin(period, now() - tidemark.grace(), tidemark.grid_origin()));
end $$;
comment on function tidemark.asked_range is
  'Internal: the requested range as whole periods: those that start in [first, ending), of which those before '
  'closed have ended.';

--: function tidemark.open_since(text)
-- A figure of a whole range ends there, whatever end is asked for: otherwise it would change until the period closes,
-- and call itself complete.
create or replace function tidemark.open_since(interval_name text) returns timestamptz
language sql stable parallel safe as $$
  select date_bin(tidemark.interval_length(interval_name), now() - tidemark.grace(), tidemark.grid_origin())
$$;
comment on function tidemark.open_since is
  'Internal: the start of the open period of an interval; periods before it have ended.';

--: function tidemark.share_partly_covered(tstzmultirange, tstzrange)
create or replace function tidemark.share_partly_covered(covered tstzmultirange, span tstzrange) returns numeric
language sql immutable strict parallel safe as $$
  -- Truncated, not rounded: 1 means complete.
  select coalesce(trim_scale(trunc(sum(extract(epoch from upper(r) - lower(r)))
                                   / extract(epoch from upper(span) - lower(span)), 6)), 0)
  from unnest(covered * tstzmultirange(span)) r
$$;
comment on function tidemark.share_partly_covered is
  'Internal: the covered share of a range that is neither covered nor missing as a whole.';

--: function tidemark.share_covered(tstzmultirange, tstzrange)
-- Both common cases are a binary search in the ranges.
create or replace function tidemark.share_covered(covered tstzmultirange, span tstzrange) returns numeric
language sql immutable parallel safe as $$
  select case when covered @> span then 1::numeric when not covered && span then 0::numeric
              else tidemark.share_partly_covered(covered, span) end
$$;
comment on function tidemark.share_covered is
  'Internal: the covered share of a range, from 0 to 1, rounded down.';

--: function tidemark.tell_coverage(integer, tstzmultirange, tstzrange, timestamptz, timestamptz, timestamptz)
create or replace function tidemark.tell_coverage(series_id integer, covered tstzmultirange, tracked tstzrange,
  since timestamptz, ending timestamptz, closed timestamptz) returns void
language plpgsql stable parallel safe as $$
declare
  asked tstzrange := case when ending > since then tstzrange(since, ending) else 'empty' end;
  wanted tstzrange := case when closed > since then tstzrange(since, closed) else 'empty' end;
  other text;
begin
  if covered @> wanted and (not isempty(wanted) or since <= now()) then return; end if;
  if isempty(asked) then return; end if;
  if since > now() or not tracked && asked then
    select o.interval into other
    from tidemark.series s join tidemark.series o
      on o.dataset = s.dataset and o.id <> s.id and o.exchange_id is not distinct from s.exchange_id
        and o.base_id is not distinct from s.base_id and o.quote_id is not distinct from s.quote_id
        and o.asset_id is not distinct from s.asset_id and o.covered && asked
    where s.id = $1 order by o.period limit 1;
    raise notice '% %', tidemark.utc(asked), case when since > now() then 'has not begun' else 'is not tracked' end
      using detail = format('tracked is %s', tidemark.utc(tracked)),
      hint = case
        when other is null then 'leave out from_time for the beginning of what is tracked; a wider range is tracked by '
                                'tidemark backfill'
        else format('%s covers some of it: name that interval, or use ohlcv_by or vwap, which choose by the range',
                    other) end;
    return;
  end if;
  raise notice '% %% of % is covered', trim_scale(trunc(100 * tidemark.share_covered(covered, wanted), 2)),
    tidemark.utc(wanted) using
    detail = format('tracked is %s', tidemark.utc(tracked)),
    hint = format(
      case when exists (select from tidemark.series s where s.id = $1 and s.covered @> wanted)
           then 'select * from tidemark.quarantine where series_id = %s lists rows that were rejected'
           else 'select * from gaps where series_id = %s; a wider range is tracked by tidemark backfill' end, $1);
end $$;
comment on function tidemark.tell_coverage is
  'Internal: raises a notice where a range is not fully covered.';

--: function tidemark.utc(tstzrange)
create or replace function tidemark.utc(span tstzrange) returns text language sql immutable parallel safe as $$
  select format('%s to %s', to_char(lower(span) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                coalesce(to_char(upper(span) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'now'))
$$;
comment on function tidemark.utc is
  'Internal: a range of times as text, UTC.';
