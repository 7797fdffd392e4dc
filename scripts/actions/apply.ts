/** `tidemark apply`: applies the watch list. */

import { systemClock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { formatTime } from '../../model/format.ts';
import { seriesName } from '../../model/series.ts';
import { type StoredDataset, storedDatasets, storedWords } from '../../model/stored-datasets.ts';
import { estimateCost, type PlanCost, pollsEveryMs } from '../../operations/estimate.ts';
import { pollLists } from '../../operations/polling/poll-lists.ts';
import { isOldList, marketsOf } from '../../operations/sources/markets.ts';
import { type Context, configFromEnvironment, withContext } from '../../runtime/context.ts';
import { overrideReread } from '../../store/settings/settings.ts';
import { applyWatchList, hashOf, previewWatchList } from '../../watch-list/apply.ts';
import { readWatchListFile } from '../../watch-list/file.ts';
import { isNothing, type WatchListContext, type WatchListPlan } from '../../watch-list/plan.ts';
import { readWatchList } from '../../watch-list/read.ts';
import { sourcesNeeded } from '../../watch-list/resolve.ts';
import { watchedSources } from '../../watch-list/source-facts.ts';
import { problemText, type WatchList } from '../../watch-list/watch-list.ts';
import { userAtHost } from '../input/asked-by.ts';
import { type Ask, askOnTerminal, confirmByName } from '../input/confirm.ts';
import { datasetOf } from '../input/datasets.ts';
import { planJson, planText } from '../output/apply-report.ts';
import { costJson, costText } from '../output/cost-report.ts';
import type { JsonDocument } from '../output/documents.ts';

export interface ApplyOptions {
  readonly file?: string;
  readonly dryRun?: true;
  readonly prune?: true;
  readonly confirm?: string[];
  readonly json?: true;
}

export async function run(options: ApplyOptions): Promise<void> {
  const config = configFromEnvironment();
  const file = options.file ?? config.watchList ?? 'tidemark.yaml';
  const confirmed = new Set((options.confirm ?? []).map(datasetOf));
  const { list, hash } = await readList(file);
  await withContext({ command: 'apply', handlesSignals: true, config }, async (context, signal) => {
    const planContext: WatchListContext = {
      nowMs: context.clock.now(),
      prune: options.prune === true || list.prune,
      whyUnpolled: null,
      mayDrop: new Set(storedDatasets),
      sources: watchedSources((await context.sources()).facts),
    };
    const unlisted = await readOldMarkets(context, list, planContext.nowMs);
    const { plan, failure = unlisted, whyUnpolled } = await planned(context, list, planContext, signal);
    const cost = await costAfter(context, plan, planContext.nowMs);
    // Text shows the planned changes first; JSON shows only the result.
    const tell = (text: string) => (options.json === true ? undefined : console.log(text));
    const foreseen = planText(plan, file);
    tell(`${foreseen}\n\n${costText(cost)}`);
    if (options.dryRun === true) {
      if (options.json) console.log(documentOf(plan, cost, false));
      if (!isNothing(plan)) tell('\ndry run: nothing was changed');
      if (failure !== null) throw failure;
      return;
    }
    context.phase(null);
    await confirmDrops(plan, confirmed, options.json === true ? null : askOnTerminal(signal));
    if (signal.aborted) throw new TidemarkError('INTERRUPTED', 'stopped before any change');
    context.phase('applying the changes');
    const mayDrop = new Set(plan.retention.map(({ dataset }) => dataset));
    const applied = { ...planContext, mayDrop, hash, file, whyUnpolled, by: userAtHost() };
    const done = await applyWatchList(context.database, list, applied);
    // Another apply or a scheduler may have changed it meanwhile.
    const text = planText(done, file);
    const isAsForeseen = text === foreseen;
    if (!isAsForeseen) tell(`\nanother process changed it meanwhile; the remaining changes:\n${text}`);
    if (options.json) {
      const costNow = isAsForeseen ? cost : await costAfter(context, done, planContext.nowMs);
      console.log(documentOf(done, costNow, true));
    }
    if (!isNothing(done)) tell('\napplied');
    if (failure !== null) throw failure;
  });
}

function documentOf(plan: WatchListPlan, cost: PlanCost, applied: boolean): string {
  const document: JsonDocument<'apply'> = { ...planJson(plan), cost: costJson(cost), applied };
  return JSON.stringify(document, null, 2);
}

/** @throws TidemarkError BAD_WATCH_LIST; several problems are printed on standard error, a line each. */
async function readList(file: string): Promise<{ list: WatchList; hash: string }> {
  const read = await readWatchListFile(file);
  if (read.kind === 'absent') {
    throw new TidemarkError('BAD_WATCH_LIST', `${file}: there is no such file`, {
      remedy: 'name it with --file or WATCH_LIST; the README has an example',
    });
  }
  if (read.kind === 'unreadable') throw new TidemarkError('BAD_WATCH_LIST', `${file} ${read.why}`);
  const result = readWatchList(read.text, systemClock.now());
  if (result.kind === 'list') return { list: result.list, hash: hashOf(read.text) };
  const lines = result.problems.map((problem) => problemText(file, problem));
  const [first = '', ...more] = lines;
  if (more.length === 0) throw new TidemarkError('BAD_WATCH_LIST', first);
  for (const line of lines) process.stderr.write(`${line}\n`);
  throw new TidemarkError('BAD_WATCH_LIST', `${lines.length} lines of ${file} are wrong, see above`);
}

/**
 * Reads the markets of the sources that the list names, if they are old.
 *
 * @returns why the first of those that have no list could not be read; null: all have one. The others are applied all
 * the same.
 */
async function readOldMarkets(context: Context, list: WatchList, nowMs: number): Promise<TidemarkError | null> {
  const sources = await context.sources();
  let failure: TidemarkError | null = null;
  for (const name of sourcesNeeded(list)) {
    const source = sources.find(name);
    // The plan notes a name that no source has.
    if (source?.profile.lists.symbols === undefined) continue;
    try {
      const [market] = await marketsOf(context, source, nowMs);
      if (market !== undefined && isOldList(market.seenAtMs, nowMs))
        process.stderr.write(
          `the list of markets of ${name} cannot be read: that of ${formatTime(market.seenAtMs)} counts\n`,
        );
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      failure ??= error;
    }
  }
  return failure;
}

interface Planned {
  readonly plan: WatchListPlan;
  /** Why a list that it needs could not be polled: what needs it is left out. */
  readonly failure?: TidemarkError;
  readonly whyUnpolled: string | null;
}

/** Polls the lists that it needs if they are old. @throws TidemarkError INTERRUPTED */
async function planned(
  context: Context,
  list: WatchList,
  planContext: WatchListContext,
  signal: AbortSignal,
): Promise<Planned> {
  const preview = (whyUnpolled: string | null) =>
    previewWatchList(context.database, list, { ...planContext, whyUnpolled });
  const plan = await preview(null);
  if (plan.unpolled.length === 0) return { plan, whyUnpolled: null };
  const failure = await pollLists(context, plan.unpolled, signal).catch((error: unknown) => {
    if (error instanceof TidemarkError && error.code !== 'INTERRUPTED') return error;
    throw error;
  });
  context.phase('waiting for the database');
  const whyUnpolled = failure?.message ?? null;
  return { plan: await preview(whyUnpolled), whyUnpolled, ...(failure && { failure }) };
}

/** The cost after the changes, as `plan` shows it. */
async function costAfter(context: Context, plan: WatchListPlan, nowMs: number): Promise<PlanCost> {
  const { config } = context;
  const { after } = plan;
  const pending = { reread: overrideReread(config.reread, after.reread), pollsEveryMs: pollsEveryMs(after.lists) };
  const sources = new Map(plan.sources.map(({ series, sources: own }) => [seriesName(series), own]));
  return estimateCost(context, after.series, [], nowMs, pending, sources);
}

/** @throws TidemarkError BAD_ARGUMENT unless each retention that drops points is confirmed by its dataset's name. */
async function confirmDrops(
  plan: WatchListPlan,
  confirmed: ReadonlySet<StoredDataset>,
  ask: Ask | null,
): Promise<void> {
  for (const { dataset, after, dropsBeforeMs } of plan.retention) {
    if (dropsBeforeMs === null || confirmed.has(dataset)) continue;
    const name = storedWords[dataset];
    await confirmByName({
      name,
      consequence:
        `The retention of ${after} drops every point of ${name} from before ${formatTime(dropsBeforeMs)} ` +
        'irreversibly when the scheduler next applies it.',
      given: undefined,
      ask,
    });
  }
}
