/** `tidemark untrack ID|assets|...` */

import type { Command } from 'commander';
import { seriesName } from '../../contract/series.ts';
import { TidemarkError } from '../../errors.ts';
import { withContext } from '../../runtime/context.ts';
import { untrackSeries } from '../../store/series/series.ts';
import { addUntrackedLists } from './track-lists.ts';

export function untrackCommand(program: Command): void {
  const untrack = program
    .command('untrack')
    .argument('<id>', 'id of the series, as `status` shows it')
    .helpCommand(false)
    .action(run);
  addUntrackedLists(untrack);
}

async function run(id: string): Promise<void> {
  if (!/^\d{1,9}$/.test(id))
    throw new TidemarkError('BAD_ARGUMENT', `${JSON.stringify(id)} is neither a series id nor a list`);
  await withContext({ command: 'untrack', defaultLogLevel: 'warn' }, async (context) => {
    const series = await untrackSeries(context.database, Number(id));
    console.log(`no longer tracking ${seriesName(series)}; stored points stay`);
  });
}
