/** Arguments and options of `tidemark board`. */

import type { Command } from 'commander';

export function boardCommand(program: Command): void {
  program.command('board').action(async () => (await import('../actions/board.ts')).run());
}
