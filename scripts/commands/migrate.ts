import type { Command } from 'commander';

export function migrateCommand(command: Command): void {
  command
    .argument('[direction]', 'up or down', 'up')
    .option('--yes', 'confirm that `down` drops all stored data')
    .action(async (direction: string, options: { yes?: true }) =>
      (await import('../actions/migrate.ts')).run(direction, options),
    );
}
