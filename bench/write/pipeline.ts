/**
 * Tidemark itself, with default settings: a worker in a separate process, as `tidemark worker` starts it, and the
 * scheduler in this one. The worker runs through all rounds, so that its start-up is not measured. The scheduler starts
 * with each round, and finds every range missing.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { defaultSource } from '../../model/sources.ts';
import { openContext } from '../../runtime/context.ts';
import { runScheduler } from '../../runtime/pipeline.ts';
import { readConfig } from '../../settings/config.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { startProcesses } from '../processes.ts';

const lookEveryMs = 25;

export interface Pipeline {
  /** Fills the table from the start of the scheduler until no gap is left. @returns the duration in milliseconds. */
  fill(expectedRows: number): Promise<number>;
  /** The most memory that the worker had, in MB; null: the system does not say. */
  peakMb(): number | null;
  close(): Promise<void>;
}

/** @param source that gives the series. */
export async function openPipeline(
  given: Readonly<Record<string, string | undefined>>,
  source = defaultSource,
): Promise<Pipeline> {
  const environment = { ...given, SOURCE_REQUESTS_PER_MINUTE: '0' };
  const config = readConfig(environment);
  const scheduler = { ...config.scheduler, pollsByDefault: false };
  const session = await openContext({ command: 'bench', defaultLogLevel: 'warn', config: { ...config, scheduler } });
  const queues = await session.openQueues();
  const worker = startProcesses(['worker'], environment);
  while ((await queues.requestsOf(source).countWorkers()) === 0) {
    worker.assertRunning();
    await delay(lookEveryMs);
  }

  /**
   * Reads one row for each series, which is cheap enough for polling. It checks the gaps once all points are stored.
   */
  async function isComplete(expectedRows: number): Promise<boolean> {
    const stored = await session.database.pool.query<{ points: number }>(
      'select sum(points)::bigint as points from tidemark.series',
    );
    if ((stored.rows[0]?.points ?? 0) < expectedRows) return false;
    const gaps = await listGaps(session.database, { nowMs: Date.now(), graceMs: 0 });
    // Minutes that an archive's file lacks are left to the next source, and there is none here.
    return gaps.every((gap) => source !== null && gap.source === source);
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
    peakMb: () => worker.peakMb(),
    async close() {
      await worker.stop();
      await queues.close();
      await session.close();
    },
  };
}
