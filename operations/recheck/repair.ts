/** Requests differing and old empty ranges again, and stores the answers: for `repair` and the dashboard. */

import { intervalMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { withWitnesses } from '../../model/windows.ts';
import { probedSeries, probesAgain } from '../../planning/beginning.ts';
import type { WindowProgress } from '../../planning/progress.ts';
import { allWindows, type CoveredWindow, countWindows, windowsAround } from '../../planning/sample.ts';
import { readDifferingPeriods } from '../../store/commit/differences.ts';
import { readOldEmptyRanges } from '../../store/commit/reread.ts';
import { type OperationContext, readRangeLimits } from '../context.ts';
import { refreshRollupsAtEnd } from '../refresh-rollups.ts';
import { recheckWindows } from './recheck-windows.ts';

export interface RepairRequest {
  /** Absent: every tracked series. */
  readonly seriesIds: readonly number[] | undefined;
  readonly differences: boolean;
  /** Empty ranges last requested before this time; null: none. */
  readonly sinceMs: number | null;
  readonly signal: AbortSignal;
  readonly progress: () => WindowProgress;
}

export type Repair = Awaited<ReturnType<typeof repair>>;

/** @throws TidemarkError when the source, the database or the queue cannot be used. */
export async function repair(context: OperationContext, request: RepairRequest) {
  const { database } = context;
  const longestRangeMs = await readRangeLimits(context);
  const known = request.differences ? await readDifferingPeriods(database, request.seriesIds) : [];
  const ofDifferences = known.flatMap(({ seriesId, series, timesMs }): CoveredWindow[] =>
    windowsAround(timesMs, intervalMs[series.interval], longestRangeMs(series)).map((range) =>
      withWitnesses({ seriesId, series, ...range }, longestRangeMs(series)),
    ),
  );
  const empties =
    request.sinceMs === null ? [] : await readOldEmptyRanges(database, request.sinceMs, request.seriesIds);
  const probes = empties.flatMap(({ seriesId, series, before, knownMs }): CoveredWindow[] =>
    before.flatMap((range) =>
      [...probesAgain(range, knownMs, longestRangeMs(probedSeries(series)))].map((probe) => ({
        seriesId,
        series,
        ...probe,
        byDays: true,
      })),
    ),
  );
  /** Requested windows: with differences, and confirmed empty. */
  const asked = {
    differences: ofDifferences.length,
    empties: countWindows(empties, longestRangeMs) + probes.length,
  };

  const counts = { answered: 0, fresh: 0, revised: 0 };
  /** Series with points before their known beginning: the years before are gaps now. */
  const earlier = new Set<SeriesKey>();
  const seriesIds = [...new Set([...known, ...empties].map(({ seriesId }) => seriesId))];
  const outcome = await recheckWindows(context, {
    lane: 'repair',
    windows: inOrder(ofDifferences, allWindows(empties, longestRangeMs), probes),
    count: asked.differences + asked.empties,
    longestRangeMs,
    seriesIds,
    signal: request.signal,
    progress: request.progress(),
    onSettled(settled) {
      counts.fresh += settled.fresh;
      counts.revised += settled.revised;
      if (settled.kind === 'overturned') earlier.add(settled.window.series);
      if (settled.message === null) counts.answered += 1;
    },
  });
  if (counts.fresh + counts.revised > 0) await refreshRollupsAtEnd(context, seriesIds, request.signal);
  return { asked, ...counts, ...outcome, earlier: [...earlier] };
}

function* inOrder(...lists: Iterable<CoveredWindow>[]): Generator<CoveredWindow> {
  for (const list of lists) yield* list;
}
