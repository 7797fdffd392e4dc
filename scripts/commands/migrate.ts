/** Arguments and options of `tidemark migrate`. */

import { type Command, Option } from 'commander';

export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .argument('[direction]', 'up or down', 'up')
    .addOption(new Option('--yes', 'confirm that `down` drops all stored data'))
    .action(async (direction: string, options: { yes?: true }) =>
      (await import('../actions/migrate.ts')).run(direction, options),
    );
}
