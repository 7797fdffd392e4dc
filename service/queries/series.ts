/**
 * Candles and price histories of the service. Candles come from the series itself, or, where the interval is not stored,
 * from the series that the view `candles` would use. The statements name the relation themselves: planning the view, with
 * all its levels, takes longer than reading a thousand candles.
 */

import type pg from 'pg';
import { type EpochMs, nextPeriodStart } from '../../model/intervals.ts';
import { gridOrigin, periodLiteral, type RollupLevel, rollupLevels } from '../../model/rollup-levels.ts';
import type { SeriesKey, TimeRange } from '../../model/series.ts';
import { timestamp } from '../../store/db/database.ts';
import { rejectedPeriods } from '../../store/ledger/quarantine.ts';
import { candleColumns, candlesOf } from '../../store/upkeep/rollup-definitions.ts';
import {
  coverageColumns,
  coverageSubquery,
  emptySeries,
  type SeriesJson,
  type SeriesRow,
  withCoverage,
} from './coverage.ts';
import { listQueries } from './lists.ts';
import { clientTimestamp, isoOf, millisecondsOf } from './query.ts';

// NUMERIC writes neither quotes nor exponents, so its text needs no escaping.
const json = `'{"open":"' || open || '","high":"' || high || '","low":"' || low || '","close":"' || close
  || '","volume":"' || volume || '","period":' || ${millisecondsOf('time')} || '}'`;
const listed = (ordered: string) =>
  `select coalesce('[' || string_agg(row, ',') || ']', '[]') as rows from (select ${json} as row from (${ordered}) c) c`;

/** $1 to $4 name the series, $5 and $6 are the range. */
const market = 'exchange_id = $1 and base_id = $2 and quote_id = $3';
const shown = `time >= greatest($5::timestamptz, $8::timestamptz) and time < $6::timestamptz`;

/** Covered ranges, except periods with rejected rows only. */
const knownRanges = `s.covered - ${rejectedPeriods('$5::timestamptz', '$6::timestamptz')}`;

const storedCandles = {
  name: 'serve-candles',
  text: `
    with line as materialized (
      select id, period, ${knownRanges} as covered from tidemark.series s
      where dataset = 'candles' and ${market} and interval = $4 and (untracked_at is null or points > 0)
    )
    select rows, ${coverageColumns} from line cross join ${coverageSubquery(5, 'period')} coverage cross join lateral (
      ${listed(`select ${candleColumns} from tidemark.candle_points where series_id = (select id from line) and ${shown} order by time`)}
    ) points`,
};

/** The series that answers, as the view `candles` chooses it; no row: there is none. */
const finer = `select d.series_id as id, ${knownRanges} as covered, d.derived_from
    from tidemark.derived_series d join tidemark.series s on s.id = d.series_id
    where d.exchange_id = $1 and d.base_id = $2 and d.quote_id = $3 and d.interval = $4`;

const derived = (level: RollupLevel, rows: string) => `
    with line as materialized (${finer})
    select rows, derived_from, ${coverageColumns} from line cross join ${coverageSubquery(5, periodLiteral(level))} coverage cross join lateral (
      ${listed(`select ${candleColumns} from (${rows}) derived order by time`)}
    ) points`;

const id = '(select id from line)';

const fromFiner = new Map<string, { name: string; text: string }>(
  rollupLevels.map((level) => [
    level.interval,
    {
      name: `serve-${level.interval}-derived`,
      text: derived(level, candlesOf(level, `series_id = ${id} and ${shown}`)),
    },
  ]),
);

const historyRanges = `s.covered - ${rejectedPeriods('$3::timestamptz', '$4::timestamptz')}`;
const history = (line: string, columns: string, which: string) => `
    with line as materialized (${line})
    select rows, ${columns}${coverageColumns} from line cross join ${coverageSubquery(3, 'period')} coverage cross join lateral (
      -- A JSON number: NUMERIC writes no exponent and no leading zero.
      select coalesce('[' || string_agg('{"priceUsd":' || price_usd || ',"time":' || ${millisecondsOf('time')}
                      || ',"date":"' || ${isoOf('time')} || '"}', ',') || ']', '[]') as rows
      from (
        select time, price_usd from tidemark.asset_history_points
        where series_id = (select id from line) and time >= greatest($3::timestamptz, $6::timestamptz) and time < $4::timestamptz${which}
        order by time
      ) p
    ) points`;
const storedHistory = {
  name: 'serve-history',
  text: history(
    `select id, period, ${historyRanges} as covered from tidemark.series s
      where dataset = 'asset_history' and asset_id = $1 and interval = $2 and (untracked_at is null or points > 0)`,
    '',
    '',
  ),
};
const derivedHistory = {
  name: 'serve-history-derived',
  text: history(
    `select d.series_id as id, d.period, tidemark.sampled_ranges(${historyRanges}, s.period, d.period) as covered, d.derived_from
      from tidemark.derived_histories d join tidemark.series s on s.id = d.series_id
      where d.asset_id = $1 and d.interval = $2`,
    'derived_from, ',
    ` and time = date_bin((select period from line), time, ${gridOrigin})`,
  ),
};

const marketIsKnown = {
  name: 'serve-market-is-known',
  text: `select exists (select from tidemark.series where dataset = 'candles' and ${market})
             or exists (select from public.markets where exchange = $1 and base = $2 and quote = $3) as known,
             extract(epoch from tidemark.grace())::double precision * 1000 as "graceMs"`,
};
const assetIsKnown = {
  name: 'serve-asset-is-known',
  text: `select exists (select from tidemark.series where dataset = 'asset_history' and asset_id = $1)
             or exists (select from public.assets where asset = $1) as known,
             extract(epoch from tidemark.grace())::double precision * 1000 as "graceMs"`,
};

/**
 * Rows whose periods start in the range, ascending.
 *
 * @returns null for an unknown market or asset.
 */
async function seriesJson(
  pool: pg.Pool,
  series: SeriesKey,
  range: TimeRange,
  nowMs: EpochMs,
): Promise<SeriesJson | null> {
  const { interval } = series;
  const isCandles = series.dataset === 'candles';
  const names = isCandles ? [series.exchange, series.baseId, series.quoteId] : [series.assetId];
  // Whole periods only: a period of a rollup or an aggregate includes all of its points or none.
  const within = (timeMs: EpochMs) => clientTimestamp(nextPeriodStart(timeMs, interval));
  const { startMs, endMs, visibleFromMs } = range;
  const values = [
    ...names,
    interval,
    within(startMs),
    within(endMs),
    timestamp(nowMs),
    visibleFromMs === undefined ? null : within(visibleFromMs),
  ];
  const stored = isCandles ? storedCandles : storedHistory;
  const finerStatement = isCandles ? fromFiner.get(interval) : derivedHistory;
  for (const statement of finerStatement === undefined ? [stored] : [stored, finerStatement]) {
    const result = await pool.query<SeriesRow>({ ...statement, values });
    const row = result.rows[0];
    if (row !== undefined) return withCoverage(row);
  }
  const isKnown = isCandles ? marketIsKnown : assetIsKnown;
  const known = await pool.query<{ known: boolean; graceMs: number }>({ ...isKnown, values: names });
  const [found] = known.rows;
  return found?.known === true ? emptySeries(range, interval, nowMs - found.graceMs) : null;
}

/**
 * The stored data as a Market Data Service serves it: every method returns JSON text that PostgreSQL wrote.
 *
 * Reads through the pool, which may belong to a read-only role. Answers show the newest committed state: the
 * time of a request decides only which periods have ended.
 */
export function storedMarketData(pool: pg.Pool) {
  const series = (key: SeriesKey, range: TimeRange, nowMs: EpochMs) => seriesJson(pool, key, range, nowMs);
  return { ...listQueries(pool), candles: series, assetHistory: series };
}
