import type { Command } from 'commander';
import type { BudgetOptions } from '../actions/sources.ts';

export function sourcesCommand(sources: Command): void {
  sources.helpCommand(false);
  sources
    .command('list', { isDefault: true })
    .description('show every source: limits, use, series, state')
    .option('--json', 'print the sources as JSON')
    .action(async (options: { json?: true }) => (await import('../actions/sources.ts')).run(options));
  named(sources, 'pause', 'request nothing of a source until `sources resume`, on all machines')
    .addHelpText(
      'after',
      '\nMeanwhile a command that needs the source exits with 6 (PAUSED). `verify` and\n' +
        '`repair` over several sources ask the others, and exit with 3.',
    )
    .action(async (name: string) => (await import('../actions/sources.ts')).pause(name));
  named(
    sources,
    'resume',
    'end a `sources pause`, or have one asked anew that refused a key, a plan or a country',
  ).action(async (name: string) => (await import('../actions/sources.ts')).resume(name));
  named(sources, 'budget', 'use less than a source allows, until `--reset`; takes effect within seconds')
    .argument('[per-minute]', 'requests a minute, no more than the source allows')
    .option('--reset', 'use all that the source allows again')
    .action(async (name: string, perMinute: string | undefined, options: BudgetOptions) =>
      (await import('../actions/sources.ts')).budget(name, perMinute, options),
    );
  named(sources, 'refusals', 'show the last requests that a source refused, and why')
    .option('--json', 'print them as JSON')
    .action(async (name: string, options: { json?: true }) =>
      (await import('../actions/sources.ts')).refusals(name, options),
    );
}

const named = (sources: Command, command: string, about: string) =>
  sources.command(command).description(about).argument('<source>', 'its name, as `sources` shows it');

export function marketsCommand(command: Command): void {
  command
    .requiredOption('--source <name>', 'source, such as binance')
    .option('--search <text>', 'only markets whose symbol or pair contains it')
    .option('--json', 'print the markets as JSON')
    .action(async (options: { source: string; search?: string; json?: true }) =>
      (await import('../actions/sources.ts')).listMarkets(options),
    );
}
