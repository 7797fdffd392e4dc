/** `tidemark board`: the queues in the browser, behind a password, until SIGTERM or Ctrl-C. */

import type { Command } from 'commander';
import { TidemarkError } from '../../errors.ts';
import { Disposer } from '../../operations/disposer.ts';
import { openContext } from '../../runtime/context.ts';
import { onStop, stopped } from '../../runtime/lifecycle.ts';
import { listen } from '../../service/connections.ts';

export function boardCommand(program: Command): void {
  program.command('board').action(run);
}

async function run(): Promise<void> {
  const stop = onStop();
  const context = await openContext({
    command: 'board',
    defaultLogLevel: 'info',
    handlesSignals: true,
    isMeasured: true,
  });
  const closing = new Disposer();
  closing.add(() => context.close());
  try {
    const { host, port, password } = context.config.board;
    if (password === undefined)
      throw new TidemarkError('BAD_CONFIGURATION', 'BOARD_PASSWORD is not set', {
        remedy: 'choose one of at least twelve characters: the board shows the queues to anyone who has it',
      });
    const queues = await context.openQueues();
    closing.add(() => queues.close());
    const { boardUser, createBoard } = await import('../../runtime/board.ts');
    const app = await createBoard(queues.bullQueues, { password });
    const listening = await listen(app, { host, port });
    closing.add(() => app.close());
    console.log(`queues at ${new URL('/', listening.url)}, as ${boardUser}; Ctrl-C stops`);
    await stopped(stop.signal);
  } finally {
    await closing.run(context.log);
    stop.release();
  }
}
