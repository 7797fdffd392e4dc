import type { Command } from 'commander';

export function demoCommand(command: Command): void {
  command
    .option('--once', 'stop after the report instead of refreshing until Ctrl-C')
    .action(async (options: { once?: true }) => (await import('../actions/demo.ts')).run(options));
}
