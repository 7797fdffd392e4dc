/** `tidemark plan`: the cost of completing the tracked series and keeping them fresh. */

import type { Command } from 'commander';
import { estimateCost, type PlannedRange } from '../../operations/estimate.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { seriesStatus } from '../../store/series/status.ts';
import { costJson, costText } from '../output/cost-report.ts';

export function planCommand(program: Command): void {
  program.command('plan').option('--json', 'one JSON document, lengths in seconds').action(run);
}

async function run(options: { json?: true }): Promise<void> {
  await withContext({ command: 'plan', defaultLogLevel: 'warn' }, async (context) => {
    const nowMs = Date.now();
    const cost = await estimateCost(context, await trackedRanges(context, nowMs), [], nowMs);
    console.log(options.json ? JSON.stringify(costJson(cost), null, 2) : costText(cost));
  });
}

/** All tracked series. */
export async function trackedRanges(context: Context, nowMs: number): Promise<PlannedRange[]> {
  const { graceMs } = context.config.worker;
  const rows = await seriesStatus(context.database, { nowMs, graceMs });
  return rows.map(({ series, tracked }) => ({ series, fromMs: tracked.startMs, toMs: tracked.endMs }));
}
