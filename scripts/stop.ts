/** Ctrl-C and SIGTERM: the first asks for a graceful stop, the second ends the process at once. */

import { exitCodes } from '../errors.ts';

export interface StopSignal {
  /** Aborted at the first signal. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  release(): void;
}

/** Ctrl-C under `npx` comes twice within moments: from the terminal, and passed on by npm. */
const sameSignalMs = 500;

/** @param options.whenUnread whether the command is there to be read: it then also stops when its reader leaves, such as `head`. */
export function onStop(options: { whenUnread?: boolean; now?: () => number } = {}): StopSignal {
  const now = options.now ?? (() => performance.now());
  const controller = new AbortController();
  let firstMs = 0;
  const stop = () => {
    if (!controller.signal.aborted) firstMs = now();
    else if (now() - firstMs >= sameSignalMs) process.exit(exitCodes.interrupted);
    controller.abort();
  };
  const stopUnread = () => controller.abort();
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // The terminal was closed.
  process.on('SIGHUP', stop);
  if (options.whenUnread) process.stdout.on('error', stopUnread);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      process.off('SIGHUP', stop);
      process.stdout.off('error', stopUnread);
    },
  };
}

/** Resolves when the signal is aborted. */
export function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** What the work gives; undefined when the signal is aborted before. Nothing of it stays with a signal that lives on. */
export function unlessStopped<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
): Promise<Result | undefined> {
  if (signal.aborted) {
    work.catch(() => {});
    return Promise.resolve(undefined);
  }
  return new Promise((resolve, reject) => {
    const leave = () => resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
