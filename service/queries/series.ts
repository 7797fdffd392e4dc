/**
 * Candles and price histories of the service. Candles come from the series itself, or, where the interval is not stored,
 * from the series that the view `candles` would use. The statements name the relation themselves: planning the view, with
 * all its levels, takes longer than reading a thousand candles.
 */

import type pg from 'pg';
import { type EpochMs, nextPeriodStart } from '../../model/intervals.ts';
import { gridOrigin, periodLiteral, type RollupLevel, rollupLevels } from '../../model/rollup-levels.ts';
import type { SeriesKey, TimeRange } from '../../model/series.ts';
import { bool, float8, type Statement, statement } from '../../store/db/statement.ts';
import { rejectedPeriods } from '../../store/ledger/quarantine.ts';
import { keyParameters, keyValues } from '../../store/series/series.ts';
import { candleColumns, candlesOf } from '../../store/upkeep/rollup-definitions.ts';
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

// NUMERIC writes neither quotes nor exponents, so its text needs no escaping.
const json = `'{"open":"' || open || '","high":"' || high || '","low":"' || low || '","close":"' || close
  || '","volume":"' || volume || '","period":' || ${millisecondsOf('time')} || '}'`;
const listed = (ordered: string) =>
  `select coalesce('[' || string_agg(row, ',') || ']', '[]') as rows from (select ${json} as row from (${ordered}) c) c`;

const market = 'exchange_id = $exchange and base_id = $base and quote_id = $quote';
const shown = 'time >= greatest($start, $visibleFrom) and time < $end';
const { exchange, base, quote, asset, interval } = keyParameters;
const marketParameters = { exchange, base, quote };
const candleParameters = { ...marketParameters, interval, ...coverageParameters };
const historyParameters = { asset, interval, ...coverageParameters };

/** Covered ranges, except periods with rejected rows only. */
const knownRanges = `s.covered - ${rejectedPeriods('$start', '$end')}`;

const storedCandles = statement({
  name: 'serve-candles',
  text: `
    with line as materialized (
      select id, period, ${knownRanges} as covered from tidemark.series s
      where dataset = 'candles' and ${market} and interval = $interval and (untracked_at is null or points > 0)
    )
    select rows, ${coverageColumns} from line cross join ${coverageSubquery('period')} coverage cross join lateral (
      ${listed(`select ${candleColumns} from tidemark.candle_points
                where series_id = (select id from line) and ${shown} order by time`)}
    ) points`,
  parameters: candleParameters,
  row: storedRow,
});

/** The series that answers, as the view `candles` chooses it; no row: there is none. */
const finer = `select d.series_id as id, ${knownRanges} as covered, d.derived_from
    from tidemark.derived_series d join tidemark.series s on s.id = d.series_id
    where d.exchange_id = $exchange and d.base_id = $base and d.quote_id = $quote and d.interval = $interval`;

const derived = (level: RollupLevel, rows: string) => `
    with line as materialized (${finer})
    select rows, derived_from, ${coverageColumns}
    from line cross join ${coverageSubquery(periodLiteral(level))} coverage cross join lateral (
      ${listed(`select ${candleColumns} from (${rows}) derived order by time`)}
    ) points`;

const id = '(select id from line)';

const fromFiner = new Map<string, Statement<typeof candleParameters, typeof derivedRow>>(
  rollupLevels.map((level) => [
    level.interval,
    statement({
      name: `serve-${level.interval}-derived`,
      text: derived(level, candlesOf(level, `series_id = ${id} and ${shown}`)),
      parameters: candleParameters,
      row: derivedRow,
    }),
  ]),
);

const history = (line: string, columns: string, which: string) => `
    with line as materialized (${line})
    select rows, ${columns}${coverageColumns}
    from line cross join ${coverageSubquery('period')} coverage cross join lateral (
      -- A JSON number: NUMERIC writes no exponent and no leading zero.
      select coalesce('[' || string_agg('{"priceUsd":' || price_usd || ',"time":' || ${millisecondsOf('time')}
                      || ',"date":"' || ${isoOf('time')} || '"}', ',') || ']', '[]') as rows
      from (
        select time, price_usd from tidemark.asset_history_points
        where series_id = (select id from line) and ${shown}${which}
        order by time
      ) p
    ) points`;
const storedHistory = statement({
  name: 'serve-history',
  text: history(
    `select id, period, ${knownRanges} as covered from tidemark.series s
      where dataset = 'asset_history' and asset_id = $asset and interval = $interval
        and (untracked_at is null or points > 0)`,
    '',
    '',
  ),
  parameters: historyParameters,
  row: storedRow,
});
const derivedHistory = statement({
  name: 'serve-history-derived',
  text: history(
    `select d.series_id as id, d.period, tidemark.sampled_ranges(${knownRanges}, s.period, d.period) as covered,
            d.derived_from
      from tidemark.derived_histories d join tidemark.series s on s.id = d.series_id
      where d.asset_id = $asset and d.interval = $interval`,
    'derived_from, ',
    ` and time = date_bin((select period from line), time, ${gridOrigin})`,
  ),
  parameters: historyParameters,
  row: derivedRow,
});

const known = { known: bool, graceMs: float8 };
const marketIsKnown = statement({
  name: 'serve-market-is-known',
  text: `select exists (select from tidemark.series where dataset = 'candles' and ${market})
             or exists (select from public.markets where exchange = $exchange and base = $base and quote = $quote)
               as known,
             extract(epoch from tidemark.grace())::double precision * 1000 as "graceMs"`,
  parameters: marketParameters,
  row: known,
});
const assetIsKnown = statement({
  name: 'serve-asset-is-known',
  text: `select exists (select from tidemark.series where dataset = 'asset_history' and asset_id = $asset)
             or exists (select from public.assets where asset = $asset) as known,
             extract(epoch from tidemark.grace())::double precision * 1000 as "graceMs"`,
  parameters: { asset },
  row: known,
});

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
  // Whole periods only: a period of a rollup or an aggregate includes all of its points or none.
  const within = (timeMs: EpochMs) => clientTime(nextPeriodStart(timeMs, interval));
  const { startMs, endMs, visibleFromMs } = range;
  const values = {
    ...{ ...keyValues(series), start: within(startMs), end: within(endMs), now: nowMs },
    visibleFrom: visibleFromMs === undefined ? null : within(visibleFromMs),
  };
  const stored = isCandles ? storedCandles : storedHistory;
  const finerStatement = isCandles ? fromFiner.get(interval) : derivedHistory;
  const [row] = await stored.on(pool, values);
  const [derived] = row === undefined ? ((await finerStatement?.on(pool, values)) ?? []) : [];
  const answer: SeriesRow | undefined = row ?? derived;
  if (answer !== undefined) return withCoverage(answer);
  const [found] = await (isCandles ? marketIsKnown : assetIsKnown).on(pool, values);
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
