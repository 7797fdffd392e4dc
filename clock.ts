/**
 * The one clock of a process. Everything that reads the time, waits or measures a duration is given a clock, so that a
 * test moves the time by hand. `Date.now`, `performance.now`, `setTimeout` and their like stand in this file alone: a
 * lint rule says so.
 *
 * BullMQ, Redis and PostgreSQL have clocks of their own. What is compared with theirs uses `systemClock` by name.
 */

import type { EpochMs } from './model/intervals.ts';

/** Something that will be called. */
export interface Timer {
  /** It is called no more. */
  stop(): void;
}

export interface Repetition {
  /** Aborts the work, and waits for its end. */
  close(): Promise<void>;
}

export interface Clock {
  /** The time in milliseconds since the epoch. It may jump, as when the operating system corrects it. */
  now(): EpochMs;
  /** Milliseconds since any moment, for durations: it never jumps. */
  monotonicMs(): number;
  /** Ends after `ms`, or as soon as the signal is aborted. It never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls the work once after `ms`. */
  after(ms: number, work: () => void): Timer;
  /** Calls the work every `ms`. It does not keep the process alive. */
  every(ms: number, work: () => void): Timer;
  /**
   * Repeats the work, `everyMs` after each end.
   *
   * @param work must not throw. Its signal is aborted when the repetition is closed. A number that it returns replaces
   * `everyMs` once.
   * @param firstMs delay before the first run; 0 unless given.
   */
  repeat(everyMs: number, work: (signal: AbortSignal) => Promise<unknown>, firstMs?: number): Repetition;
}

/** The clock of this machine. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal?.aborted === true) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener('abort', end, { once: true });
    }),
  after(ms: number, work: () => void) {
    const timer = setTimeout(work, ms);
    return { stop: () => clearTimeout(timer) };
  },
  every(ms: number, work: () => void) {
    const timer: unknown = setInterval(work, ms);
    // A browser's timer is a number.
    if (typeof timer === 'object') (timer as { unref(): void }).unref();
    return { stop: () => clearInterval(timer as number) };
  },
  repeat: (...parts: Parameters<Clock['repeat']>) => repeatOn(systemClock, ...parts),
});

/** `Clock.repeat` by means of `Clock.sleep`. */
export function repeatOn(
  clock: Pick<Clock, 'sleep'>,
  everyMs: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  firstMs = 0,
): Repetition {
  const stop = new AbortController();
  async function run(): Promise<void> {
    let restMs = firstMs;
    while (!stop.signal.aborted) {
      await clock.sleep(restMs, stop.signal);
      if (stop.signal.aborted) return;
      const restNow = await work(stop.signal);
      restMs = typeof restNow === 'number' ? restNow : everyMs;
    }
  }
  const ended = run();
  return {
    close() {
      stop.abort();
      return ended;
    },
  };
}

/** The result of the work, or `late` when it takes longer than `ms`: its failure after that is not reported. */
export async function settledWithin<Result>(
  clock: Pick<Clock, 'sleep'>,
  ms: number,
  work: Promise<Result>,
): Promise<Result | 'late'> {
  const over = new AbortController();
  try {
    return await Promise.race([work, clock.sleep(ms, over.signal).then(() => 'late' as const)]);
  } finally {
    over.abort();
    work.catch(() => {});
  }
}

/** Resolves when the signal is aborted. */
export function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** @returns the result of the work; undefined if the signal is aborted before. */
export function unlessStopped<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
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
