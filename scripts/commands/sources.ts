import type { Command } from 'commander';

export function sourcesCommand(command: Command): void {
  command
    .option('--json', 'print the sources as JSON')
    .action(async (options: { json?: true }) => (await import('../actions/sources.ts')).run(options));
}

export function marketsCommand(command: Command): void {
  command
    .requiredOption('--source <name>', 'source, such as binance')
    .option('--search <text>', 'only markets whose symbol or pair contains it')
    .option('--json', 'print the markets as JSON')
    .action(async (options: { source: string; search?: string; json?: true }) =>
      (await import('../actions/sources.ts')).listMarkets(options),
    );
}
