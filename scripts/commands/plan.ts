import type { Command } from 'commander';

export function planCommand(command: Command): void {
  command
    .option('--json', 'one JSON document, lengths in seconds')
    .action(async (options: { json?: true }) => (await import('../actions/plan.ts')).run(options));
}
