/** What the planner makes of the gaps that the store tells it, as a planning pass puts the two together. */

import type { EpochMs } from '../../contract/intervals.ts';
import { newestEnd } from '../../planning/closed.ts';
import { type PlanInput, planWindows } from '../../planning/plan.ts';
import { longestRange, type RangeLimits } from '../../planning/windows.ts';
import type { Database } from '../../store/database.ts';
import { seriesWithGaps } from '../../store/gaps.ts';
import { graceMs, type SeriesModel } from './series-model.ts';

const hours = 3_600_000;
/** Short, so that a gap takes several windows. */
const limits: RangeLimits = {
  candles: { h1: 7 * hours, w1: 3 * 168 * hours },
  asset_history: { d1: 5 * 24 * hours },
};
const plenty = { total: 10_000, refresh: 10_000, backfill: 10_000 };

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
    series: read,
    claimed: new Map(models.map(({ seriesId, claimed }) => [seriesId, claimed])),
    nowMs,
    graceMs,
    longestRangeMs: (series) => longestRange(series, limits),
    slots: plenty,
    cursor: 0,
    ...more,
  });
  return {
    read,
    plan,
    spanOf: ({ truth }: SeriesModel) => longestRange(truth.series, limits),
    endOf: ({ truth }: SeriesModel) => newestEnd(truth.series, nowMs, graceMs),
  };
}
