/** `tidemark serve`: answers the interface from what is stored, until SIGTERM or Ctrl-C. */

import type { Command } from 'commander';
import { TidemarkError } from '../errors.ts';
import { Closing } from './closing.ts';
import { runService } from './serving.ts';
import { openSession } from './session.ts';
import { onStop, stopped } from './stop.ts';

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .description('be a Market Data Service: answer its interface from what is stored')
    .option('--port <port>', 'port to listen on; 0 takes a free one (default: SERVE_PORT)')
    .option('--host <address>', 'address to listen on (default: SERVE_HOST)')
    .action(run);
}

async function run(options: { port?: string; host?: string }): Promise<void> {
  const port = portOf(options.port);
  const stop = onStop();
  const session = await openSession({
    command: 'serve',
    defaultLogLevel: 'info',
    handlesSignals: true,
    isMeasured: true,
  });
  const closing = new Closing();
  closing.add(() => session.close());
  try {
    const { service: usual } = session.config;
    const service = await runService(session, {
      host: options.host ?? usual.host,
      port: port ?? usual.port,
    });
    closing.add(() => service.close());
    const { url, dashboard } = service;
    const beside = dashboard === null ? '' : `, the dashboard at ${dashboard}`;
    console.log(`serving what is stored at ${url}${beside}; Ctrl-C stops`);
    await stopped(stop.signal);
    session.log.info('serve is stopping');
    await service.drain();
  } finally {
    await closing.run(session.log);
    stop.release();
  }
  session.log.info('serve stopped');
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new TidemarkError('BAD_ARGUMENT', `--port ${JSON.stringify(text)} is not a number from 0 to 65535`);
}
