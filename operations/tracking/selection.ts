/** What a user selects to track: series and a range, resolved at their source and cut to their retention. */

import { badArgument } from '../../errors.ts';
import { formatTime } from '../../model/format.ts';
import { type EpochMs, intervalMs, periodStart } from '../../model/intervals.ts';
import type { Selection } from '../../model/selection.ts';
import { isOfMarket, type SeriesKey, seriesName } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { namesMeant } from '../../planning/near-names.ts';
import { readKnownNames } from '../../store/series/known-names.ts';
import { readNamedSeries, type SeriesSource } from '../../store/series/sources.ts';
import { listRetentions } from '../../store/upkeep/retention.ts';
import { askQueues, type OperationContext } from '../context.ts';
import { chooseSource } from '../sources/markets.ts';
import { asStored } from '../sources/names.ts';

export interface SourcedSelection extends Selection {
  /** The sources of every selected series; null: they stay as they are. */
  readonly sources: readonly SeriesSource[] | null;
}

/** Resolves a selection at the source that it names. @throws TidemarkError when the source lacks what is selected. */
export async function atSource(context: OperationContext, selection: Selection): Promise<SourcedSelection> {
  if (selection.source === null)
    return { ...selection, series: await asStored(context, selection.series), sources: null };
  const chosen = await chooseSource(context, selection.source, selection.series, context.clock.now());
  return { ...selection, ...chosen };
}

export type KeptSelection<Selected> = Selected & {
  /** Where to track a series from: the first period after the cut. */
  readonly trackFromMs: (series: SeriesKey) => EpochMs;
};

/**
 * Moves an earlier start to the cut of the retention, and notes it.
 *
 * @throws TidemarkError BAD_ARGUMENT when all of it is older.
 */
export async function withinRetention<Selected extends Selection>(
  context: OperationContext,
  selection: Selected,
  note: (text: string) => void,
): Promise<KeptSelection<Selected>> {
  const dataset = selection.series[0]?.dataset;
  const retention = (await listRetentions(context.database, context.clock.now())).find(
    (one) => one.dataset === dataset,
  );
  if (retention === undefined || selection.fromMs >= retention.cutMs) {
    return { ...selection, trackFromMs: () => selection.fromMs };
  }
  const { age, cutMs } = retention;
  if (selection.toMs !== null && selection.toMs <= cutMs) {
    throw badArgument(
      `--to ${formatTime(selection.toMs)} is too old: the retention of ${age} keeps nothing before ` +
        `${formatTime(cutMs)}`,
      '`tidemark retention` shows and changes it',
    );
  }
  note(
    `the retention of ${age} keeps nothing before ${formatTime(cutMs)}: starting there instead of ` +
      `${formatTime(selection.fromMs)}`,
  );
  return {
    ...selection,
    fromMs: cutMs,
    trackFromMs: ({ interval }) => periodStart(cutMs + intervalMs[interval] - 1, interval),
  };
}

/**
 * Notes names that look like known ones, such as `binanse`: tracking requests nothing, so that only the workers would
 * find out. Without a list of all assets, unknown ones are as good as others.
 *
 * @param then what is said after the name that is meant.
 */
export async function noteNearNames(
  { database }: Pick<OperationContext, 'database'>,
  { series, sources }: SourcedSelection,
  note: (text: string) => void,
  then = 'It is tracked until the source says that it does not know it, or `tidemark untrack` ends that',
): Promise<void> {
  // A named source has a list of its markets.
  if (sources !== null) return;
  const { exchanges, assets, listsAssets } = await readKnownNames.one(database.pool, {});
  const meantOf = new Map(
    series.map((one) => [nameWithoutInterval(one), namesMeant(one, { exchanges, assets: listsAssets ? assets : [] })]),
  );
  for (const [name, meant] of meantOf) if (meant !== '') note(`${name}${meant}${then === '' ? '' : ` ${then}`}`);
}

/**
 * Notes that nothing is asked of the default source, where series are to come from it: this process does not know its
 * address, and no worker that does is connected.
 */
export async function noteUnusedDefault(
  context: OperationContext,
  { series, sources }: SourcedSelection,
  note: (text: string) => void,
): Promise<void> {
  const { problem } = (await context.sources()).get(defaultSource);
  if (sources !== null || problem === null) return;
  const named = await readNamedSeries(context.database);
  if (series.every((one) => (named.get(seriesName(one)) ?? defaultSource) !== defaultSource)) return;
  const workers = await askQueues(
    context,
    (queues) => queues.requestsOf(defaultSource).countWorkers(),
    () => null,
  );
  if (workers !== 0) return;
  note(`no source is asked for this: ${problem}, and no worker with it is connected; \`--source\` names an exchange`);
}

const nameWithoutInterval = (series: SeriesKey) =>
  isOfMarket(series) ? `${series.exchange} ${series.baseId}/${series.quoteId}` : series.assetId;
