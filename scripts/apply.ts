/** `tidemark apply`: makes what is tracked what the watch list says. */

import type { Command } from 'commander';
import type { Config } from '../config.ts';
import type { StoredDataset } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { storedDatasets } from '../store/retention.ts';
import { overridden } from '../store/watch-list/settings.ts';
import { applyWatchList, hashOf } from '../watch/apply-watch-list.ts';
import { isNothing, planWatchList, type WatchContext, type WatchPlan } from '../watch/plan-watch-list.ts';
import { problemText } from '../watch/problem.ts';
import { readWatchFile } from '../watch/read-file.ts';
import { readWatchList } from '../watch/read-watch-list.ts';
import type { WatchList } from '../watch/watch-list.ts';
import { planJson, planText } from './apply-report.ts';
import { type Ask, askOnTerminal, confirmByName } from './confirm.ts';
import { costOf, type PlanCost, pageEveryMs } from './cost.ts';
import { costJson, costText } from './cost-report.ts';
import { pollLists } from './poll-lists.ts';
import { datasetNames, datasetOf } from './retention.ts';
import { configFromEnvironment, openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';
import { moment } from './wording.ts';

interface ApplyOptions {
  readonly file?: string;
  readonly dryRun?: true;
  readonly prune?: true;
  readonly confirm?: string[];
  readonly json?: true;
}

export function applyCommand(program: Command): void {
  program
    .command('apply')
    .description(
      'track what the watch list says: shows what changes and what it costs, then does it; what is stored always stays',
    )
    .option('--file <path>', 'the watch list (default: WATCH_LIST, tidemark.yaml)')
    .option('--dry-run', 'only show; the lists that patterns choose from are polled if they were not of late')
    .option('--prune', 'stop what is tracked and not in the file')
    .option(
      '--confirm <dataset...>',
      'where the retention of a dataset drops what is stored: its name once more',
    )
    .option('--json', 'one JSON document')
    .action(run);
}

async function run(options: ApplyOptions): Promise<void> {
  const config = configFromEnvironment();
  const file = options.file ?? config.watchList ?? 'tidemark.yaml';
  const confirmed = new Set((options.confirm ?? []).map(datasetOf));
  const { list, hash } = await readList(file);
  const stop = onStop();
  const session = await openSession({ command: 'apply', defaultLogLevel: 'error', handlesSignals: true });
  try {
    const context: WatchContext = {
      nowMs: Date.now(),
      chunkDays: session.config.storage.chunkDays,
      prune: options.prune === true || list.prune,
      mayDrop: new Set(storedDatasets),
    };
    const plan = await planned(session, list, context, stop.signal);
    const cost = await costAfter(session, plan, context.nowMs);
    // People read what is about to happen; a program reads what has.
    const tell = (text: string) => (options.json === true ? undefined : console.log(text));
    const foreseen = planText(plan, file);
    tell(`${foreseen}\n\n${costText(cost)}`);
    if (options.dryRun === true) {
      if (options.json) console.log(documentOf(plan, cost, false));
      if (!isNothing(plan)) tell('\ndry run: nothing was changed');
      return;
    }
    await confirmDrops(plan, confirmed, options.json === true ? null : askOnTerminal(stop.signal));
    if (stop.signal.aborted) throw new TidemarkError('INTERRUPTED', 'stopped before anything was changed');
    const mayDrop = new Set(plan.retention.map(({ dataset }) => dataset));
    const done = await applyWatchList(session.database, list, { ...context, mayDrop, hash });
    if (done.kind === 'lists') throw new Error('a list that was polled a moment ago is old');
    // Another apply, or a scheduler, may have been faster.
    const text = planText(done, file);
    const isAsForeseen = text === foreseen;
    if (!isAsForeseen) tell(`\nit was changed meanwhile by something else; what was left to do:\n${text}`);
    if (options.json) {
      const costNow = isAsForeseen ? cost : await costAfter(session, done, context.nowMs);
      console.log(documentOf(done, costNow, true));
    }
    if (!isNothing(done)) tell('\napplied');
  } finally {
    await session.close();
    stop.release();
  }
}

function documentOf(plan: WatchPlan, cost: PlanCost, applied: boolean): string {
  return JSON.stringify({ ...planJson(plan), cost: costJson(cost), applied }, null, 2);
}

/** @throws TidemarkError BAD_WATCH_LIST, with a line on standard error for each of several problems. */
async function readList(file: string): Promise<{ list: WatchList; hash: string }> {
  const read = await readWatchFile(file);
  if (read.kind === 'absent') {
    throw new TidemarkError('BAD_WATCH_LIST', `${file}: there is no such file`, {
      remedy: 'name it with --file or WATCH_LIST; the README has an example',
    });
  }
  if (read.kind === 'unreadable') throw new TidemarkError('BAD_WATCH_LIST', `${file} ${read.why}`);
  const result = readWatchList(read.text, Date.now());
  if (result.kind === 'list') return { list: result.list, hash: hashOf(read.text) };
  const lines = result.problems.map((problem) => problemText(file, problem));
  const [first = '', ...more] = lines;
  if (more.length === 0) throw new TidemarkError('BAD_WATCH_LIST', first);
  for (const line of lines) process.stderr.write(`${line}\n`);
  throw new TidemarkError('BAD_WATCH_LIST', `${lines.length} lines of ${file} are wrong, see above`);
}

/** Polls the lists that it needs, once, where they are not known of late. */
async function planned(
  session: Session,
  list: WatchList,
  context: WatchContext,
  signal: AbortSignal,
): Promise<WatchPlan> {
  const plan = await planWatchList(session.database.pool, list, context);
  if (plan.kind === 'plan') return plan;
  await pollLists(session, plan.lists, signal);
  const again = await planWatchList(session.database.pool, list, context);
  if (again.kind === 'plan') return again;
  throw new Error('a list that was polled a moment ago is old');
}

/** What `plan` will say once it is applied. */
async function costAfter(session: Session, { after }: WatchPlan, nowMs: number): Promise<PlanCost> {
  const { config } = session;
  const wanted = after.series.map(({ series, tracked }) => ({
    ...{ series, fromMs: tracked.startMs, toMs: tracked.endMs },
  }));
  return costOf(session, wanted, [], nowMs, {
    reread: overridden(config.reread, after.reread),
    pollsEveryMs: pollsAfter(after.lists, config),
  });
}

function pollsAfter(lists: WatchPlan['after']['lists'], config: Config): number[] {
  const rates = lists.find(({ list }) => list.dataset === 'rates');
  const ratesMs = rates === undefined ? config.scheduler.ratesMs : rates.isTracked ? rates.everyMs : 0;
  const others = lists.filter(({ list, isTracked }) => list.dataset !== 'rates' && isTracked);
  return [
    ...(ratesMs === 0 ? [] : [ratesMs]),
    ...others.map(({ everyMs, rows }) => pageEveryMs(everyMs, rows)),
  ];
}

/** @throws TidemarkError BAD_ARGUMENT unless each retention that drops points is confirmed by its dataset's name. */
async function confirmDrops(
  plan: WatchPlan,
  confirmed: ReadonlySet<StoredDataset>,
  ask: Ask | null,
): Promise<void> {
  for (const { dataset, after, dropsBeforeMs } of plan.retention) {
    if (dropsBeforeMs === null || confirmed.has(dataset)) continue;
    const name = datasetNames[dataset];
    await confirmByName({
      name,
      consequence: `The retention of ${after} drops every point of ${name} from before ${moment(dropsBeforeMs)}, for good, when the scheduler next applies it.`,
      given: undefined,
      ask,
    });
  }
}
