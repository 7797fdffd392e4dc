/** The range that is asked for, as whole periods, and how much of it is covered. */

import { gridOrigin } from './levels.ts';

/** How long after its end a period may still change, where nobody says otherwise: the default of GRACE_SECONDS. */
export const graceMs = 60_000;

export const ranges = `
-- The periods that start in [from_time, to_time): [first, ending); those before closed have ended. Null: from the
-- beginning of what is tracked, and up to now or, where that is earlier, to the end of what is tracked.
create or replace function tidemark.asked_range(period interval, tracked tstzrange, from_time timestamptz, to_time timestamptz,
  out first timestamptz, out ending timestamptz, out closed timestamptz)
language plpgsql stable parallel safe as $$
begin
  if from_time = 'infinity' or to_time = '-infinity' then
    raise exception 'no period is between % and %', coalesce(from_time, '-infinity'), coalesce(to_time, 'infinity')
      using errcode = '22023', hint = 'leave out from_time for the beginning of what is tracked, and to_time for now';
  end if;
  from_time := case when isfinite(from_time) then from_time else lower(tracked) end;
  to_time := case when isfinite(to_time) then to_time else least(now(), upper(tracked)) end;
  if from_time > to_time then
    raise exception 'the range begins at % and ends before that, at %', from_time, to_time using errcode = '22023',
      hint = 'from_time comes first, then to_time, which is not part of the range';
  end if;
  if extract(epoch from to_time - from_time) / extract(epoch from period) > 50000000 then
    raise exception 'the range from % to % has more than 50 million periods', from_time, to_time using errcode = '22023',
      hint = 'ask for a shorter range, or a longer interval';
  end if;
  first := date_bin(period, from_time - interval '1 microsecond', ${gridOrigin}) + period;
  ending := date_bin(period, to_time - interval '1 microsecond', ${gridOrigin}) + period;
  closed := least(ending, date_bin(period, now() - interval '${graceMs} milliseconds', ${gridOrigin}));
end $$;

create or replace function tidemark.share_partly_covered(covered tstzmultirange, span tstzrange) returns numeric
language sql immutable strict parallel safe as $$
  -- Cut, not rounded: 1 means all of it.
  select coalesce(trim_scale(trunc(sum(extract(epoch from upper(r) - lower(r)))
                                   / extract(epoch from upper(span) - lower(span)), 6)), 0)
  from unnest(covered * tstzmultirange(span)) r
$$;

-- Both common cases are a binary search in the ranges.
create or replace function tidemark.share_covered(covered tstzmultirange, span tstzrange) returns numeric
language sql immutable parallel safe as $$
  select case when covered @> span then 1::numeric when not covered && span then 0::numeric
              else tidemark.share_partly_covered(covered, span) end
$$;

create or replace function tidemark.tell_coverage(series_id integer, covered tstzmultirange, tracked tstzrange,
  first timestamptz, closed timestamptz) returns void
language plpgsql stable parallel safe as $$
declare
  wanted tstzrange := case when closed > first then tstzrange(first, closed) else 'empty' end;
begin
  if covered @> wanted then return; end if;
  raise notice '% %% of % is covered', trim_scale(trunc(100 * tidemark.share_covered(covered, wanted), 2)),
    tidemark.utc(wanted) using
    detail = format('tracked is %s', tidemark.utc(tracked)),
    hint = format('select * from gaps where series_id = %s; a wider range is tracked by tidemark backfill', series_id);
end $$;

create or replace function tidemark.utc(span tstzrange) returns text language sql immutable parallel safe as $$
  select format('%s to %s', to_char(lower(span) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                coalesce(to_char(upper(span) at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'now'))
$$;
`;
