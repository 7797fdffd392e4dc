/** `tidemark serve`: serves the stored data, until SIGTERM or Ctrl-C. */

import type { Command } from 'commander';
import { Disposer } from '../../operations/disposer.ts';
import { openContext } from '../../runtime/context.ts';
import { onStop, stopped } from '../../runtime/lifecycle.ts';
import { runService } from '../../runtime/service.ts';
import { parseWhole } from '../input/parse-options.ts';

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .option('--port <port>', 'port to listen on; 0 takes a free one (default: SERVE_PORT)')
    .option('--host <address>', 'address to listen on (default: SERVE_HOST)')
    .action(run);
}

async function run(options: { port?: string; host?: string }): Promise<void> {
  const port = options.port === undefined ? undefined : parseWhole(options.port, '--port', 0, 65_535);
  const stop = onStop();
  const context = await openContext({
    command: 'serve',
    defaultLogLevel: 'info',
    handlesSignals: true,
    isMeasured: true,
  });
  const closing = new Disposer();
  closing.add(() => context.close());
  try {
    const { service: usual } = context.config;
    const service = await runService(context, {
      host: options.host ?? usual.host,
      port: port ?? usual.port,
    });
    closing.add(() => service.close());
    const { url, dashboard } = service;
    const beside = dashboard === null ? '' : `, the dashboard at ${dashboard}`;
    console.log(`serving stored data at ${url}${beside}; Ctrl-C stops`);
    await stopped(stop.signal);
    context.log.info('serve is stopping');
    await service.drain();
  } finally {
    await closing.run(context.log);
    stop.release();
  }
  context.log.info('serve stopped');
}
