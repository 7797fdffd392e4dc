import type { Command } from 'commander';
import type { Options } from '../actions/repair.ts';
import { actedRangeOptions } from '../input/selectors.ts';

export function repairCommand(command: Command): void {
  command.argument(
    '[series...]',
    'ids or names of series, as `status` shows them, or a pattern such as "kraken *" (default: all)',
  );
  actedRangeOptions(command)
    .option('--differences', 'differences that `verify` found (default)')
    .option('--remove-absent', 'remove points that the source still does not have: their values stay as revisions')
    .option('--empty-older-than <age>', 'ranges that were confirmed empty longer ago than this: 30d, 8w')
    .option('--json', 'print the outcome as JSON')
    .action(async (words: string[], options: Options) => (await import('../actions/repair.ts')).run(words, options));
}
