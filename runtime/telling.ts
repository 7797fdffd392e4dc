/** Tells the targets of `notify` what a scheduler sees. */

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { keepTold } from '../notify/teller.ts';
import { readState } from '../operations/status/facts.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Config } from '../settings/config.ts';
import type { PipelineContext } from './pipeline.ts';

/** Who tells, and of which store, for people. */
export function namesForTold({ database: { url }, directory }: Pick<Config, 'database' | 'directory'>) {
  const host = hostname();
  if (url === undefined) return { host, store: resolve(directory) };
  const { host: server, pathname } = new URL(url);
  return { host, store: `${server}${decodeURIComponent(pathname)}` };
}

/** @param file the watch list, which names the targets. */
export function tellTargets(context: PipelineContext, queues: QueueBackend, file: string): { close(): Promise<void> } {
  const { clock, config, database, log, metrics } = context;
  return keepTold({
    ...{ clock, database, file, log, ...namesForTold(config) },
    readConditions: async () => {
      const { headline, also } = await readState(context, queues, clock.now());
      return [headline, ...also];
    },
    events: metrics?.telling(),
  });
}
