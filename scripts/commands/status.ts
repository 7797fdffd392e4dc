import { type Command, Option } from 'commander';
import type { StatusOptions } from '../actions/status.ts';

export function statusCommand(command: Command): void {
  command
    .option('--json', 'one JSON document, times as ISO 8601, lengths in seconds')
    .addOption(
      new Option(
        '--check [part]',
        'print nothing and exit 0 if database and queue answer, and the part is connected',
      ).choices(['worker', 'scheduler']),
    )
    .option('--all', 'a row for each series, however many there are')
    .option('-w, --watch', 'print the status again until Ctrl-C; with --json a line each time')
    .option('--every <length>', 'with --watch: the time between, 1s to 1h (default: 2s; 30s where text goes to a pipe)')
    .action(async (options: StatusOptions) => (await import('../actions/status.ts')).run(options));
}
