/** Start and stop of a process. The first Ctrl-C or SIGTERM requests a graceful stop, the second ends the process. */

import type { Logger } from 'pino';
import { type Clock, unlessStopped } from '../clock.ts';
import { exitCodes } from '../errors.ts';
import type { Disposer } from '../operations/disposer.ts';

/** Ctrl-C, `kill`, and a terminal that was closed. */
export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Under `npx` Ctrl-C arrives twice: from the terminal and from npm. */
const sameSignalMs = 500;

/** @param options.whenUnread also stops when the reader of standard output leaves, such as `head`. */
export function onStop(options: { clock: Pick<Clock, 'monotonicMs'>; whenUnread?: boolean }) {
  const { clock } = options;
  const controller = new AbortController();
  let firstMs = 0;
  const stop = () => {
    if (!controller.signal.aborted) firstMs = clock.monotonicMs();
    else if (clock.monotonicMs() - firstMs >= sameSignalMs) process.exit(exitCodes.interrupted);
    controller.abort();
  };
  const stopUnread = () => controller.abort();
  for (const name of stopSignals) process.on(name, stop);
  if (options.whenUnread) process.stdout.on('error', stopUnread);
  return {
    /** Aborted at the first signal. */
    signal: controller.signal,
    /** Stops listening. */
    release: () => {
      for (const name of stopSignals) process.off(name, stop);
      process.stdout.off('error', stopUnread);
    },
  };
}

/** A reachable server answers within this time. */
const warnAfterMs = 2000;

export class StoppedAtStart extends Error {}

/**
 * Starts a command step by step. A signal ends the wait for a step; its late result is closed.
 *
 * @returns a function that opens a part. `what` is waited for, such as `the database`. It throws StoppedAtStart.
 */
export function startSteps(
  disposer: Disposer,
  signal: AbortSignal,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
) {
  return async <Part extends { close(): Promise<void> }>(what: string, open: () => Promise<Part>): Promise<Part> => {
    if (signal.aborted) throw new StoppedAtStart();
    const late = clock.after(warnAfterMs, () => log.warn(`waiting for ${what}`));
    try {
      const opening = open();
      const part = await unlessStopped(opening, signal);
      if (part === undefined) {
        void opening.then((opened) => opened.close()).catch(() => {});
        throw new StoppedAtStart();
      }
      disposer.add(() => part.close());
      return part;
    } finally {
      late.stop();
    }
  };
}
