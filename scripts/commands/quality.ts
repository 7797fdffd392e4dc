import type { Command } from 'commander';
import { seriesArgument } from '../input/selectors.ts';

export function qualityCommand(command: Command): void {
  seriesArgument(command, 'all that have points')
    .option('--json', 'print the figures as JSON')
    .action(async (words: string[], options: { json?: true }) =>
      (await import('../actions/quality.ts')).run(words, options),
    );
}
