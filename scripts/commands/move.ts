import type { Command } from 'commander';
import type { Options } from '../actions/move.ts';

export function moveCommand(command: Command): void {
  command
    .requiredOption(
      '--to <url>',
      'address of the target, like DATABASE_URL; migrated and empty. A password may be in ~/.pgpass',
    )
    .option('--json', 'print the outcome as JSON')
    .action(async (options: Options) => (await import('../actions/move.ts')).run(options));
}
