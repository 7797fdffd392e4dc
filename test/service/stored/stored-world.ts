/** A database that holds what a simulated source gave: candles, histories, rates and lists, committed as workers do. */

import { dayMs, type EpochMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import type { Range } from '../../../model/ranges.ts';
import type { CandleSeries, SeriesKey } from '../../../model/series.ts';
import { createSimulator } from '../../../simulator/simulator.ts';
import type { Database } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { pointLinesOf } from '../../parts/points.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { commitRates, commitWindow } from '../../store/committing.ts';
import { loadLists } from './load-lists.ts';

export const nowMs = Date.UTC(2024, 4, 16, 10, 7, 31);
/** Since when the hours are stored. */
export const startMs = Date.UTC(2024, 3, 1);
export const simulator = createSimulator({ seed: 'stored', clock: { now: () => nowMs } });

export const hours: CandleSeries = { ...bitcoinHours, exchange: 'kraken', quoteId: 'euro' };
const minutes: CandleSeries = { ...bitcoinHours, interval: 'm1' };
const answer = { rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 0, durationMs: 0 };
const series: readonly { key: SeriesKey; fromMs: EpochMs }[] = [
  { key: hours, fromMs: startMs },
  { key: minutes, fromMs: nowMs - 3 * dayMs },
  { key: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' }, fromMs: startMs },
  { key: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' }, fromMs: Date.UTC(2012, 0, 1) },
];

/** Fills an empty, migrated database. Of asset markets, bitcoin's are polled. */
export async function fillStoredWorld(database: Database): Promise<void> {
  for (const { key, fromMs } of series) await fill(database, key, { startMs: fromMs, endMs: nowMs });
  await commitRates(database, { answer: { ...answer, rows: simulator.truth.rates(nowMs) }, nowMs });
  await loadLists(database, simulator, nowMs - minuteMs, ['bitcoin']);
  await loadLists(database, simulator, nowMs, ['bitcoin']);
}

/** Tracks the series from there on, and commits what the source has of the range. */
export async function fill(database: Database, key: SeriesKey, window: Range): Promise<void> {
  const { seriesId } = await trackSeries(database, key, window.startMs, null);
  const rows = simulator.truth.points(key, window);
  await commitWindow(database, {
    window: fillOf({ seriesId, series: key, ...window }),
    ...{ attempt: 1, nowMs, rules: rulesOf(hourMs) },
    answer: { ...answer, rows: pointLinesOf(key.dataset, rows) },
  } as Parameters<typeof commitWindow>[1]);
}
