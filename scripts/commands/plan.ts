/** Arguments and options of `tidemark plan`. */

import type { Command } from 'commander';

export function planCommand(program: Command): void {
  program
    .command('plan')
    .option('--json', 'one JSON document, lengths in seconds')
    .action(async (options: { json?: true }) => (await import('../actions/plan.ts')).run(options));
}
