/**
 * Tidemark itself, with default settings: a worker in a process of its own, as `tidemark worker` starts it, and the
 * scheduler in this one.
 *
 * The worker runs through all rounds, as a worker does: what starting up costs is no part of a rate. The scheduler
 * starts with each round, and finds everything missing.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { readConfig } from '../../config.ts';
import { runScheduler } from '../../scripts/pipeline.ts';
import { openSession } from '../../scripts/session.ts';
import { seriesStatus } from '../../store/status.ts';
import { startProcesses } from '../processes.ts';

const lookEveryMs = 25;

export interface Pipeline {
  /**
   * From the moment that the scheduler starts to the moment that no gap is left.
   *
   * @returns how long it took, milliseconds.
   */
  fill(expectedRows: number): Promise<number>;
  close(): Promise<void>;
}

export async function openPipeline(given: Readonly<Record<string, string | undefined>>): Promise<Pipeline> {
  const environment = { ...given, SOURCE_REQUESTS_PER_MINUTE: '0', RATES_SECONDS: '0' };
  const config = readConfig(environment);
  const session = await openSession({ command: 'bench', defaultLogLevel: 'warn', config });
  const queues = await session.openQueues();
  const worker = startProcesses(['worker'], environment);
  while ((await queues.requests.workersPresent()) === 0) {
    worker.assertRunning();
    await delay(lookEveryMs);
  }

  /** One row a series: cheap enough to ask often. The gaps are asked for once the points are there. */
  async function isComplete(expectedRows: number): Promise<boolean> {
    const stored = await session.database.pool.query<{ points: number }>(
      'select sum(points)::bigint as points from tidemark.series',
    );
    if ((stored.rows[0]?.points ?? 0) < expectedRows) return false;
    const rows = await seriesStatus(session.database, { nowMs: Date.now(), graceMs: 0 });
    return rows.every((row) => row.missingMs === 0);
  }

  return {
    async fill(expectedRows) {
      const started = performance.now();
      const scheduler = await runScheduler(session, queues);
      try {
        while (!(await isComplete(expectedRows))) {
          worker.assertRunning();
          await delay(lookEveryMs);
        }
        return performance.now() - started;
      } finally {
        await scheduler.close();
      }
    },
    async close() {
      await worker.stop();
      await queues.close();
      await session.close();
    },
  };
}
