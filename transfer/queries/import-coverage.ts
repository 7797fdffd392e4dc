/** Adds a file's coverage to a series, within the transaction that stores its points. */

import type pg from 'pg';
import type { TupleRun } from '../../model/binary/tuples.ts';
import type { EpochMs, Interval } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { fileSource } from '../../model/sources.ts';
import { periodOf } from '../../planning/periods.ts';
import { deleteCoveredWindows } from '../../store/commit/deferred-windows.ts';
import { recordGiven } from '../../store/commit/given-ranges.ts';
import type { PointChanges } from '../../store/commit/write-points.ts';
import { int4, int8, nullable, range, ranges, statement, time } from '../../store/db/statement.ts';
import { markChangedMonths } from '../../store/series/changed-months.ts';
import { lockSeries } from '../../store/series/lock.ts';
import { daysBehind } from '../../store/series/rollups-behind.ts';

/** Coverage of a part of a series, as stated by a file. */
export interface FileCoverage {
  readonly covered: readonly Range[];
  /** Covered ranges that are confirmed empty. */
  readonly confirmedEmpty: readonly Range[];
  /** Confirmed empty ranges that were requested by days only. */
  readonly beforeBeginning: readonly Range[];
}

/**
 * Adds the file's coverage. A range with a stored or possible point is not empty, and a range that the file
 * has points for is no longer empty.
 */
export async function addFileCoverage(
  client: pg.PoolClient,
  seriesId: number,
  stated: FileCoverage & {
    readonly series: SeriesKey;
    /** The file's points, ascending. */
    readonly runs: readonly TupleRun[];
    readonly changes: PointChanges;
  },
): Promise<void> {
  const { runs, changes, series } = stated;
  const held = periodsOf(runs, series.interval);
  const firstMs = timeAt(runs[0], 'first');
  const lastMs = timeAt(runs.at(-1), 'last');
  const isChanged = changes.fresh + changes.changed > 0 && firstMs !== null && lastMs !== null;
  await lockSeries(client, [seriesId]);
  await recordGiven(client, [{ seriesId, source: fileSource, ranges: stated.covered }]);
  await coverByFile.on(client, {
    seriesId,
    covered: stated.covered,
    empty: stated.confirmedEmpty,
    beforeBeginning: stated.beforeBeginning,
    held,
    earliest: firstMs,
    newest: lastMs,
    behind: isChanged ? daysBehind(series, { startMs: firstMs, endMs: lastMs + 1 }) : null,
    fresh: changes.fresh,
    revised: changes.revised,
  });
  if (isChanged) await markChangedMonths(client, [{ seriesId, firstMs, lastMs }]);
  await deleteCoveredWindows.on(client, { seriesIds: [seriesId] });
}

const coverByFile = statement({
  name: 'cover-by-file',
  text: `
    with stated as (
      select $covered as covered, $empty as empty, $beforeBeginning as before_beginning, $held as held
    )
    update tidemark.series s
       set covered = s.covered + t.covered,
           confirmed_empty = s.confirmed_empty - (t.covered - t.empty) - t.held
                             + (t.empty - s.covered - s.uncovered_points),
           before_beginning = s.before_beginning - (t.covered - t.empty) - t.held
                              + (t.before_beginning - s.covered - s.uncovered_points),
           begins = case when s.before_beginning && (t.covered - t.empty + t.held) then null else s.begins end,
           uncovered_points = s.uncovered_points + t.held - (s.covered + t.covered),
           rollups_behind = s.rollups_behind + tstzmultirange(coalesce($behind, 'empty')),
           points = s.points + $fresh, revised = s.revised + $revised,
           earliest = least(s.earliest, $earliest), newest = greatest(s.newest, $newest)
      from stated t
     where s.id = $seriesId`,
  parameters: {
    ...{ seriesId: int4, covered: ranges, empty: ranges, beforeBeginning: ranges, held: ranges },
    ...{ earliest: nullable(time), newest: nullable(time), behind: nullable(range) },
    ...{ fresh: int8, revised: int8 },
  },
});

function timeAt(run: TupleRun | undefined, which: 'first' | 'last'): EpochMs | null {
  if (run === undefined) return null;
  return run.tuples.timesMs[which === 'first' ? run.from : run.to - 1] ?? null;
}

/** The periods of the points. */
function periodsOf(runs: readonly TupleRun[], interval: Interval): Range[] {
  const periods: Range[] = [];
  let last: { startMs: EpochMs; endMs: EpochMs } | null = null;
  for (const { tuples, from, to } of runs)
    for (let row = from; row < to; row += 1) {
      const { startMs, endMs } = periodOf(tuples.timesMs[row] ?? 0, interval);
      if (last !== null && startMs <= last.endMs) last.endMs = endMs;
      else {
        last = { startMs, endMs };
        periods.push(last);
      }
    }
  return periods;
}
