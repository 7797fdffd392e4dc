/** The range that `retry`, `verify` and `repair` act on. */

import { badArgument } from '../errors.ts';
import { formatSpan } from '../model/format.ts';
import { overlaps, type Range } from '../model/ranges.ts';
import { seriesName } from '../model/series.ts';
import { periodsIn } from '../planning/periods.ts';
import { readTrackedRanges } from '../store/series/ranges.ts';
import type { OperationContext } from './context.ts';

/** What a command acts on. */
export interface ActedOn {
  /** Absent: every tracked series. */
  readonly seriesIds: readonly number[] | undefined;
  /** Whole periods that it touches; absent: at any time. */
  readonly within: Range | undefined;
}

/** @throws TidemarkError BAD_ARGUMENT when nothing of the range is tracked. */
export async function assertTracked(
  { database }: Pick<OperationContext, 'database'>,
  { seriesIds, within }: ActedOn,
): Promise<void> {
  if (within === undefined) return;
  const tracked = await readTrackedRanges(database, seriesIds);
  const isWithin = tracked.some(({ series, tracked: { startMs, endMs } }) =>
    overlaps({ startMs, endMs: endMs ?? Number.POSITIVE_INFINITY }, periodsIn(within, series.interval)),
  );
  const [first, another] = tracked;
  if (isWithin || first === undefined) return;
  const own = another === undefined ? `: ${seriesName(first.series)} is tracked ${formatSpan(first.tracked)}` : '';
  throw badArgument(`nothing is tracked ${formatSpan(within)}${own}`, '`tidemark status` shows what is tracked');
}
