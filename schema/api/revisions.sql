-- Values that the source changed later, and series as they were known at a time.
--
-- Of a covered period every value is kept: the present one with the points, and each earlier one in
-- tidemark.point_revisions with the time of the observed change. So the value known at T is the one before the first
-- change observed after T. Values of a candle while it was open are not kept, nor the time when a point was first
-- stored.

--: function tidemark.tell_beginning(integer, timestamptz)
create or replace function tidemark.tell_beginning(series_id integer, known_at timestamptz) returns void
language plpgsql stable parallel safe as $$
declare
  begun timestamptz := (select s.created_at from tidemark.series s where s.id = $1);
begin
  perform tidemark.assert_moment('known_at', known_at);
  if known_at < begun then
    raise notice 'nothing of the series was stored at %: it is tracked since %', known_at, begun
      using detail = 'the answer is what the service gave later, without the changes that were seen since';
  end if;
end $$;
comment on function tidemark.tell_beginning is
  'Internal: raises a notice where a time is before the beginning of a series here, or in the future; null is refused.';

--: function tidemark.points_known_at(text, text[], integer, timestamptz, timestamptz, timestamptz)
create or replace function tidemark.points_known_at(points text, columns text[], series_id integer,
  known_at timestamptz, first timestamptz, ending timestamptz)
returns text language sql stable parallel safe as $$
  select format('(
      select series_id, p.time, %5$s, r.seen_at as changed_at
      from %6$s p left join (
        select distinct on (time) time, before, seen_at from tidemark.point_revisions
        where series_id = %1$s and seen_at > %2$L::timestamptz
          and time >= %3$L::timestamptz and time < %4$L::timestamptz
        order by time, seen_at
      ) r using (time)
      where series_id = %1$s and p.time >= %3$L::timestamptz and p.time < %4$L::timestamptz
      union all  -- what a repair has removed since
      (select distinct on (r.time) series_id, r.time, %7$s, r.seen_at
       from tidemark.point_revisions r
       where series_id = %1$s and seen_at > %2$L::timestamptz
         and time >= %3$L::timestamptz and time < %4$L::timestamptz
         and time in (select time from tidemark.point_revisions where series_id = %1$s and before ? ''removed'')
         and not exists (select from %6$s p where p.series_id = %1$s and p.time = r.time)
       order by r.time, seen_at)
    ) points', series_id, known_at, first, ending,
    (select string_agg(format('coalesce((r.before ->> %1$L)::numeric, p.%1$I) as %1$I', c), ', ')
     from unnest(columns) c),
    points,
    (select string_agg(format('(r.before ->> %1$L)::numeric', c), ', ') from unnest(columns) c))
$$;
comment on function tidemark.points_known_at is
  'Internal: the points of a table for a range of a series, with the values that were known at a time.';
