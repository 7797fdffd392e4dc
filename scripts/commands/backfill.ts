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
