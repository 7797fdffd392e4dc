/** A log line every minute about what the process did, when it did something. */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { counted } from '../model/format.ts';
import type { PassEvents } from '../scheduler/scheduler.ts';
import type { WorkerEvents } from '../workers/worker-events.ts';

const everyMs = 60_000;

export type ActivityLog = ReturnType<typeof openActivityLog>;

export function openActivityLog(log: Logger, clock: Clock) {
  let counts = noActivity();
  const write = () => {
    const text = activityText(counts);
    counts = noActivity();
    if (text !== '') log.info(text);
  };
  const timer = clock.every(everyMs, write);
  const worker: Omit<WorkerEvents, 'claimed'> = {
    stored({ summary }) {
      counts.answers += 1;
      counts.new += summary.fresh ?? 0;
      counts.changed += summary.changed ?? 0;
      counts.rejected += summary.rejected ?? 0;
    },
    deferred() {
      counts.deferred += 1;
    },
    notStored() {
      counts.notStored += 1;
    },
  };
  return {
    worker,
    pass({ added }: PassEvents): void {
      counts.queued += added ?? 0;
    },
    /** Logs the rest. */
    async close() {
      timer.stop();
      write();
    },
  };
}

const noActivity = () => ({ queued: 0, answers: 0, new: 0, changed: 0, rejected: 0, deferred: 0, notStored: 0 });

/** Such as `stored 62 answers, 89,280 new points; deferred 2 requests`; empty when nothing happened. */
function activityText(counts: ReturnType<typeof noActivity>): string {
  const points = [
    ...(counts.new > 0 ? [counted(counts.new, 'new point')] : []),
    ...(counts.changed > 0 ? [counted(counts.changed, 'changed point')] : []),
    ...(counts.rejected > 0 ? [counted(counts.rejected, 'rejected row')] : []),
  ];
  return [
    ...(counts.queued > 0 ? [`queued ${counted(counts.queued, 'request')}`] : []),
    ...(counts.answers > 0 ? [[`stored ${counted(counts.answers, 'answer')}`, ...points].join(', ')] : []),
    ...(counts.deferred > 0 ? [`deferred ${counted(counts.deferred, 'request')}`] : []),
    ...(counts.notStored > 0 ? [counted(counts.notStored, 'failed commit')] : []),
  ].join('; ');
}
