/** The series of a model run, and the store that they are compared with. */

import { type EpochMs, hourMs, intervalMs, periodStart } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { newestEnd } from '../../planning/periods.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { graceMs, SeriesModel } from './series-model.ts';
import { Truth } from './truth.ts';

export interface World {
  readonly models: readonly SeriesModel[];
  /** The maximum number of rows in an answer. */
  readonly cap: number | null;
  nowMs: EpochMs;
}

export interface Real {
  readonly url: string;
  database: Database;
}

/** A chunk boundary of both candles and history, so that retention has something to drop. */
const chunkEdgeMs = 219 * 90 * 24 * hourMs;
/** Some hours after it, with seconds, so that no period ends now. */
export const beginMs: EpochMs = chunkEdgeMs + 20 * hourMs + 34 * 60_000 + 5_000;

const lines: ReadonlyArray<{ series: (run: string) => SeriesKey; isDense: boolean; periods: number }> = [
  { series: (run) => candles(run, 'dense', 'h1'), isDense: true, periods: 50 },
  { series: (run) => candles(run, 'thin', 'h1'), isDense: false, periods: 50 },
  { series: (run) => candles(run, 'weekly', 'w1'), isDense: true, periods: 9 },
  { series: (run) => ({ dataset: 'asset_history', assetId: run, interval: 'd1' }), isDense: true, periods: 40 },
];
export const seriesCount = lines.length;

function candles(run: string, baseId: string, interval: 'h1' | 'w1'): SeriesKey {
  return { dataset: 'candles', exchange: run, baseId, quoteId: 'tether', interval };
}

/** Tracks every series from some time ago, open-ended. @param run the name of this run's series. */
export async function createWorld({ database }: Real, run: string, cap: number | null): Promise<World> {
  // Series of an earlier run had larger answers at the same time of day.
  await database.pool.query('update tidemark.series set most_rows_at = null');
  const largest = new Map<string, number>();
  const models: SeriesModel[] = [];
  for (const { series, isDense, periods } of lines) {
    const key = series(run);
    const fromMs = periodStart(beginMs, key.interval) - periods * intervalMs[key.interval];
    const { seriesId, tracked } = await trackSeries(database, key, fromMs, null);
    const model = new SeriesModel(new Truth(key, isDense), seriesId, largest);
    model.tracked = tracked;
    models.push(model);
  }
  return { models, cap, nowMs: beginMs };
}

export function openStore(url: string): Database {
  return openDatabase({ url, applicationName: 'tidemark test', maxConnections: 5, statementTimeoutMs: 30_000 });
}

/** A window of some periods. It begins some periods after the first one, or before the present. */
export function windowOf(world: World, model: SeriesModel, from: number, periods: number): Range {
  const { series } = model.truth;
  const length = model.lengthMs;
  const endMs = newestEnd(series, world.nowMs, graceMs);
  const line = lines[world.models.indexOf(model)];
  const firstMs = periodStart(beginMs, series.interval) - ((line?.periods ?? 0) + 4) * length;
  const places = (endMs - firstMs) / length;
  const startMs = from < 0 ? endMs + from * length : firstMs + (from % places) * length;
  return { startMs, endMs: Math.min(startMs + periods * length, endMs) };
}
