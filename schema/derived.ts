/**
 * The part of the API that follows from tables of constants: intervals, rollup levels, datasets, lists. It is the only
 * place where SQL of the API is generated. Constants reach the other objects as functions and views, not by
 * interpolation.
 */

import type { Dataset, Published } from '../model/dataset.ts';
import { historyIntervals } from '../model/datasets/asset-history.ts';
import { byDataset, columnNames, datasets } from '../model/datasets/index.ts';
import { graceMs, type Interval, intervalMs } from '../model/intervals.ts';
import { keyNames, type List } from '../model/list.ts';
import { eachList } from '../model/lists/index.ts';
import { type ReasonRule, reasonNames, reasons } from '../model/reasons.ts';
import {
  gridOrigin,
  periodLiteral,
  type RollupLevel,
  rollupLevels,
  type StoredRollup,
} from '../model/rollup-levels.ts';
import { silenceRules } from '../planning/silences.ts';
import { isRolledUp } from '../store/series/rollups-behind.ts';
import { bucketColumns, groupedValues, rollupColumns } from '../store/upkeep/rollup-definitions.ts';
import { example } from './comments.ts';

const text = (value: string | null) => (value === null ? 'null::text' : `'${value}'`);
const texts = (values: readonly string[]) => `'{${values.join(',')}}'::text[]`;
const lengthOf = (interval: Interval) => periodLiteral({ periodMs: intervalMs[interval] });

const candles: Dataset = datasets.candles;

/**
 * A view that holds a table of constants. Everybody may read it, since functions read it as the role that calls them.
 */
function constantView(
  name: string,
  columns: string,
  comment: string,
  rows: readonly (readonly (string | number | boolean)[])[],
) {
  return `
--: view tidemark.${name}
create or replace view tidemark.${name} (${columns}) as
  values ${rows.map((row) => `(${row.join(', ')})`).join(',\n         ')};
comment on view tidemark.${name} is 'Internal: ${comment}';
grant select on tidemark.${name} to public;
`;
}

const all = Object.values(byDataset((dataset) => dataset));
const intervals = [...new Set(all.flatMap(({ intervals: of }) => of))].sort((a, b) => intervalMs[a] - intervalMs[b]);
/**
 * Intervals of histories whose points are prices at a time, so that every n-th of them is a longer interval. A day is a
 * mean.
 */
const sampled = historyIntervals.filter((interval) => interval !== 'd1');
const sampledLevels = sampled
  .map((interval) => ({
    interval,
    finer: sampled.filter(
      (one) => intervalMs[one] < intervalMs[interval] && intervalMs[interval] % intervalMs[one] === 0,
    ),
  }))
  .filter(({ finer }) => finer.length > 0);

/** What every other object may use, in the order of creation. */
export const constants = `
--: function tidemark.grid_origin()
create or replace function tidemark.grid_origin() returns timestamptz language sql immutable parallel safe as $$
  select ${gridOrigin}
$$;
comment on function tidemark.grid_origin is
  'Internal: every period starts a whole number of interval lengths from here.';

--: function tidemark.grace()
create or replace function tidemark.grace() returns interval language sql immutable parallel safe as $$
  select interval '${graceMs / 1000} seconds'
$$;
comment on function tidemark.grace is
  'How long after its end a period may still change, and is not counted as missing.'
  '${example('select tidemark.grace()')}';

--: function tidemark.assert_given(text, boolean)
create or replace function tidemark.assert_given(name text, is_null boolean) returns boolean
language plpgsql immutable parallel safe as $$
begin
  if is_null then raise exception '% must be given, and is null', name using errcode = '22004'; end if;
  return true;
end $$;
comment on function tidemark.assert_given is
  'Internal: true; an argument that is null is refused.';

--: function tidemark.assert_moment(text, timestamptz)
create or replace function tidemark.assert_moment(name text, at timestamptz) returns boolean
language plpgsql stable parallel safe as $$
begin
  perform tidemark.assert_given(name, at is null);
  if at > now() then
    raise notice '% is in the future, at %: the answer is what is known now', name, at;
  end if;
  return true;
end $$;
comment on function tidemark.assert_moment is
  'Internal: true; a moment that is null is refused, and a notice says of one in the future what the answer is.';

--: function tidemark.assert_series(text[], text)
create or replace function tidemark.assert_series(series text[], example text default 'binance bitcoin/tether')
returns boolean language plpgsql immutable parallel safe as $$
begin
  if series is null or cardinality(series) = 0 then
    raise exception 'series must be given, and is %', case when series is null then 'null' else 'an empty array' end
      using errcode = case when series is null then '22004' else '22023' end,
      hint = format('such as array[%L]', example);
  end if;
  return true;
end $$;
comment on function tidemark.assert_series is
  'Internal: true; an array of series that is null or empty is refused.';

--: function tidemark.grouped_candle()
create or replace function tidemark.grouped_candle() returns text language sql immutable parallel safe as $$
  select $columns$${groupedValues}$columns$
$$;
comment on function tidemark.grouped_candle is
  'Internal: the columns of a candle, for a statement that groups finer candles.';
${constantView(
  'interval_lengths',
  'interval, length',
  'the length of each interval.',
  intervals.map((interval) => [text(interval), lengthOf(interval)]),
)}${constantView('dataset_intervals', 'dataset, interval, length, has_open', 'the intervals of each dataset.', [
  ...all.flatMap(({ name, intervals: of, time }) =>
    of.map((interval) => [
      ...[text(name), text(interval), lengthOf(interval)],
      time.density === 'some' && time.hasOpen(interval),
    ]),
  ),
])}${constantView(
  'rollup_levels',
  'interval, relation, stored, finer',
  'the intervals that are derived from finer candles.',
  rollupLevels.map(({ interval, name, from, finer }) => [
    text(interval),
    text(name),
    text(from?.table ?? null),
    texts(finer),
  ]),
)}${constantView(
  'history_levels',
  'interval, length, finer',
  'the intervals of histories that are derived from finer ones.',
  sampledLevels.map(({ interval, finer }) => [text(interval), lengthOf(interval), texts(finer)]),
)}${constantView(
  'silence_rules',
  'seconds, times_usual, granted_seconds',
  'how long a silence is at least to be unusual, and how many times as long as usual.',
  silenceRules.map(({ lengthMs, timesUsual, grantedMs }) => [lengthMs / 1000, timesUsual, grantedMs / 1000]),
)}`;

/** The table of model/reasons.ts. */
export const gapReasons = `
--: view tidemark.gap_reasons
create or replace view tidemark.gap_reasons as
  select * from (values
    ${reasonNames
      .map((name) => {
        const { shown, counts, isLeftToNext, isAskedAlone, mayBeElsewhere }: ReasonRule = reasons[name];
        return `(${text(name)}, ${text(shown)}, ${text(counts)}, ${isLeftToNext}, ${isAskedAlone}, ${mayBeElsewhere})`;
      })
      .join(',\n    ')}
  ) r (reason, shown, counts, left_to_next, asked_alone, may_be_elsewhere);
-- It holds constants only. A viewer that an earlier version created lists gaps without a new grant.
grant select on tidemark.gap_reasons to public;
comment on view tidemark.gap_reasons is
  'Every reason of a gap: the cause in the view gaps, and the reason that stands for it there.'
  '${example('select reason, shown from tidemark.gap_reasons')}';
`;

/** Looks up the points of the dataset of a series. */
export const rejectedRanges = `
--: function tidemark.rejected_ranges(integer, text, interval, timestamptz, timestamptz)
-- A time in quarantine may be off by seconds, so its row may belong to the period before or after. A row without a
-- usable time may belong to any period of its window. Points are looked up by a range, also those of candles: of an
-- equality the planner may make a hash of all points, and builds it again for each row in quarantine.
create or replace function tidemark.rejected_ranges(series_id integer, dataset text, period interval, first timestamptz,
  ending timestamptz)
returns table (ranges tstzmultirange)
language sql stable parallel safe as $$
  select coalesce(range_agg(tstzrange(n.time, n.time + $3)), '{}') as ranges
  from (
    select unnest(array[p.start, case when p.time > p.start then p.start + $3 end]) as time
    from (
      select q.time, date_bin($3, q.time, tidemark.grid_origin()) as start
      from tidemark.quarantine q
      where q.dataset = $2 and coalesce(q.series_id, 0) = $1 and q.time >= $4 - $3 and q.time < $5 + $3
        and (q.range is null or q.time >= lower(q.range) - $3 and q.time < upper(q.range) + $3)
    ) p
    union
    select generate_series(date_bin($3, greatest(lower(w.range), $4), tidemark.grid_origin()),
                           least(upper(w.range), $5) - interval '1 microsecond', $3)
    from (
      select distinct q.range from tidemark.quarantine q
      where q.dataset = $2 and coalesce(q.series_id, 0) = $1 and lower(q.range) < $5 and upper(q.range) > $4
        and (q.time >= lower(q.range) - $3 and q.time < upper(q.range) + $3) is not true
    ) w
  ) n
  where n.time is not null and not case $2${all
    .map(
      ({ name, table }) => `
    when '${name}' then exists (select from tidemark.${table} p
                         where p.series_id = $1 and p.time >= n.time and p.time < n.time + $3)`,
    )
    .join('')} end
$$;
comment on function tidemark.rejected_ranges is
  'Internal: the periods of a series within a range for which only rejected rows came.';
`;

/**
 * What needs the views of `api/views.sql`, in the order of creation.
 *
 * @param timescale whether the points are a hypertable.
 */
export function derivedViews(timescale: boolean): string {
  const levels = rollupLevels.map((level) => rollupView(level, timescale));
  const views = all.flatMap((dataset) => [pointsView(dataset), latestView(dataset)]);
  return [...levels, ...views, revisionsView, sourceOf(timescale), ...eachList.map(listViews)].join('');
}

/**
 * Hours and days are stored for the series that are finer. Days in `rollups_behind` of a series are derived from its
 * points instead, in the same statement: a view always agrees with the points of its snapshot.
 */
const rollupView = (level: RollupLevel, timescale: boolean) => `
--: view ${level.name}
create or replace view ${level.name} as
  select s.id as series_id, c.time, ${of('c', columnNames.candles)}, c.points
  from tidemark.series s
  cross join lateral (${derivation(level, timescale)}
    union all select null, ${noValues}, null from tidemark.series where false
  ) c
  where s.${isRolledUp} and s.interval in (${level.finer.map((finer) => `'${finer}'`).join(', ')});
comment on view ${level.name} is 'Candles of ${level.interval} of each series of a shorter interval that divides it.';
`;

/** Candles of a level of the series `s`. */
function derivation(level: RollupLevel, timescale: boolean): string {
  const columns = bucketColumns(level, timescale);
  const fromPoints = (which: string) => `
    select ${columns}, count(*) as points from tidemark.candle_points where series_id = s.id${which} group by 1`;
  if (level.from === null) return fromPoints('');
  const stored = storedOrDerived(level.from, timescale);
  // Series of the stored rollup's own interval or a coarser one have no rows in it.
  const limit = periodLiteral(level.from);
  if (level.from.periodMs === level.periodMs)
    return `
    select time, ${values}, points from (${stored}) stored`;
  return `
    select ${columns}, sum(points)::bigint as points from (${stored}) stored group by 1
    union all${fromPoints(` and s.period >= ${limit}`)}`;
}

/** The rows of a stored rollup of the series `s`: derived from its points where they have changed. */
function storedOrDerived(rollup: StoredRollup, timescale: boolean): string {
  return `
      select time, ${values}, points from ${rollup.table}
      where series_id = s.id and not time <@ s.rollups_behind
      union all
      select changed.* from unnest(s.rollups_behind) behind cross join lateral (
        select ${bucketColumns(rollup, timescale)}, count(*) as points from tidemark.candle_points
        where series_id = s.id and s.period < ${periodLiteral(rollup)}
          and time >= lower(behind) and time < upper(behind)
        group by 1
      ) changed`;
}

const namesOf = (columns: ReadonlyArray<{ readonly name: string }>) => columns.map(({ name }) => name);
const of = (alias: string, columns: readonly string[]) => columns.map((column) => `${alias}.${column}`).join(', ');
const nulls = (columns: readonly unknown[]) => columns.map(() => 'null').join(', ');
const values = columnNames.candles.join(', ');
const noValues = nulls(columnNames.candles);

/** The columns of `tidemark.series` that name a series, by their public names. */
const keys = {
  market: { exchange: 'exchange_id', base: 'base_id', quote: 'quote_id' },
  asset: { asset: 'asset_id' },
} as const;
const keyAs = (dataset: Dataset) =>
  Object.entries(keys[dataset.of])
    .map(([name, column]) => `s.${column} as ${name}`)
    .join(', ');

/** Of the dataset, or of a longer interval that is sampled. */
const storedPoints = (dataset: Dataset) => `
    select ${keyAs(dataset)}, s.interval,
           p.time, ${of('p', namesOf(dataset.columns))},
           null::text as derived_from${dataset.longer === 'rolled up' ? ', null::bigint as points' : ''}
    from tidemark.series s
    cross join lateral (
      select time, ${namesOf(dataset.columns).join(', ')} from tidemark.${dataset.table} where series_id = s.id
      union all select null, ${nulls(dataset.columns)} from tidemark.series where false
    ) p
    where s.dataset = '${dataset.name}'`;

/** Longer intervals whose points are some of a stored one's. */
const sampledPoints = (dataset: Dataset) => `
    select ${of('d', Object.values(keys[dataset.of]))}, d.interval, p.time, ${of('p', namesOf(dataset.columns))},
      d.derived_from
    from tidemark.derived_histories d
    cross join lateral (
      select time, ${namesOf(dataset.columns).join(', ')} from tidemark.${dataset.table}
      where series_id = d.series_id and time = date_bin(d.period, time, tidemark.grid_origin())
      union all select null, ${nulls(dataset.columns)} from tidemark.series where false
    ) p`;

/**
 * The interval is outside the subquery, which is a UNION ALL again, and has a condition that always holds.
 * Both keep the planner from merging the two, so for a level that is not requested only the comparison of
 * names is planned. (Planning took 2 ms instead of 7, with eleven years in 135 chunks.)
 */
const derivedCandles = (level: RollupLevel) => `
    select exchange_id, base_id, quote_id, '${level.interval}', time, ${values}, derived_from, points
    from (
      select d.exchange_id, d.base_id, d.quote_id, d.derived_from, p.*
      from tidemark.derived_series d
      cross join lateral (
        select time, ${values}, points from ${level.name} where series_id = d.series_id
        union all select null, ${noValues}, null from tidemark.series where false
      ) p
      where d.interval = '${level.interval}'
      union all select null, null, null, null, null, ${noValues}, null from tidemark.series where false
    ) ${level.interval}
    where time is not null`;

/** The view without rollups, of the same columns, so that a user's view on it survives. */
export const detachCandles = `create or replace view public.candles as ${storedPoints(candles)}`;

const commentOn = (kind: string, { name, about, example: sql }: Published) => `
comment on ${kind} public.${name} is
  '${about}${example(sql)}';
`;

function pointsView(dataset: Dataset): string {
  const derived = { 'rolled up': rollupLevels.map(derivedCandles), sampled: [sampledPoints(dataset)], none: [] };
  return `
--: view public.${dataset.name}
create or replace view public.${dataset.name} as
  ${[storedPoints(dataset), ...derived[dataset.longer ?? 'none']].join('\n    union all')};
${commentOn('view', dataset.published.all)}`;
}

const latestView = (dataset: Dataset) => `
--: view public.${dataset.published.latest.name}
create or replace view public.${dataset.published.latest.name} as
  select ${keyAs(dataset)}, s.interval, p.time, ${of('p', namesOf(dataset.columns))}
  from tidemark.series s
  cross join lateral (
    select time, ${namesOf(dataset.columns).join(', ')} from tidemark.${dataset.table}
    where series_id = s.id and time >= s.newest order by time desc limit 1
  ) p
  where s.dataset = '${dataset.name}';
${commentOn('view', dataset.published.latest)}`;

const revisionsView = `
--: view public.revisions
create or replace view public.revisions as
  select s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.asset_id as asset, s.interval,
         r.time, r.seen_at, r.before,
         coalesce(
           (select n.before from tidemark.point_revisions n
            where n.series_id = r.series_id and n.time = r.time and n.seen_at > r.seen_at order by n.seen_at limit 1),
           ${all
             .map(
               ({ name, table, columns }) =>
                 `(select jsonb_build_object(${columns.map((column) => `'${column.name}', ${column.name}`).join(', ')})
            from tidemark.${table} p where s.dataset = '${name}' and p.series_id = r.series_id and p.time = r.time)`,
             )
             .join(',\n           ')}
         ) as after
  from tidemark.point_revisions r join tidemark.series s on s.id = r.series_id;
comment on view public.revisions is
  'Values of closed periods that the service changed later: what they were before, what they became, and when that '
  'was seen.${example('select * from revisions order by seen_at desc limit 10')}';
`;

const candlesExample = "select * from candles('binance', 'bitcoin', 'tether', 'h1') order by time desc limit 10";

const typedValues = (dataset: Dataset) =>
  namesOf(dataset.columns)
    .map((name) => `${name} numeric`)
    .join(', ');

/**
 * Candles by name: a function in SQL, which the planner replaces by its body. Conditions, `order by` and `limit` reach
 * the index of the series, whose id is looked up once. The view cannot do it: it joins the names to every row. The
 * condition stands outside the union, because the planner flattens only parts without any. Derived candles come from a
 * function that is called instead, as planning the views of all levels takes longer than reading a hundred rows.
 */
export const candleFunctions = `
--: function tidemark.derived_candles(text, text, text, text, timestamptz, timestamptz)
create or replace function tidemark.derived_candles(exchange text, base text, quote text, interval_name text,
  from_time timestamptz, to_time timestamptz)
returns table ("time" timestamptz, ${typedValues(candles)}, derived_from text, points bigint)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
declare
  line record;
  first timestamptz := coalesce(from_time, '-infinity');
  ending timestamptz := coalesce(to_time, 'infinity');
begin
  select * into line from tidemark.market_line(exchange, base, quote, interval_name);
  if line.derived_from is null then return; end if;
  return query execute format(
    'select time, ${values}, %L::text, points from %s
     where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz',
    line.derived_from, tidemark.source_of(line.relation, line.series_id, line.period, first, ending),
    line.series_id, first, ending);
end $$;
comment on function tidemark.derived_candles is
  'Internal: the candles of a market at an interval that is derived; no row where it is stored.';

--: function public.candles(text, text, text, text, timestamptz, timestamptz)
create or replace function public.candles(exchange text, base text, quote text, interval_name text default 'd1',
  from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, ${typedValues(candles)}, derived_from text, points bigint)
language sql stable parallel safe as $$
  select time, ${values}, derived_from, points
  from (
    select series_id, time, ${values}, null::text as derived_from, null::bigint as points
    from tidemark.candle_points
    union all
    select 0, time, ${values}, derived_from, points from tidemark.derived_candles($1, $2, $3, $4, $5, $6)
  ) c
  where series_id = tidemark.stored_or_zero($1, $2, $3, $4)
    and time >= coalesce($5, '-infinity') and time < coalesce($6, 'infinity') and tidemark.is_range($5, $6)
$$;
comment on function public.candles is
  'Candles of a market, stored or derived as in the view candles, with the same conditions as on a table. Unknown '
  'names are refused, and order by time with a limit reads only what it returns.${example(candlesExample)}';
`;

/** Points with the values that were known at a time. */
export const knownAtFunctions = all.map(knownAtFunction).join('');

/** Reads the series of a dataset at an interval: its own, or, where longer intervals follow from it, that one. */
function lineOf({ name, of, longer }: Dataset): string {
  const names = Object.keys(keys[of]);
  if (longer !== null) return `select * into line from tidemark.${of}_line(${names.join(', ')}, interval_name);`;
  return `select *, null as derived_from into line
  from tidemark.dataset_line('${name}', ${names.join(', ')}, interval_name);`;
}

function knownAtFunction(dataset: Dataset): string {
  const names = Object.keys(keys[dataset.of]);
  const columns = namesOf(dataset.columns);
  const { name } = dataset.published.knownAt;
  const types = [...names.map(() => 'text'), 'text, timestamptz, timestamptz, timestamptz'].join(', ');
  const longer =
    dataset.longer === 'rolled up'
      ? `format('(
      select series_id, date_bin(%L, time, tidemark.grid_origin()) as time, %s, count(*) as points,
             min(changed_at) as changed_at
      from %s group by 1, 2
    ) rolled_up', line.period, tidemark.grouped_candle(), known)`
      : 'tidemark.sampled(known, line.period)';
  return `
--: function public.${name}(${types})
create or replace function public.${name}(${names.map((key) => `${key} text, `).join('')}interval_name text,
  known_at timestamptz, from_time timestamptz default null, to_time timestamptz default null)
returns table ("time" timestamptz, ${typedValues(dataset)}, changed_at timestamptz, coverage numeric)
language plpgsql stable parallel safe set jit = off set max_parallel_workers_per_gather = 0 as $$
#variable_conflict use_column
declare
  line record;
  asked record;
  known text;
begin
  ${lineOf(dataset)}
  perform tidemark.tell_beginning(line.series_id, known_at);
  select * into asked from tidemark.asked_range(line.period, line.tracked, from_time, to_time);
  -- A period that had not ended at known_at was not known in its present form.
  asked.closed := least(asked.closed, greatest(asked.first, date_bin(line.period, known_at, tidemark.grid_origin())));
  perform tidemark.tell_coverage(line.series_id, line.covered, line.tracked, asked.since, asked.ending, asked.closed);
  asked.ending := greatest(asked.first, asked.closed);
  known := tidemark.points_known_at('tidemark.${dataset.table}', '{${columns.join(',')}}', line.series_id, known_at,
                                    asked.first, asked.ending);
  if line.derived_from is not null then
    known := ${longer};
  end if;
  return query execute format('select time, ${columns.join(', ')}, changed_at, coverage from (%s) line',
    tidemark.line_statement(known, line.series_id, '{${columns.join(',')},changed_at}', line.period, line.covered,
      asked.first, asked.ending, asked.closed, false));
end $$;
${commentOn('function', dataset.published.knownAt)}`;
}

/** For a text within quotes. */
const quoted = (sql: string) => sql.replaceAll("'", "''");

const sourceOf = (timescale: boolean) => `
--: function tidemark.source_of(text, integer, interval, timestamptz, timestamptz)
-- A condition on the periods of a view that groups points is none on the time of a plain table's points.
create or replace function tidemark.source_of(relation text, series_id integer, period interval,
  first timestamptz, ending timestamptz)
returns text language plpgsql immutable parallel safe as $$
begin
  if not exists (select from tidemark.rollup_levels l where l.relation = $1 and l.stored is null) then
    return relation;
  end if;
  return format('(
      select ${quoted(rollupColumns('%L::interval', timescale))} from tidemark.candle_points
      where series_id = %s and time >= %L::timestamptz and time < %L::timestamptz
      group by 1, 2
    ) rolled_up', period, series_id, first, ending);
end $$;
comment on function tidemark.source_of is
  'Internal: what to read for a range of a relation: the relation, or its points grouped by periods.';
`;

const listViews = (list: List) => (list.keeps === 'changes' ? changedViews(list) : polledViews(list));

/** The views of a list whose changes are kept: now, at a time, and every stored row. */
function changedViews(list: List): string {
  const { name, askedFor, entry, values } = list;
  const { now, every } = list.views;
  const listed = `tidemark.${list.tables.listed}`;
  const states = `tidemark.${list.tables.states}`;
  const key = keyNames(list);
  const keys = of('d', key);
  const columns = namesOf(values);
  const ofList = `l.list = '${name}'${askedFor === 'asset' ? ' and l.asset = d.asset' : ''}`;
  const typed = [...key.map((column) => `${column} text`), ...values.map((one) => `${one.name} ${one.type}`)].join(
    ', ',
  );
  return `
--: view public.${now}
create or replace view public.${now} as
  select ${keys}, ${of('s', columns)}, s.time, d.gone_since
  from ${listed} d
  cross join lateral (
    select time, ${columns.join(', ')} from ${states}
    where listed_id = d.id and time >= d.newest and not gone order by time desc limit 1
  ) s;
comment on view public.${now} is
  'The newest state of each ${entry}: time is when it was first seen so, gone_since when the source ceased to '
  'list it (null: it is listed).${example(`select * from ${now} limit 10`)}';

--: view public.${every}
create or replace view public.${every} as
  select ${keys}, s.time, s.gone, ${of('s', columns)}
  from ${states} s join ${listed} d on d.id = s.listed_id;
comment on view public.${every} is
  'Each change of each ${entry}: its values from time on, or gone (without values): not listed from time on.'
  '${example(`select * from ${every} order by time desc limit 10`)}';

--: function public.${now}_at(timestamptz)
create or replace function public.${now}_at(at timestamptz)
returns table (${typed}, "time" timestamptz, gone_since timestamptz)
language sql stable parallel safe as $$
  select ${keys}, ${of('s', columns)}, s.time, g.time
  from ${listed} d
  cross join lateral (
    select time, ${columns.join(', ')} from ${states}
    where listed_id = d.id and time <= at and not gone order by time desc limit 1
  ) s
  left join lateral (
    select time from ${states}
    where listed_id = d.id and time > s.time and time <= at and gone order by time limit 1
  ) g on g.time < (
    select max(p.time) from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
    where ${ofList} and p.gone > 0 and p.time <= at
  )
  where tidemark.assert_moment('at', at)
$$;
comment on function public.${now}_at is
  'The state of each ${entry} at a time: what ${now} would have said then, as far as it was polled.'
  '${example(`select * from ${now}_at('2024-12-31') limit 10`)}';
`;
}

/** The views of a list of which every poll is kept: the newest, and every stored row. */
function polledViews({ entry, entries, key, details, detailsOfNow, values, tables, views }: List): string {
  const { listed, states, id } = tables;
  const shown = of('c', namesOf([...key, ...details]));
  const columns = namesOf(values);
  const [first] = namesOf(key);
  return `
--: view public.${views.now}
create or replace view public.${views.now} as
  select ${shown}, p.time, ${of('p', columns)}, ${of('c', [...namesOf(detailsOfNow), 'gone_since'])}
  from tidemark.${listed} c
  cross join lateral (
    select time, ${columns.join(', ')} from tidemark.${states} where ${id} = c.id order by time desc limit 1
  ) p;
comment on view public.${views.now} is
  'The newest of the polled ${entries} of each ${entry}; gone_since when the source '
  'ceased to list it (null: it is listed).'
  '${example(`select * from ${views.now} order by ${first} limit 10`)}';

--: view public.${views.every}
create or replace view public.${views.every} as
  select ${shown}, p.time, ${of('p', columns)}
  from tidemark.${states} p join tidemark.${listed} c on c.id = p.${id};
comment on view public.${views.every} is
  'Every one of the polled ${entries} of each ${entry}.'
  '${example(`select * from ${views.every} order by time desc limit 10`)}';
`;
}
