/** A selection of series, cut to what their dataset's retention keeps. */

import { type EpochMs, intervalMs, periodStart } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { retentionsOf } from './retention.ts';
import type { Selection } from './selectors.ts';
import type { Session } from './session.ts';
import { moment } from './wording.ts';

export interface KeptSelection extends Selection {
  /** Where to track a series from. The period that holds the cut is not kept, so a series begins with the next. */
  readonly trackFromMs: (series: SeriesKey) => EpochMs;
}

/**
 * The selection itself where nothing of it is older than what is kept. What begins earlier begins at the cut, and a
 * line on standard error says so.
 *
 * @throws TidemarkError BAD_ARGUMENT when all of it is older.
 */
export async function withinRetention(session: Session, selection: Selection): Promise<KeptSelection> {
  const dataset = selection.series[0]?.dataset;
  const retention = (await retentionsOf(session, Date.now())).find((one) => one.dataset === dataset);
  if (retention === undefined || selection.fromMs >= retention.cutMs) {
    return { ...selection, trackFromMs: () => selection.fromMs };
  }
  const { age, cutMs } = retention;
  if (selection.toMs !== null && selection.toMs <= cutMs) {
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `--to ${moment(selection.toMs)} lies before what is kept: the retention of ${age} keeps nothing before ${moment(cutMs)}`,
      { remedy: '`tidemark retention` shows and changes it' },
    );
  }
  console.error(
    `tidemark: the retention of ${age} keeps nothing before ${moment(cutMs)}: from there on, not from ${moment(selection.fromMs)}`,
  );
  return {
    ...selection,
    fromMs: cutMs,
    trackFromMs: ({ interval }) => periodStart(cutMs + intervalMs[interval] - 1, interval),
  };
}
