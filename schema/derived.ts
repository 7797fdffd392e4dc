/**
 * The part of the API that follows from tables of constants: intervals, rollup levels, lists. It is the only place where SQL
 * of the API is generated. Constants reach the other objects as functions and views, not by interpolation.
 */

import { historyIntervals } from '../model/datasets/asset-history.ts';
import { candleIntervals } from '../model/datasets/candles.ts';
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
import { bucketColumns, groupedValues, rollupColumns } from '../store/upkeep/rollup-definitions.ts';
import { example } from './comments.ts';

const text = (value: string | null) => (value === null ? 'null::text' : `'${value}'`);
const texts = (values: readonly string[]) => `'{${values.join(',')}}'::text[]`;
const lengthOf = (interval: Interval) => periodLiteral({ periodMs: intervalMs[interval] });

/** A view that holds a table of constants. Everybody may read it, since functions read it as the role that calls them. */
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

const intervals = [...new Set([...candleIntervals, ...historyIntervals])].sort((a, b) => intervalMs[a] - intervalMs[b]);
/** Intervals of histories whose points are prices at a time, so that every n-th of them is a longer interval. A day is a mean. */
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
  'How long after its end a period may still change, and is not counted as missing.${example('select tidemark.grace()')}';

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
  ...candleIntervals.map((interval) => [text('candles'), text(interval), lengthOf(interval), true]),
  ...historyIntervals.map((interval) => [text('asset_history'), text(interval), lengthOf(interval), interval !== 'd1']),
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
        const { shown, counts, isLeftToNext, isAskedAlone }: ReasonRule = reasons[name];
        return `(${text(name)}, ${text(shown)}, ${text(counts)}, ${isLeftToNext}, ${isAskedAlone})`;
      })
      .join(',\n    ')}
  ) r (reason, shown, counts, left_to_next, asked_alone);
-- It holds constants only. A viewer that an earlier version created lists gaps without a new grant.
grant select on tidemark.gap_reasons to public;
comment on view tidemark.gap_reasons is
  'Every reason of a gap: the cause in the view gaps, and the reason that stands for it there.${example('select reason, shown from tidemark.gap_reasons')}';
`;

/** What needs the views of `api/views.sql`, in the order of creation. @param timescale whether the points are a hypertable. */
export function derivedViews(timescale: boolean): string {
  const levels = rollupLevels.map((level) => rollupView(level, timescale));
  return [...levels, candlesView, sourceOf(timescale), ...eachList.map(listViews)].join('');
}

/**
 * Hours and days are stored for the series that are finer. Days in `rollups_behind` of a series are derived from its points
 * instead, in the same statement: a view always agrees with the points of its snapshot.
 */
const rollupView = (level: RollupLevel, timescale: boolean) => `
--: view ${level.name}
create or replace view ${level.name} as
  select s.id as series_id, c.time, c.open, c.high, c.low, c.close, c.volume, c.points
  from tidemark.series s
  cross join lateral (${derivation(level, timescale)}
    union all select null, null, null, null, null, null, null from tidemark.series where false
  ) c
  where s.dataset = 'candles' and s.interval in (${level.finer.map((finer) => `'${finer}'`).join(', ')});
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

const values = 'open, high, low, close, volume';
const noValues = 'null, null, null, null, null';

const storedCandles = `
    select s.exchange_id as exchange, s.base_id as base, s.quote_id as quote, s.interval,
           p.time, p.open, p.high, p.low, p.close, p.volume,
           null::text as derived_from, null::bigint as points
    from tidemark.series s
    cross join lateral (
      select time, ${values} from tidemark.candle_points where series_id = s.id
      union all select null, ${noValues} from tidemark.series where false
    ) p
    where s.dataset = 'candles'`;

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
export const detachCandles = `create or replace view public.candles as ${storedCandles}`;

const candlesView = `
--: view public.candles
create or replace view public.candles as ${[storedCandles, ...rollupLevels.map(derivedCandles)].join('\n    union all')};
comment on view public.candles is
  'Candles of every market and interval, stored or derived from finer ones (derived_from). Name an interval: without '
  'one every level is read.${example("select * from candles where exchange = 'binance' and base = 'bitcoin' and quote = 'tether' and interval = 'd1' and time >= '2024-03-01' and time < '2024-03-08' order by time")}';
`;

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

const of = (alias: string, columns: readonly string[]) => columns.map((column) => `${alias}.${column}`).join(', ');
const namesOf = (columns: ReadonlyArray<{ readonly name: string }>) => columns.map(({ name }) => name);

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
  'Each change of each ${entry}: its values from time on, or gone (without values): not listed from time on.${example(`select * from ${every} order by time desc limit 10`)}';

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
$$;
comment on function public.${now}_at is
  'The state of each ${entry} at a time: what ${now} would have said then, as far as it was polled.${example(`select * from ${now}_at('2024-12-31') limit 10`)}';
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
  'The newest of the polled ${entries} of each ${entry}; gone_since when the source ceased to list it (null: it is listed).${example(`select * from ${views.now} order by ${first} limit 10`)}';

--: view public.${views.every}
create or replace view public.${views.every} as
  select ${shown}, p.time, ${of('p', columns)}
  from tidemark.${states} p join tidemark.${listed} c on c.id = p.${id};
comment on view public.${views.every} is
  'Every one of the polled ${entries} of each ${entry}.${example(`select * from ${views.every} order by time desc limit 10`)}';
`;
}
