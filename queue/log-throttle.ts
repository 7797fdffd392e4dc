/** Throttles repeated log lines. */

import type { Logger } from 'pino';

const quietMs = 60_000;

export type LogThrottle = (error: Error) => void;

/**
 * Logs an error once a minute, with the number of suppressed repeats. During an outage of the queue's store BullMQ reports
 * every failed command of every connection.
 */
export function throttleLog(log: Logger, about: string): LogThrottle {
  const logged = new Map<string, { atMs: number; suppressed: number }>();
  return (error) => {
    const text = error.message !== '' ? error.message : 'code' in error ? String(error.code) : error.name;
    // Ids and ports differ between reports of one cause.
    const key = text.replace(/[0-9a-f-]{8,}|\d+/g, '#');
    const nowMs = performance.now();
    const before = logged.get(key);
    if (before !== undefined && nowMs - before.atMs < quietMs) {
      before.suppressed += 1;
      return;
    }
    for (const [other, entry] of logged) if (nowMs - entry.atMs >= quietMs) logged.delete(other);
    logged.set(key, { atMs: nowMs, suppressed: 0 });
    log.warn({ cause: text, suppressed: before?.suppressed ?? 0 }, about);
  };
}
