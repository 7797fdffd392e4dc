/** Applies the retention of a dataset to a selection. */

import { type EpochMs, intervalMs, periodStart } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { TidemarkError } from '../../errors.ts';
import { formatTime } from '../../format.ts';
import { readRetentions } from '../../operations/context.ts';
import type { Context } from '../../runtime/context.ts';
import type { Selection } from './selectors.ts';

export type KeptSelection<Selected> = Selected & {
  /** Where to track a series from: the first period after the cut. */
  readonly trackFromMs: (series: SeriesKey) => EpochMs;
};

/**
 * Moves an earlier start to the cut of the retention, and prints a line about it on standard error.
 *
 * @throws TidemarkError BAD_ARGUMENT when all of it is older.
 */
export async function withinRetention<Selected extends Selection>(
  context: Context,
  selection: Selected,
): Promise<KeptSelection<Selected>> {
  const dataset = selection.series[0]?.dataset;
  const retention = (await readRetentions(context, Date.now())).find((one) => one.dataset === dataset);
  if (retention === undefined || selection.fromMs >= retention.cutMs) {
    return { ...selection, trackFromMs: () => selection.fromMs };
  }
  const { age, cutMs } = retention;
  if (selection.toMs !== null && selection.toMs <= cutMs) {
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `--to ${formatTime(selection.toMs)} is too old: the retention of ${age} keeps nothing before ${formatTime(cutMs)}`,
      { remedy: '`tidemark retention` shows and changes it' },
    );
  }
  console.error(
    `tidemark: the retention of ${age} keeps nothing before ${formatTime(cutMs)}: starting there instead of ${formatTime(selection.fromMs)}`,
  );
  return {
    ...selection,
    fromMs: cutMs,
    trackFromMs: ({ interval }) => periodStart(cutMs + intervalMs[interval] - 1, interval),
  };
}
