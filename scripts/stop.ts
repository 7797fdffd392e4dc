/** Ctrl-C and SIGTERM: the first asks for a graceful stop, the second ends the process at once. */

import { exitCodes } from '../errors.ts';

export interface StopSignal {
  /** Aborted at the first signal. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  release(): void;
}

export function onStop(): StopSignal {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  // The terminal was closed.
  process.on('SIGHUP', stop);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      process.off('SIGHUP', stop);
    },
  };
}

/** Resolves when the signal is aborted. */
export function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
