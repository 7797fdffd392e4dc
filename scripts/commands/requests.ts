/** Arguments of `tidemark pause`, `resume` and `retry`. */

import type { Command } from 'commander';

export function pauseCommand(program: Command): void {
  program.command('pause').action(async () => (await import('../actions/requests.ts')).pause());
}

export function resumeCommand(program: Command): void {
  program.command('resume').action(async () => (await import('../actions/requests.ts')).resume());
}

export function retryCommand(program: Command): void {
  program
    .command('retry')
    .argument('[series...]', 'ids or names of series, as `status` shows them (default: all tracked)')
    .action(async (words: string[]) => (await import('../actions/requests.ts')).retry(words));
}
