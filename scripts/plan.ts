/** `tidemark plan`: what is tracked will cost before it is complete, and to stay fresh. */

import type { Command } from 'commander';
import { seriesStatus } from '../store/status.ts';
import { costOf, type Wanted } from './cost.ts';
import { costJson, costText } from './cost-report.ts';
import { openSession, type Session } from './session.ts';

export function planCommand(program: Command): void {
  program
    .command('plan')
    .description('what is missing will cost: requests, time, points and disk, and what staying fresh takes')
    .option('--json', 'one JSON document, lengths in seconds')
    .action(run);
}

async function run(options: { json?: true }): Promise<void> {
  const session = await openSession({ command: 'plan', defaultLogLevel: 'warn' });
  try {
    const nowMs = Date.now();
    const cost = await costOf(session, await trackedRanges(session, nowMs), [], nowMs);
    console.log(options.json ? JSON.stringify(costJson(cost), null, 2) : costText(cost));
  } finally {
    await session.close();
  }
}

/** All that is tracked. */
export async function trackedRanges(session: Session, nowMs: number): Promise<Wanted[]> {
  const { graceMs } = session.config.worker;
  const rows = await seriesStatus(session.database, { nowMs, graceMs });
  return rows.map(({ series, tracked }) => ({ series, fromMs: tracked.startMs, toMs: tracked.endMs }));
}
