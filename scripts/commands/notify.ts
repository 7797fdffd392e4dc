import type { Command } from 'commander';
import type { NotifyOptions } from '../actions/notify.ts';

export function notifyCommand(command: Command): void {
  command
    .argument('[target...]', 'names of targets in `notify` of the watch list (default: all)')
    .option('--test', 'send a test message to each, now')
    .option('--json', 'print the outcome as JSON')
    .action(async (names: string[], options: NotifyOptions) =>
      (await import('../actions/notify.ts')).run(names, options),
    );
}
