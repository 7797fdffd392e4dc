/** All that is known of one series beside its points, for its page. */

import type { EpochMs } from '../../contract/intervals.ts';
import { seriesName } from '../../contract/series.ts';
import { TidemarkError } from '../../errors.ts';
import { chartedSeries } from '../../store/dashboard/series.ts';
import type { Database } from '../../store/database.ts';
import { listGaps } from '../../store/gaps.ts';
import { storyOf } from '../../store/story.ts';
import { notFound } from '../refusals.ts';
import type { SeriesDetail } from './shapes.ts';

/** Of what there may be thousands of. */
const few = 20;
const mostRaw = 500;

/** @throws ServiceRefusal 404 */
export async function seriesDetail(
  database: Database,
  { seriesId, nowMs, graceMs }: { seriesId: number; nowMs: EpochMs; graceMs: number },
): Promise<SeriesDetail> {
  const found = await chartedSeries(database, seriesId);
  if (found === null) throw notFound(String(seriesId));
  const story = await storyOf(database, { seriesId, nowMs, most: few }).catch((error: unknown) => {
    throw error instanceof TidemarkError ? notFound(String(seriesId)) : error;
  });
  const gaps = await listGaps(database, { nowMs, graceMs, seriesIds: [seriesId] });
  return {
    id: seriesId,
    name: seriesName(found.series),
    dataset: found.series.dataset,
    interval: found.series.interval,
    fromMs: story.tracked.startMs,
    toMs: story.tracked.endMs,
    untrackedMs: story.untrackedMs,
    beginsMs: story.beginsMs,
    earliestMs: found.earliestMs,
    newestMs: found.newestMs,
    gapsInAll: gaps.length,
    gaps: gaps
      .slice(-few)
      .reverse()
      .map(({ startMs, endMs, reason, message }) => ({ startMs, endMs, reason, message })),
    fetches: story.fetches.map(({ range, ...fetch }) => ({
      ...fetch,
      startMs: range?.startMs ?? null,
      endMs: range?.endMs ?? null,
    })),
    revisions: story.revisions,
    rejections: story.rejections.map((row) => ({ ...row, raw: row.raw.slice(0, mostRaw) })),
  };
}
