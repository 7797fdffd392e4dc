/** Series of every kind of digits, and the lake of them. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../clock.ts';
import { dayMs, type EpochMs, hourMs } from '../../../model/intervals.ts';
import type { Range } from '../../../model/ranges.ts';
import type { HistorySeries, SeriesKey } from '../../../model/series.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { type LakeOptions, writeLake } from '../../../transfer/lake/write-lake.ts';
import { bitcoinHours as hours } from '../../queue/queue-parts.ts';
import { commitPoints } from '../../store/committing.ts';
import type { TestStore } from '../../store/open-store.ts';

/** A name that is no name of a file. */
export const days: HistorySeries = { dataset: 'asset_history', assetId: '../Bit "coin"_ü', interval: 'd1' };
export const january = Date.UTC(2024, 0);
export const february = Date.UTC(2024, 1);
export const march = Date.UTC(2024, 2);

export interface Filled {
  readonly seriesId: number;
  readonly series: SeriesKey;
}

export async function fill(
  store: TestStore,
  series: SeriesKey,
  window: Range,
  changed: ReadonlyMap<EpochMs, string> = new Map(),
): Promise<Filled> {
  const { seriesId } = await trackSeries(store.database, series, window.startMs, null);
  await commitPoints(store.database, { seriesId, series, window, changed });
  return { seriesId, series };
}

export const digits = new Map([
  [february, '0.00000000000000000001'],
  [february + hourMs, '123456789012345678.10'],
  [february + 2 * hourMs, '0'],
  [february + 3 * hourMs, '1.500'],
]);

/** Six weeks of hours, with digits of every kind, and a year of days. */
export async function fillBoth(store: TestStore): Promise<Filled> {
  await fill(store, days, { startMs: january, endMs: Date.UTC(2025, 0) });
  return fill(store, hours, { startMs: january + 14 * dayMs, endMs: february + 20 * dayMs }, digits);
}

export function write(store: TestStore, directory: string, options: Partial<LakeOptions> = {}) {
  return writeLake(store.database, {
    directory,
    clock: systemClock,
    signal: new AbortController().signal,
    showProgress: () => ({ update: () => {}, stop: () => {} }),
    ...options,
  });
}

export function manifestOf(directory: string) {
  return JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'));
}

/** What the lake should hold of the candles: the covered ones, as text. */
export async function inStore({ database }: TestStore) {
  const result = await database.pool.query(
    `select exchange_id as exchange, base_id as base, quote_id as quote, interval,
            extract(year from time)::text as year, extract(month from time)::text as month,
            (extract(epoch from time) * 1000)::bigint::text as at,
            ${['open', 'high', 'low', 'close', 'volume'].map((name) => `${name}::numeric(38, 20)::text as ${name}`).join(', ')},
            concat_ws(' ', scale(open), scale(high), scale(low), scale(close), scale(volume)) as fraction_digits
     from tidemark.candle_points p join tidemark.series s on s.id = p.series_id
     where s.covered @> time order by time`,
  );
  return result.rows;
}
