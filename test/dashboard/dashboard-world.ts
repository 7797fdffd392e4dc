/** The dashboard on a test's database, listening, with a queue that says what the test tells it. */

import { resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import type { QueueSnapshot } from '../../dashboard/queue.ts';
import { createQueueReader } from '../../dashboard/queue.ts';
import { addDashboard, type DashboardOptions } from '../../dashboard/routes.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { statePorts } from '../../runtime/dashboard-ports.ts';
import { readRegistry } from '../../runtime/sources.ts';
import { readConfig } from '../../settings/config.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { clockAt } from '../parts/test-clock.ts';
import { openFacing } from '../service/stored/facing.ts';
import type { TestStore } from '../store/open-store.ts';

export const market: CandleSeries = Object.freeze({
  dataset: 'candles',
  exchange: 'kraken',
  baseId: 'bitcoin',
  quoteId: 'euro',
  interval: 'h1',
} as const);

export interface DashboardWorld {
  /** Where the page is, with a slash at its end. */
  readonly url: string;
  /** What the queue says from now on; null: it is away. */
  queue: QueueSnapshot | null;
  close(): Promise<void>;
}

type Given = Partial<Omit<DashboardOptions, 'database' | 'queue'>>;

export const quietQueue: QueueSnapshot = {
  depth: { waiting: 0, active: 0, delayed: 0, workers: 1 },
  perMinute: 200,
  windows: new Map(),
  facts: {
    schedulers: 1,
    sources: [{ source: defaultSource, workers: 1, pausedMs: 0, perMinute: 200, lowered: null }],
  },
};

/** Facts of the default source alone. */
export const plainPorts = (database: Database, graceMs = 60_000) =>
  statePorts({ database, config: { worker: { graceMs } }, sources: () => readRegistry(readConfig({})) });

/** The page's files are those of the build. @param port 0: any free one. */
export async function openDashboardWorld(
  store: Pick<TestStore, 'url'>,
  given: Given = {},
  port = 0,
  now: () => EpochMs = systemClock.now,
): Promise<DashboardWorld> {
  const database = openDatabase({
    url: store.url,
    applicationName: 'tidemark test dashboard',
    maxConnections: 3,
    statementTimeoutMs: 10_000,
    settings: ['default_transaction_read_only=on'],
  });
  const clock = clockAt(now);
  const state: { queue: QueueSnapshot | null } = { queue: quietQueue };
  const app = await openFacing(store, {
    clock,
    addDashboard: (to) =>
      addDashboard(
        to,
        {
          database,
          ports: plainPorts(database),
          queue: createQueueReader(clock, async () => {
            if (state.queue === null) throw new Error('the queue is away');
            return state.queue;
          }),
          access: { kind: 'local', alsoFrom: [] },
          assets: resolve('dist/dashboard/assets'),
          ...{ graceMs: 60_000, perMinute: 200, synthetic: false, tickMs: 50 },
          ...{ streamsPerAddress: 0, readTimeoutMs: 10_000 },
          ...given,
        },
        clock,
      ),
  });
  app.addHook('onClose', () => database.close());
  const url = await app.listen({ port, host: '127.0.0.1' });
  return {
    url: `${url}/`,
    get queue() {
      return state.queue;
    },
    set queue(queue) {
      state.queue = queue;
    },
    close: () => app.close(),
  };
}
