/** Mean returns by hour of the day and by day of the week, UTC. */

import { ranged } from './returns.ts';

const figures = `count(change), tidemark.ratio(avg(change)), tidemark.ratio(stddev_samp(change)),
         tidemark.ratio(count(*) filter (where change > 0)::numeric / nullif(count(change), 0)),
         public.coverage_share(series, interval_name, from_time, to_time)`;
const columns =
  'observations bigint, mean_return numeric, deviation numeric, share_up numeric, coverage numeric';

/**
 * A candle's return happens in its own period. A price of an asset is one of a moment, so the return up to it happened
 * in the period that begins at the one before; a d1 price is the mean of its day.
 */
export const seasonality = `
create or replace function tidemark.changes_by_start(series text, interval_name text, from_time timestamptz, to_time timestamptz)
returns table (start timestamp, change numeric)
language sql stable parallel safe as $$
  select case when series like '%/%' or interval_name = 'd1' then time else lag(time) over (order by time) end at time zone 'UTC',
         simple_return
  from public.returns(series, interval_name, from_time, to_time)
$$;

create or replace function public.seasonality_by_hour(series text, interval_name text default 'h1', ${ranged})
returns table (hour integer, ${columns})
language sql stable parallel safe as $$
  select extract(hour from start)::integer as hour, ${figures}
  from tidemark.changes_by_start(series, interval_name, from_time, to_time)
  where change is not null
  group by 1 order by 1
$$;
comment on function public.seasonality_by_hour is
  'Simple returns by the hour of the day (UTC) in which they happened: how many, their mean, their deviation, and the share above zero.';

create or replace function public.seasonality_by_weekday(series text, interval_name text default 'd1', ${ranged})
returns table (weekday integer, name text, ${columns})
language sql stable parallel safe as $$
  select extract(isodow from start)::integer as weekday, to_char(start, 'FMDay'), ${figures}
  from tidemark.changes_by_start(series, interval_name, from_time, to_time)
  where change is not null
  group by 1, 2 order by 1
$$;
comment on function public.seasonality_by_weekday is
  'Simple returns by the day of the week (UTC; 1 is Monday) in which they happened.';
`;
