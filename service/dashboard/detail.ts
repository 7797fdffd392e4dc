/** Reads everything about one series except its points, for its page. */

import type { EpochMs } from '../../contract/intervals.ts';
import { seriesName } from '../../contract/series.ts';
import { readChartedSeries } from '../../store/dashboard/points.ts';
import type { Database } from '../../store/db/database.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { readSeriesHistory } from '../../store/series/series-history.ts';
import { notFound } from '../response.ts';
import type { SeriesDetail } from './shapes.ts';

/** Entries of each list. */
const maxEntries = 20;
const maxRawCharacters = 500;

/** @throws ServiceRefusal 404 */
export async function seriesDetail(
  database: Database,
  { seriesId, nowMs, graceMs }: { seriesId: number; nowMs: EpochMs; graceMs: number },
): Promise<SeriesDetail> {
  const found = await readChartedSeries(database, seriesId);
  if (found === null) throw notFound(String(seriesId));
  const history = await readSeriesHistory(database, { seriesId, nowMs, most: maxEntries });
  const gaps = await listGaps(database, { nowMs, graceMs, seriesIds: [seriesId] });
  return {
    id: seriesId,
    name: seriesName(found.series),
    dataset: found.series.dataset,
    interval: found.series.interval,
    fromMs: history.tracked.startMs,
    toMs: history.tracked.endMs,
    untrackedMs: history.untrackedMs,
    beginsMs: history.beginsMs,
    earliestMs: found.earliestMs,
    newestMs: found.newestMs,
    gapsInAll: gaps.length,
    gaps: gaps
      .slice(-maxEntries)
      .reverse()
      .map(({ startMs, endMs, reason, message }) => ({ startMs, endMs, reason, message })),
    fetches: history.fetches,
    revisions: history.revisions,
    rejections: history.rejections.map((row) => ({ ...row, raw: row.raw.slice(0, maxRawCharacters) })),
  };
}
