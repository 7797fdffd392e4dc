import type { Command } from 'commander';
import type { RetryOptions } from '../actions/requests.ts';
import { actedRangeOptions, seriesArgument } from '../input/selectors.ts';

export function pauseCommand(command: Command): void {
  command
    .addHelpText('after', '\nMeanwhile a command that would request something exits with 6 (PAUSED).')
    .action(async () => (await import('../actions/requests.ts')).pause());
}

export function resumeCommand(command: Command): void {
  command.action(async () => (await import('../actions/requests.ts')).resume());
}

export function retryCommand(command: Command): void {
  actedRangeOptions(seriesArgument(command, 'all tracked'))
    .option('--json', 'print the outcome as JSON')
    .action(async (words: string[], options: RetryOptions) =>
      (await import('../actions/requests.ts')).retry(words, options),
    );
}
