/** (c) Planning: the time and memory of a pass over a plan of four million windows. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { table } from '../../scripts/output/table.ts';
import { openDatabase } from '../../store/db/database.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { environmentOf, type QueueKind, queueKinds, withDatabase } from '../parts.ts';
import { figure, spreadOf, told } from '../spread.ts';
import type { Measured } from './measured.ts';
import { scar, type TrackedPlan, trackPlan, years } from './plans.ts';

const seriesCount = 1000;
const full = { passes: 100 };
const quick = { passes: 10 };
/** Gaps of each series in the second plan: more than a pass reads for one series. */
const scars = 100;

const program = fileURLToPath(new URL('passes-process.js', import.meta.url));

interface Run {
  readonly queue: QueueKind;
  readonly plan: string;
  readonly measured: Measured;
}

export async function benchPlanning({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const { passes } = isQuick ? quick : full;
  const runs: Run[] = [];
  let plan: TrackedPlan | undefined;
  for (const queue of queueKinds(parts)) {
    for (const scarred of [false, true]) {
      await withDatabase(parts, async (url) => {
        const database = openDatabase({
          url,
          applicationName: 'tidemark bench',
          maxConnections: 1,
          statementTimeoutMs: 60_000,
        });
        try {
          plan = await trackPlan(database, seriesCount, Date.now());
          if (scarred) await scar(database, scars);
          await database.pool.query('vacuum analyze tidemark.series');
        } finally {
          await database.close();
        }
        const measured = await measurePasses(passes, environmentOf(parts, queue, url));
        const run = { queue, plan: scarred ? `${scars} gaps each` : 'nothing covered', measured };
        say(`planning, ${queue}, ${run.plan}: a pass takes ${told(spreadOf(measured.topUp), 1)} ms`);
        runs.push(run);
      });
    }
  }
  return { text: textOf(plan, passes, runs), result: { plan, passes, runs } };
}

/** Runs planning passes in a process of their own. */
export async function measurePasses(
  passes: number,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Measured> {
  const child = fork(program, [String(passes)], { env: { ...process.env, ...environment }, execArgv: ['--expose-gc'] });
  const exited = once(child, 'exit');
  const [measured] = await Promise.race([
    once(child, 'message') as Promise<[Measured]>,
    exited.then(([code]): never => {
      throw new Error(`the planning passes ended with ${code}`);
    }),
  ]);
  await exited;
  return measured;
}

function textOf(plan: TrackedPlan | undefined, passes: number, runs: readonly Run[]): string {
  const spread = (times: Timed) => (run: Run) => told(spreadOf(run.measured[times]), 1);
  return [
    `(c) planning: ${figure(plan?.series ?? 0)} m1 series over ${years} years, ${figure(plan?.windows ?? 0)} ` +
      'windows; ' +
      `${passes} passes, milliseconds, median (least to most)`,
    table(
      [
        { title: 'queue', value: (run: Run) => (run.queue === 'redis' ? 'Redis' : 'PostgreSQL') },
        { title: 'plan', value: (run: Run) => run.plan },
        { title: 'pass, room for 9', value: spread('topUp'), right: true },
        { title: 'pass, queue full', value: spread('fullQueue'), right: true },
        { title: 'of it: queue', value: spread('readingQueue'), right: true },
        { title: 'gaps (SQL)', value: spread('readingGaps'), right: true },
        { title: 'ledger (SQL)', value: spread('readingLedger'), right: true },
        { title: 'planWindows', value: spread('planWindows'), right: true },
      ],
      runs,
    ),
    '',
    table(
      [
        { title: 'queue', value: (run: Run) => (run.queue === 'redis' ? 'Redis' : 'PostgreSQL') },
        { title: 'plan', value: (run: Run) => run.plan },
        { title: 'ranges read', value: ({ measured }: Run) => figure(measured.gapsRead), right: true },
        { title: 'longest queue', value: ({ measured }: Run) => figure(measured.longestQueue), right: true },
        { title: 'heap before', value: ({ measured }: Run) => mb(measured.before.heapBytes), right: true },
        { title: 'heap after', value: ({ measured }: Run) => mb(measured.after.heapBytes), right: true },
        { title: 'RSS before', value: ({ measured }: Run) => mb(measured.before.rssBytes), right: true },
        { title: 'RSS after', value: ({ measured }: Run) => mb(measured.after.rssBytes), right: true },
        { title: 'RSS at most', value: ({ measured }: Run) => mb(measured.peakRssBytes), right: true },
      ],
      runs,
    ),
  ].join('\n');
}

/** The measured fields that hold one time for each run. */
type Timed = {
  [Key in keyof Measured]: Measured[Key] extends readonly number[] ? Key : never;
}[keyof Measured];

function mb(bytes: number): string {
  return `${figure(bytes / 1e6)} MB`;
}
