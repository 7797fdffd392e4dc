import type { Command } from 'commander';
import type { ApplyOptions } from '../actions/apply.ts';

export function applyCommand(command: Command): void {
  command
    .option('--file <path>', 'the watch list (default: WATCH_LIST, tidemark.yaml)')
    .option('--dry-run', 'show only; polls the lists that patterns need if they are old')
    .option('--prune', 'untrack series and lists that are not in the file')
    .option('--confirm <dataset...>', 'confirm a retention that drops stored points: the name of the dataset')
    .option('--json', 'one JSON document')
    .action(async (options: ApplyOptions) => (await import('../actions/apply.ts')).run(options));
}
