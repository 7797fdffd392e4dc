/** The price history of an asset, as the service answers it. */

import type pg from 'pg';
import { type EpochMs, nextPeriodStart } from '../../contract/intervals.ts';
import type { HistorySeries } from '../../contract/series.ts';
import { timestamp } from '../db/database.ts';
import { rejectedPeriods } from '../ledger/quarantine.ts';
import type { VisibleRange } from './candles.ts';
import {
  coverageColumns,
  coverageSubquery,
  emptySeries,
  type SeriesJson,
  type SeriesRow,
  seriesJson,
} from './coverage.ts';
import { clientTimestamp, millisecondsOf } from './query.ts';

const coverage = coverageSubquery({
  start: '$3::timestamptz',
  end: '$4::timestamptz',
  now: '$5::timestamptz',
  visibleFrom: '$6::timestamptz',
  period: 'period',
});

const stored = {
  name: 'serve-history',
  text: `
    with line as materialized (
      select id, period, s.covered - ${rejectedPeriods('$3::timestamptz', '$4::timestamptz')} as covered
      from tidemark.series s
      where dataset = 'asset_history' and asset_id = $1 and interval = $2
    )
    select rows, ${coverageColumns} from line cross join ${coverage} coverage cross join lateral (
      -- A JSON number: NUMERIC writes no exponent and no leading zero.
      select coalesce('[' || string_agg('{"priceUsd":' || price_usd || ',"time":' || ${millisecondsOf('time')} || '}', ',')
                      || ']', '[]') as rows
      from (
        select time, price_usd from tidemark.asset_history_points
        where series_id = (select id from line) and time >= greatest($3::timestamptz, $6::timestamptz) and time < $4::timestamptz order by time
      ) p
    ) points`,
};

const isKnown = {
  name: 'serve-asset-is-known',
  text: `select exists (select from tidemark.series where dataset = 'asset_history' and asset_id = $1)
             or exists (select from public.assets where asset = $1) as known`,
};

/** Points whose times are in the range, ascending. @returns null for an unknown asset. */
export async function historyJson(
  pool: pg.Pool,
  series: HistorySeries,
  range: VisibleRange,
  nowMs: EpochMs,
): Promise<SeriesJson | null> {
  const within = (timeMs: EpochMs) => clientTimestamp(nextPeriodStart(timeMs, series.interval));
  const { visibleFromMs } = range;
  const result = await pool.query<SeriesRow>({
    ...stored,
    values: [
      series.assetId,
      series.interval,
      within(range.startMs),
      within(range.endMs),
      timestamp(nowMs),
      visibleFromMs === undefined ? null : within(visibleFromMs),
    ],
  });
  const row = result.rows[0];
  if (row !== undefined) return seriesJson(row);
  const known = await pool.query<{ known: boolean }>({ ...isKnown, values: [series.assetId] });
  return known.rows[0]?.known === true ? emptySeries(range, series.interval, nowMs) : null;
}
