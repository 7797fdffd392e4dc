/** `tidemark run`, `scheduler` and `worker`: the long-running parts, until SIGTERM or Ctrl-C. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { TidemarkError } from '../errors.ts';
import { Closing } from './closing.ts';
import { requireSource, runScheduler, runWorker } from './pipeline.ts';
import { runService } from './serving.ts';
import { openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';

interface Parts {
  readonly scheduler: boolean;
  readonly worker: boolean;
  readonly service?: boolean;
  readonly concurrency?: number | undefined;
}

export function serviceCommands(program: Command): void {
  program
    .command('run')
    .description(
      'scheduler, worker and service in one process: keeps every tracked series complete and fresh, and serves it',
    )
    .option('--no-serve', 'without the service')
    .action((options: { serve: boolean }) =>
      serve('run', { scheduler: true, worker: true, service: options.serve }),
    );
  program
    .command('scheduler')
    .description('plan what to fetch and keep the queue full; the fetching is done by workers')
    .action(() => serve('scheduler', { scheduler: true, worker: false }));
  program
    .command('worker')
    .description('fetch and store what the scheduler plans; any number of them share one budget')
    .option('--concurrency <count>', 'requests under way at once (default: WORKER_CONCURRENCY)')
    .action((options: { concurrency?: string }) =>
      serve('worker', { scheduler: false, worker: true, concurrency: concurrencyOf(options.concurrency) }),
    );
}

function concurrencyOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= 256) return value;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `--concurrency ${JSON.stringify(text)} is not a number from 1 to 256`,
  );
}

async function serve(command: string, parts: Parts): Promise<void> {
  const stop = onStop();
  const session = await openSession({
    command,
    defaultLogLevel: 'info',
    handlesSignals: true,
    isMeasured: true,
  });
  const closing = new Closing();
  closing.add(() => session.close());
  try {
    if (parts.worker) requireSource(session.config);
    const queues = await session.openQueues();
    closing.add(() => queues.close());
    if (parts.worker) {
      const worker = await runWorker(session, queues, parts.concurrency);
      closing.add(() => worker.close());
    }
    if (parts.scheduler) {
      const scheduler = await runScheduler(session, queues);
      closing.add(() => scheduler.close());
    }
    const service = parts.service ? await runService(session, session.config.service, { queues }) : undefined;
    if (service !== undefined) closing.add(() => service.close());
    session.log.info(
      {
        source: session.config.source.url,
        requestsPerMinute: session.config.source.requestsPerMinute,
        queue: queues.kind,
        database: session.embedded ? 'embedded' : 'configured',
        ...(service === undefined ? {} : { serving: service.url }),
      },
      `${command} started`,
    );
    await untilStopped(stop.signal, session);
    session.log.info(`${command} is stopping`);
    await service?.drain();
  } finally {
    await closing.run(session.log);
    stop.release();
  }
  session.log.info(`${command} stopped`);
}

const lookEveryMs = 1000;

/** @throws TidemarkError DATABASE_FULL. */
async function untilStopped(signal: AbortSignal, session: Session): Promise<void> {
  while (!signal.aborted) {
    session.assertRoom();
    await delay(lookEveryMs, undefined, { signal }).catch(() => {});
  }
}
