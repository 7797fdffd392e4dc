/** Arguments and options of `tidemark why`. */

import type { Command } from 'commander';

export function whyCommand(program: Command): void {
  program
    .command('why')
    .argument('<series...>', 'its id, or its name as `status` shows it: binance bitcoin/tether m1')
    .action(async (words: string[]) => (await import('../actions/why.ts')).run(words));
}
