import type { Command } from 'commander';

export function pauseCommand(command: Command): void {
  command.action(async () => (await import('../actions/requests.ts')).pause());
}

export function resumeCommand(command: Command): void {
  command.action(async () => (await import('../actions/requests.ts')).resume());
}

export function retryCommand(command: Command): void {
  command
    .argument('[series...]', 'ids or names of series, as `status` shows them (default: all tracked)')
    .action(async (words: string[]) => (await import('../actions/requests.ts')).retry(words));
}
