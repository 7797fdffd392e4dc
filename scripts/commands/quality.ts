import type { Command } from 'commander';

export function qualityCommand(command: Command): void {
  command
    .argument(
      '[series...]',
      'ids or names of series, as `status` shows them, or a pattern such as "kraken *" (default: all that have points)',
    )
    .option('--json', 'print the figures as JSON')
    .action(async (words: string[], options: { json?: true }) =>
      (await import('../actions/quality.ts')).run(words, options),
    );
}
