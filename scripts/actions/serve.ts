/** `tidemark serve`: serves the stored data, until SIGTERM or Ctrl-C. */

import { stopped } from '../../clock.ts';
import { withContext } from '../../runtime/context.ts';
import { runService } from '../../runtime/service.ts';
import { parseWhole } from '../input/parse-options.ts';

export async function run(options: { port?: string; host?: string }): Promise<void> {
  const port = options.port === undefined ? undefined : parseWhole(options.port, '--port', 0, 65_535);
  await withContext(
    { command: 'serve', defaultLogLevel: 'info', handlesSignals: true, isMeasured: true },
    async (context, signal) => {
      const { service: usual } = context.config;
      const service = await runService(context, { host: options.host ?? usual.host, port: port ?? usual.port });
      try {
        const { url, dashboard, actions } = service;
        const beside = dashboard === null ? '' : `, the dashboard at ${dashboard}`;
        console.log(`serving stored data at ${url}${beside}; Ctrl-C stops`);
        if (actions !== null) console.log(actions);
        context.phase(null);
        context.metrics?.reach('ready');
        await stopped(signal);
        context.metrics?.reach('stopping');
        context.log.info('serve is stopping');
        await service.drain();
      } finally {
        await service.close();
      }
      context.log.info('serve stopped');
    },
  );
}
