/** `tidemark untrack ID|assets|...` */

import type { Command } from 'commander';
import { seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { untrackSeries } from '../store/series.ts';
import { openSession } from './session.ts';
import { addUntrackedLists } from './track-lists.ts';

export function untrackCommand(program: Command): void {
  const untrack = program
    .command('untrack')
    .description('stop following a series, or a list; what is stored of it stays')
    .argument('<id>', 'id of the series, as `status` shows it')
    .helpCommand(false)
    .action(run);
  addUntrackedLists(untrack);
}

async function run(id: string): Promise<void> {
  if (!/^\d{1,9}$/.test(id))
    throw new TidemarkError('BAD_ARGUMENT', `${JSON.stringify(id)} is neither a series id nor a list`);
  const session = await openSession({ command: 'untrack', defaultLogLevel: 'warn' });
  try {
    const series = await untrackSeries(session.database, Number(id));
    console.log(`no longer tracking ${seriesName(series)}; what is stored of it stays`);
  } finally {
    await session.close();
  }
}
