import type { Command } from 'commander';
import type { MigrateOptions } from '../actions/migrate.ts';

export function migrateCommand(command: Command): void {
  const role = (kind: string, does: string) =>
    [
      `--${kind}-password-file <file>`,
      `create the role tidemark_${kind}, which ${does}, or change its password`,
    ] as const;
  command
    .argument('[direction]', 'up or down', 'up')
    .option('--yes', 'confirm that `down` drops all stored data')
    .option(...role('worker', 'fetches, plans and commits'))
    .option(...role('service', 'serves'))
    .option(...role('viewer', 'reads'))
    .action(async (direction: string, options: MigrateOptions) =>
      (await import('../actions/migrate.ts')).run(direction, options),
    );
}
