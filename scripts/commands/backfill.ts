import type { Command } from 'commander';
import type { BackfillOptions } from '../actions/backfill.ts';
import { addSelections } from '../input/selectors.ts';

export function backfillCommand(command: Command): void {
  addSelections(
    command,
    {
      json: 'print the outcome as JSON',
      dryRun: 'show the cost: requests, time, points and disk; tracks and fetches nothing',
      flags: {
        '--wait': 'wait until empty ranges are asked again',
        '--accept-empty': 'accept an empty answer at once instead of waiting for a second one',
        '--accept-rejected': 'exit 0 although rows of the range were rejected',
      },
    },
    async (selection, options: BackfillOptions) => {
      const { estimate, run } = await import('../actions/backfill.ts');
      await (options.dryRun ? estimate : run)(selection, options);
    },
  );
}

export function backfillsCommand(backfills: Command): void {
  backfills
    .command('list', { isDefault: true })
    .description('list them: those that go on first, then the newest')
    .option('--json', 'for programs')
    .action(async (options: { json?: true }) => (await import('../actions/backfill.ts')).list(options));
  backfills
    .command('show')
    .description('show one: its series, progress, answers and failures')
    .argument('<id>', 'its id, as `backfills list` shows it')
    .option('--json', 'for programs')
    .action(async (id: string, options: { json?: true }) => (await import('../actions/backfill.ts')).show(id, options));
  backfills
    .command('cancel')
    .description('stop one, in whichever process, and take back what it has tracked; stored points stay')
    .argument('<id>', 'its id, as `backfills list` shows it')
    .action(async (id: string) => (await import('../actions/backfill.ts')).cancel(id));
}
