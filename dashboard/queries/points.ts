/**
 * Points of a chart: as many as a screen has room for, however many are stored.
 *
 * At its own interval a series returns its points. Coarser candles come from the rollup. Where they would have to be
 * derived from too many points, because days are not rolled up yet (or of datasets without rollups), the chart shows
 * samples: the last value of each period, each found by the index. Of bars it shows the sum of each period.
 */

import {
  byDataset,
  type DatasetName,
  datasetNames,
  datasetOf,
  datasets,
  marketDatasets,
} from '../../model/datasets/index.ts';
import { type Interval, intervalMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { gridOrigin, type RollupLevel, rollupLevels } from '../../model/rollup-levels.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { Database } from '../../store/db/database.ts';
import {
  float8,
  int4,
  int8,
  nullable,
  numeric,
  oneOf,
  statement,
  statementsBy,
  text,
  time,
} from '../../store/db/statement.ts';
import { keyColumns, seriesKey } from '../../store/series/series.ts';
import { candlesOf } from '../../store/upkeep/rollup-definitions.ts';
import type { ChartPane, ChartPoints, PointRow } from './shapes.ts';

/**
 * Limit on the points that an answer's candles may be derived from. Up to 2,000 candles of h2 come from this many
 * minutes in a fraction of a second. As many lookups among a hundred chunks take several seconds.
 */
export const maxAggregated = 250_000;

/**
 * @param query.interval the series' own, or a coarser one.
 * @param query.range on the grid of that interval. The answer has at most one row for each of its periods.
 */
export async function readChartPoints(
  database: Database,
  query: { seriesId: number; series: SeriesKey; interval: Interval; range: Range },
): Promise<ChartPoints> {
  const { seriesId, series, interval, range } = query;
  const within = { seriesId, ...range };
  const { chart: kind } = datasets[series.dataset];
  const names = charted[series.dataset];
  // The columns of these statements are a time and decimals.
  const answer = (rows: unknown[][]): ChartPoints => ({
    ...{ kind, names, sampled: false, rows: rows as unknown as PointRow[] },
  });
  const periodMs = intervalMs[interval];
  if (kind === 'bars')
    return answer(await sums(series.dataset).listsOn(database.pool, { ...within, seconds: periodMs / 1000 }));
  if (interval === series.interval) return answer(await storedPoints(series.dataset).listsOn(database.pool, within));
  const level = rollupLevels.find((one) => one.interval === interval);
  if (series.dataset === 'candles' && level?.finer.includes(series.interval) === true) {
    const derivedMs = await derivedFromPointsMs(database, { level, range, seriesId, interval: series.interval });
    if (derivedMs / intervalMs[series.interval] <= maxAggregated)
      return answer(await derivedCandles(level.interval).listsOn(database.pool, within));
  }
  const periods = Math.ceil((range.endMs - range.startMs) / periodMs);
  const sampled = { seriesId, startMs: range.startMs, seconds: periodMs / 1000, periods };
  const rows = await sampledPoints(series.dataset).listsOn(database.pool, sampled);
  return { ...answer(rows), kind: 'line', names: [datasets[series.dataset].shown], sampled: true };
}

const shown = 'series_id = $seriesId and time >= $startMs and time < $endMs';
const within = { seriesId: int4, startMs: time, endMs: time };
/** The columns of a chart: of a candle those that every point has, else its value, of a bar also that of a year. */
const charted = byDataset(({ columns, chart, shown: value }): readonly string[] => {
  if (chart === 'candles') return columns.flatMap(({ name, isOptional }) => (isOptional ? [] : [name]));
  return chart === 'bars' ? [value, `annual_${value}`] : [value];
});
const chartedList = byDataset((_, name) => `time, ${charted[name].join(', ')}`);
const pointOf = (dataset: DatasetName) => ({
  time,
  ...Object.fromEntries(charted[dataset].map((name) => [name, numeric])),
});
const isOfBars = (name: DatasetName) => datasets[name].chart === 'bars';
const storedPoints = statementsBy(
  datasetNames.filter((name) => !isOfBars(name)),
  (name) =>
    statement({
      name: `dashboard-${name}`,
      text: `select ${chartedList[name]} from tidemark.${datasets[name].table} where ${shown} order by time`,
      parameters: within,
      row: pointOf(name),
    }),
);

/**
 * The sum of each period, and the same for a year of 8,760 hours by the hours that its events state. Where one states
 * none, the distance of the event before counts, if the time between is covered.
 */
const sums = statementsBy(datasetNames.filter(isOfBars), (dataset) => {
  const { table, shown: value, time: rule } = datasetOf(dataset);
  if (rule.density !== 'linked') throw new RangeError(`${dataset} has no bars`);
  const { column, unitMs } = rule.link;
  return statement({
    name: `dashboard-sums-${dataset}`,
    text: `
      with events as (
        select p.time, p.${value} as value,
               coalesce(p.${column} * ${unitMs} / 1000,
                        case when tidemark.known_ranges(s.id, s.covered) @> tstzrange(before.time, p.time)
                             then extract(epoch from p.time - before.time) end) as seconds
        from tidemark.${table} p join tidemark.series s on s.id = p.series_id
        left join lateral (
          select b.time from tidemark.${table} b
          where b.series_id = p.series_id and b.time < p.time and b.time > p.time - interval '1 day'
          order by b.time desc limit 1
        ) before on true
        where p.series_id = $seriesId and p.time >= $startMs and p.time < $endMs
      )
      select date_bin(make_interval(secs => $seconds), time, ${gridOrigin}) as time, sum(value) as value,
             case when count(seconds) = count(*)
                  then trim_scale(round(sum(value) * 31536000 / nullif(sum(seconds), 0), 6)) end as annual
      from events group by 1 order by 1`,
    parameters: { ...within, seconds: float8 },
    row: { time, value: numeric, annual: nullable(numeric) },
  });
});

const derivedCandles = statementsBy(
  rollupLevels.map(({ interval }) => interval),
  (interval) => {
    const level = rollupLevels.find((one) => one.interval === interval);
    if (level === undefined) throw new RangeError(`no rollup of ${interval}`);
    return statement({
      name: `dashboard-rollup-${interval}`,
      text: `select ${chartedList.candles} from (${candlesOf(level, shown)}) candles order by time`,
      parameters: within,
      row: pointOf('candles'),
    });
  },
);

/**
 * The last value of each period, stamped with the period's start. Each is a lookup of one row, and
 * TimescaleDB skips the chunks that a period does not touch.
 */
const sampledPoints = statementsBy(datasetNames, (dataset) => {
  const { table, shown: value } = datasets[dataset];
  return statement({
    name: `dashboard-samples-${dataset}`,
    text: `
      select g.start as time, p.value
      from (select $startMs + make_interval(secs => $seconds * i) as start
            from generate_series(0, $periods - 1) i) g
      cross join lateral (
        select ${value} as value from tidemark.${table}
        where series_id = $seriesId and time >= g.start and time < g.start + make_interval(secs => $seconds)
          -- The same for all lookups, so that chunks outside the whole range are excluded once.
          and time >= $startMs and time < $startMs + make_interval(secs => $seconds * $periods)
        order by time desc limit 1
      ) p
      order by 1`,
    parameters: { seriesId: int4, startMs: time, seconds: float8, periods: int4 },
    row: { time, value: numeric },
  });
});

/** Milliseconds of a range whose candles would be derived from points, and not from a stored rollup. */
async function derivedFromPointsMs(
  database: Database,
  { level, range, seriesId, interval }: { level: RollupLevel; range: Range; seriesId: number; interval: Interval },
): Promise<number> {
  const rangeMs = range.endMs - range.startMs;
  if (level.from === null || intervalMs[interval] >= level.from.periodMs) return rangeMs;
  const [behind] = await lengthBehind.on(database.pool, { seriesId, ...range });
  return behind?.ms ?? 0;
}

const lengthBehind = statement({
  name: 'dashboard-derived-from-points',
  text: `select coalesce(sum(extract(epoch from upper(r) - lower(r)) * 1000), 0)::bigint as ms
         from tidemark.series s, unnest(s.rollups_behind * tstzmultirange(tstzrange($startMs, $endMs))) r
         where s.id = $seriesId`,
  parameters: within,
  row: { ms: int8 },
});

const besideCandles = marketDatasets.filter((name) => datasets[name].chart !== 'candles');

/** The series that a chart of candles has below it: of the same market, the finest of each dataset without candles. */
export async function readPanes(database: Database, seriesId: number, { dataset }: SeriesKey): Promise<ChartPane[]> {
  if (datasets[dataset].chart !== 'candles') return [];
  const found = await panes.on(database.pool, { seriesId });
  return besideCandles.flatMap((name) => found.filter((pane) => pane.dataset === name));
}

const namesBeside = besideCandles.map((name) => `'${name}'`).join(', ');
const panes = statement({
  name: 'dashboard-panes',
  text: `select distinct on (o.dataset) o.id, o.dataset, o.interval
         from tidemark.series s
         join tidemark.series o on (o.exchange_id, o.base_id, o.quote_id) = (s.exchange_id, s.base_id, s.quote_id)
         where s.id = $seriesId and o.dataset in (${namesBeside}) and (o.untracked_at is null or o.points > 0)
         order by o.dataset, o.untracked_at is not null, o.period`,
  parameters: { seriesId: int4 },
  row: { id: int4, dataset: oneOf<DatasetName>(), interval: text },
});

/** The series of a chart. */
export const chartedSeries = statement({
  name: 'dashboard-series',
  text: `select ${keyColumns}, s.earliest as "earliestMs", s.newest as "newestMs"
         from tidemark.series s where s.id = $seriesId`,
  parameters: { seriesId: int4 },
  row: { series: seriesKey, earliestMs: nullable(time), newestMs: nullable(time) },
});
