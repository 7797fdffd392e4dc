/**
 * Points of the service. They come from the series itself, or, where the interval is not stored, from the series that
 * the view of the dataset would use. The statements name the relation themselves: planning the view, with all its
 * levels, takes longer than reading a thousand candles.
 */

import type pg from 'pg';
import type { Column, Dataset } from '../../model/dataset.ts';
import { byDataset, type DatasetName, datasets } from '../../model/datasets/index.ts';
import { type EpochMs, type Interval, nextPeriodStart } from '../../model/intervals.ts';
import { gridOrigin, periodLiteral, rollupLevels } from '../../model/rollup-levels.ts';
import type { SeriesKey, TimeRange } from '../../model/series.ts';
import { bool, float8, statement } from '../../store/db/statement.ts';
import { rejectedPeriods } from '../../store/ledger/quarantine.ts';
import { keyParameters, keyValues } from '../../store/series/series.ts';
import { candlesOf } from '../../store/upkeep/rollup-definitions.ts';
import {
  coverageColumns,
  coverageParameters,
  coverageSubquery,
  derivedRow,
  emptySeries,
  type SeriesJson,
  type SeriesRow,
  storedRow,
  withCoverage,
} from './coverage.ts';
import { listQueries } from './lists.ts';
import { clientTime, isoOf, millisecondsOf } from './query.ts';

const { interval, exchange, base, quote, asset } = keyParameters;
type KeyNames = Pick<typeof keyParameters, 'exchange' | 'base' | 'quote' | 'asset'>;
/** Whether a row is of the market or the asset, and whether a list names it. */
const keys = {
  market: {
    isOf: 'exchange_id = $exchange and base_id = $base and quote_id = $quote',
    isListed: 'exists (select from public.markets where exchange = $exchange and base = $base and quote = $quote)',
    parameters: { exchange, base, quote } as KeyNames,
  },
  asset: {
    isOf: 'asset_id = $asset',
    isListed: 'exists (select from public.assets where asset = $asset)',
    parameters: { asset } as KeyNames,
  },
};

const isRequired = ({ isOptional }: Column) => isOptional !== true;

/**
 * Points as JSON, by the names of the interface. NUMERIC writes neither quotes nor exponents, so its text needs no
 * escaping.
 */
function jsonOf(columns: readonly Column[], timeField: string): string {
  const fields = columns.map(({ json, name, isOptional }) =>
    isOptional === true ? `'"${json}":' || coalesce('"' || ${name} || '"', 'null')` : `'"${json}":"' || ${name} || '"'`,
  );
  const all = [...fields, `'"${timeField}":' || ${millisecondsOf('time')}`].join(" || ',' || ");
  return `'{' || ${all} || '}'`.replaceAll("' || '", '');
}

const shown = 'time >= greatest($start, $visibleFrom) and time < $end';
const id = '(select id from line)';

/** Covered ranges, except periods with rejected rows only. */
const knownRanges = `s.covered - ${rejectedPeriods('$start', '$end')}`;

/** The series that answers, as the view `candles` chooses it; no row: there is none. */
const finerSeries = `select d.series_id as id, ${knownRanges} as covered, d.derived_from
    from tidemark.derived_series d join tidemark.series s on s.id = d.series_id
    where d.exchange_id = $exchange and d.base_id = $base and d.quote_id = $quote and d.interval = $interval`;
const finerHistory = `select d.series_id as id, d.period, d.derived_from,
           tidemark.sampled_ranges(${knownRanges}, s.period, d.period) as covered
    from tidemark.derived_histories d join tidemark.series s on s.id = d.series_id
    where d.asset_id = $asset and d.interval = $interval`;

/** @param json of a point. @param name of the statements. */
function statementsOf(dataset: Dataset, json: string, name: string) {
  const { isOf, parameters: names } = keys[dataset.of];
  const parameters = { ...names, interval, ...coverageParameters };
  const answer = (line: string, period: string, points: string, columns = '') => `
    with line as materialized (${line})
    select rows, ${columns}${coverageColumns}
    from line cross join ${coverageSubquery(period)} coverage cross join lateral (
      select coalesce('[' || string_agg(row, ',') || ']', '[]') as rows
      from (select ${json} as row from (${points} order by time) p) p
    ) points`;
  const columns = `time, ${dataset.columns.map((column) => column.name).join(', ')}`;
  const points = `select ${columns} from tidemark.${dataset.table} where series_id = ${id} and ${shown}`;
  const derived = (end: string, line: string, period: string, rows: string) =>
    statement({
      name: `${name}-${end}`,
      text: answer(line, period, rows, 'derived_from, '),
      ...{ parameters, row: derivedRow },
    });
  const stored = statement({
    name,
    text: answer(
      `select id, period, ${knownRanges} as covered from tidemark.series s
       where dataset = '${dataset.name}' and ${isOf} and interval = $interval and (untracked_at is null or points > 0)`,
      'period',
      points,
    ),
    ...{ parameters, row: storedRow },
  });
  const levels = new Map<string, typeof sampled>(
    dataset.longer !== 'rolled up'
      ? []
      : rollupLevels.map((level) => {
          const rows = `select ${columns} from (${candlesOf(level, `series_id = ${id} and ${shown}`)}) derived`;
          return [level.interval, derived(level.interval, finerSeries, periodLiteral(level), rows)];
        }),
  );
  const sampled =
    dataset.longer !== 'sampled'
      ? undefined
      : derived(
          'derived',
          finerHistory,
          'period',
          `${points} and time = date_bin((select period from line), time, ${gridOrigin})`,
        );
  return { stored, derived: (of: Interval) => levels.get(of) ?? sampled };
}
type Statements = ReturnType<typeof statementsOf>;

const { candles, asset_history: history } = datasets;
// The specified interface has no optional value, and a price as a JSON number: NUMERIC has no exponent and no leading
// zero.
const specified = {
  candles: statementsOf(candles, jsonOf(candles.columns.filter(isRequired), candles.timeField), 'serve-candles'),
  asset_history: statementsOf(
    history,
    `'{"priceUsd":' || price_usd || ',"time":' || ${millisecondsOf('time')} || ',"date":"' || ${isoOf('time')} || '"}'`,
    'serve-history',
  ),
};
const points = byDataset((dataset, name) =>
  statementsOf(dataset, jsonOf(dataset.columns, dataset.timeField), `serve-points-${name}`),
);

const isKnown = byDataset(({ of }, name) =>
  statement({
    name: `serve-${name}-is-known`,
    text: `select exists (select from tidemark.series where dataset = '${name}' and ${keys[of].isOf})
             or ${keys[of].isListed} as known,
             extract(epoch from tidemark.grace())::double precision * 1000 as "graceMs"`,
    parameters: keys[of].parameters,
    row: { known: bool, graceMs: float8 },
  }),
);

/**
 * Rows whose periods start in the range, ascending.
 *
 * @returns null for an unknown market or asset.
 */
const reader =
  (pool: pg.Pool, statements: Readonly<Partial<Record<DatasetName, Statements>>>) =>
  async (series: SeriesKey, range: TimeRange, nowMs: EpochMs): Promise<SeriesJson | null> => {
    const { dataset, interval } = series;
    const { stored, derived } = statements[dataset] ?? points[dataset];
    // Whole periods only: a period of a rollup or an aggregate includes all of its points or none.
    const within = (timeMs: EpochMs) => clientTime(nextPeriodStart(timeMs, interval));
    const { startMs, endMs, visibleFromMs } = range;
    const values = {
      ...{ ...keyValues(series), start: within(startMs), end: within(endMs), now: nowMs },
      visibleFrom: visibleFromMs === undefined ? null : within(visibleFromMs),
    };
    const [row] = await stored.on(pool, values);
    const [finer] = row === undefined ? ((await derived(interval)?.on(pool, values)) ?? []) : [];
    const found: SeriesRow | undefined = row ?? finer;
    if (found !== undefined) return withCoverage(found);
    const [known] = await isKnown[dataset].on(pool, values);
    return known?.known === true ? emptySeries(range, interval, nowMs - known.graceMs) : null;
  };

/**
 * The stored data as a Market Data Service serves it: every method returns JSON text that PostgreSQL wrote.
 *
 * Reads through the pool, which may belong to a read-only role. Answers show the newest committed state: the
 * time of a request decides only which periods have ended.
 */
export function storedMarketData(pool: pg.Pool) {
  const series = reader(pool, specified);
  return { ...listQueries(pool), candles: series, assetHistory: series, points: reader(pool, points) };
}
