/** Arguments and options of `tidemark status`. */

import { type Command, Option } from 'commander';
import type { StatusOptions } from '../actions/status.ts';

export function statusCommand(program: Command): void {
  program
    .command('status')
    .option('--json', 'one JSON document, times as ISO 8601, lengths in seconds')
    .addOption(
      new Option(
        '--check [part]',
        'print nothing and exit 0 if database and queue answer, and the part is connected',
      ).choices(['worker', 'scheduler']),
    )
    .option('--all', 'a row for each series, however many there are')
    .option('-w, --watch', 'show the status live until Ctrl-C or q; in a pipe a line per change')
    .option('--every <length>', 'with --watch: time between two polls, 1s to 1h (default: 2s)')
    .action(async (options: StatusOptions) => (await import('../actions/status.ts')).run(options));
}
