/** The planner's result for the gaps in the store, as in a planning pass. */

import type { EpochMs } from '../../model/intervals.ts';
import { longestRange } from '../../model/request-range.ts';
import { defaultSource } from '../../model/sources.ts';
import { newestEnd } from '../../planning/periods.ts';
import { type PlanInput, planWindows } from '../../planning/plan.ts';
import type { Database } from '../../store/db/database.ts';
import { seriesWithGaps } from '../../store/series/gaps.ts';
import { offersOf } from '../sources/source-facts.ts';
import { graceMs, type SeriesModel } from './series-model.ts';

const hours = 3_600_000;
/** Short, so that a gap needs several windows. */
const offers = offersOf({ candles: { h1: 7 * hours, w1: 3 * 168 * hours }, asset_history: { d1: 5 * 24 * hours } });
const plenty = { total: 10_000, refresh: 10_000 };

export async function plannedAll(
  database: Database,
  models: readonly SeriesModel[],
  nowMs: EpochMs,
  more: Partial<Pick<PlanInput, 'slots' | 'cursor'>> = {},
) {
  const read = await seriesWithGaps(database, {
    nowMs,
    graceMs,
    openRefreshMs: 900_000,
    seriesIds: models.map(({ seriesId }) => seriesId),
    rangesPerSeries: 1000,
  });
  const plan = planWindows({
    source: defaultSource,
    series: read,
    claimed: new Map(models.map(({ seriesId, claimed }) => [seriesId, claimed])),
    nowMs,
    graceMs,
    longestRangeMs: (series) => longestRange(series, offers),
    slots: plenty,
    cursor: 0,
    ...more,
  });
  return {
    read,
    plan,
    spanOf: ({ truth }: SeriesModel) => longestRange(truth.series, offers),
    endOf: ({ truth }: SeriesModel) => newestEnd(truth.series, nowMs, graceMs),
  };
}
