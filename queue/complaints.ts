/** One line for what a broken connection repeats by the thousand. */

import type { Logger } from 'pino';

const quietMs = 60_000;

export type Complaints = (error: Error) => void;

/**
 * Logs an error once, and the same one again after a minute with how often it was held back. While a queue's
 * store is away, BullMQ reports every failed command of every connection.
 */
export function complaintsTo(log: Logger, about: string): Complaints {
  const said = new Map<string, { atMs: number; heldBack: number }>();
  return (error) => {
    const text = error.message !== '' ? error.message : 'code' in error ? String(error.code) : error.name;
    // Ids and ports vary from one report of a cause to the next.
    const key = text.replace(/[0-9a-f-]{8,}|\d+/g, '#');
    const nowMs = performance.now();
    const before = said.get(key);
    if (before !== undefined && nowMs - before.atMs < quietMs) {
      before.heldBack += 1;
      return;
    }
    for (const [other, entry] of said) if (nowMs - entry.atMs >= quietMs) said.delete(other);
    said.set(key, { atMs: nowMs, heldBack: 0 });
    log.warn({ cause: text, heldBack: before?.heldBack ?? 0 }, about);
  };
}
