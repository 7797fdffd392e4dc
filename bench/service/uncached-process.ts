/** `tidemark serve` without its cache of responses. */

import { openContext } from '../../runtime/context.ts';
import { runService } from '../../runtime/service.ts';
import { readConfig } from '../../settings/config.ts';

const config = readConfig(process.env);
const context = await openContext({
  ...{ command: 'serve', defaultLogLevel: 'info', handlesSignals: true },
  config: { ...config, service: { ...config.service, rememberMs: 0 } },
});
const service = await runService(context, { host: '127.0.0.1', port: 0 });
process.once('SIGTERM', () => void service.close().then(() => context.close()));
console.log(service.url);
