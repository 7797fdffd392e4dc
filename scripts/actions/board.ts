/** `tidemark board`: the queues in the browser, behind a password, until SIGTERM or Ctrl-C. */

import { readFileSync } from 'node:fs';
import { TidemarkError } from '../../errors.ts';
import { Disposer } from '../../operations/disposer.ts';
import { withContext } from '../../runtime/context.ts';
import { stopped } from '../../runtime/lifecycle.ts';
import { listen } from '../../service/connections.ts';

export async function run(): Promise<void> {
  await withContext(
    { command: 'board', defaultLogLevel: 'info', handlesSignals: true, isMeasured: true },
    async (context, signal) => {
      const { host, port, password } = context.config.board;
      if (password === undefined)
        throw new TidemarkError('BAD_CONFIGURATION', 'BOARD_PASSWORD is not set', {
          remedy: 'choose one of at least twelve characters: the board shows the queues to anyone who has it',
        });
      const closing = new Disposer(context.clock);
      try {
        const queues = await context.openQueues();
        closing.add(() => queues.close());
        const { boardUser, createBoard } = await import('../../runtime/board.ts');
        const app = await createBoard(queues.bullQueues(), {
          clock: context.clock,
          password,
          icon: readFileSync(new URL('../../service/pages/files/icon.svg', import.meta.url)),
          dashboardPort: context.config.service.port,
        });
        const listening = await listen(app, { host, port }, { port: 'BOARD_PORT', host: 'BOARD_HOST' });
        closing.add(() => app.close());
        console.log(`queues at ${new URL('/', listening.url)}, as ${boardUser}; Ctrl-C stops`);
        context.phase(null);
        await stopped(signal);
      } finally {
        await closing.run(context.log);
      }
    },
  );
}
