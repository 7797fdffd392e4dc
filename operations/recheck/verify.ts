/** Compares covered windows with the source, and changes nothing: for `verify` and the dashboard. */

import type { Range } from '../../model/ranges.ts';
import type { WindowProgress } from '../../planning/progress.ts';
import { allWindows, type CoveredSeries, countWindows, sampleWindows } from '../../planning/sample.ts';
import { unboundedKind } from '../../store/commit/verification.ts';
import { countRejected } from '../../store/ledger/quarantine.ts';
import { readCoveredRanges } from '../../store/series/ranges.ts';
import { type OperationContext, readRangeLimits } from '../context.ts';
import { comparedWith } from './other-source.ts';
import { recheckWindows } from './recheck-windows.ts';

export type Verification = Awaited<ReturnType<typeof verify>>;

export interface VerifyRequest {
  /** Absent: every tracked series. */
  readonly seriesIds: readonly number[] | undefined;
  /** Number of windows, drawn at random; null: every covered window. */
  readonly sample: number | null;
  /** Name of another source to compare with; null: each series' own. */
  readonly against: string | null;
  readonly signal: AbortSignal;
  readonly progress: () => WindowProgress;
  readonly note: (text: string) => void;
}

/** @throws TidemarkError when the source, the database or the queue cannot be used. */
export async function verify(context: OperationContext, request: VerifyRequest) {
  const { database } = context;
  const all = await readCoveredRanges(database, request.seriesIds);
  const other = request.against === null ? null : await comparedWith(context, request.against, all);
  for (const line of other?.notes ?? []) request.note(line);
  const covered = other?.covered ?? all;
  const longestRangeMs = other?.longestRangeMs ?? (await readRangeLimits(context));
  const windows = countWindows(covered, longestRangeMs);
  const wanted = Math.min(windows, request.sample ?? windows);
  const counts = {
    /** Completely compared windows. */
    compared: 0,
    /**
     * Windows that are not verified: no row bounds the silence at the edge of the answer, so it may be truncated. Differing
     * points elsewhere in them count.
     */
    unbounded: 0,
    points: 0,
    rewritten: 0,
  };
  const outcome = await recheckWindows(context, {
    lane: 'verify',
    windows:
      request.sample === null
        ? allWindows(covered, longestRangeMs)
        : sampleWindows(covered, longestRangeMs, wanted, Math.random),
    count: wanted,
    longestRangeMs,
    against: other?.symbols,
    seriesIds: covered.map(({ seriesId }) => seriesId),
    signal: request.signal,
    progress: request.progress(),
    onSettled(settled) {
      counts.points += settled.points;
      counts.rewritten += settled.rewritten;
      if (settled.message !== null) return;
      if (settled.kind === unboundedKind) counts.unbounded += 1;
      else counts.compared += 1;
    },
  });
  /** Rejected rows of the covered ranges: there is nothing to compare of their periods. */
  const rejected = await countRejected(database, new Map(covered.map(hullOf)));
  return { windows, ...counts, rejected, ...outcome };
}

function hullOf({ seriesId, ranges }: CoveredSeries): [number, Range] {
  const [first = { startMs: 0, endMs: 0 }] = ranges;
  return [seriesId, { startMs: first.startMs, endMs: ranges.at(-1)?.endMs ?? first.endMs }];
}
