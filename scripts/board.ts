/** `tidemark board`: the queues in the browser, behind a password, until SIGTERM or Ctrl-C. */

import type { Command } from 'commander';
import { TidemarkError } from '../errors.ts';
import { listen } from '../service/listen.ts';
import { Closing } from './closing.ts';
import { openSession } from './session.ts';
import { onStop, stopped } from './stop.ts';

export function boardCommand(program: Command): void {
  program
    .command('board')
    .description('show the queues in the browser, at BOARD_HOST and BOARD_PORT, behind BOARD_PASSWORD')
    .action(run);
}

async function run(): Promise<void> {
  const stop = onStop();
  const session = await openSession({
    ...{ command: 'board', defaultLogLevel: 'info', handlesSignals: true, isMeasured: true },
  });
  const closing = new Closing();
  closing.add(() => session.close());
  try {
    const { host, port, password } = session.config.board;
    if (password === undefined)
      throw new TidemarkError('BAD_CONFIGURATION', 'BOARD_PASSWORD is not set', {
        remedy:
          'choose one of twelve characters or more: the board shows what is queued to anyone who has it',
      });
    const queues = await session.openQueues();
    closing.add(() => queues.close());
    const { boardUser, createBoard } = await import('../board/board.ts');
    const app = await createBoard(queues.bullQueues, { password });
    const listening = await listen(app, { host, port });
    closing.add(() => app.close());
    console.log(`the queues at ${new URL('/', listening.url)}, as ${boardUser}; Ctrl-C stops`);
    await stopped(stop.signal);
  } finally {
    await closing.run(session.log);
    stop.release();
  }
}
