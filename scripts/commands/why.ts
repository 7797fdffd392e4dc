import type { Command } from 'commander';

export function whyCommand(command: Command): void {
  command
    .argument('<series...>', 'its id, or its name as `status` shows it: binance bitcoin/tether m1')
    .action(async (words: string[]) => (await import('../actions/why.ts')).run(words));
}
