/** Requests of points, and the rows of their answers as objects. */

import type { CandleSeries, HistorySeries } from '../../model/series.ts';
import type { Source } from '../../sources/source.ts';
import { candlesOf, historyOf } from '../parts/points.ts';

/** Half-open. */
interface Asked {
  readonly start?: number;
  readonly end?: number;
}

export async function candlesAt(
  source: Source,
  { start = 0, end = 0, ...series }: Omit<CandleSeries, 'dataset'> & Asked & { readonly symbol?: string | undefined },
) {
  const answer = await source.points({ ...series, dataset: 'candles', startMs: start, endMs: end });
  return { ...answer, rows: candlesOf(answer.rows) };
}

export async function historyAt(
  source: Source,
  assetId: string,
  { interval, start = 0, end = 0 }: Pick<HistorySeries, 'interval'> & Asked,
) {
  const answer = await source.points({ dataset: 'asset_history', assetId, interval, startMs: start, endMs: end });
  return { ...answer, rows: historyOf(answer.rows) };
}
