/** A clock that stands still until the test moves it. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, repeatOn, systemClock } from '../../clock.ts';
import type { EpochMs } from '../../model/intervals.ts';

export interface TestClock extends Clock {
  /**
   * Moves the time on, through every sleeper and timer that is due by then, each at its own time and in order. After
   * each it lets the work that it woke go on until it waits for something outside of this process.
   */
  advance(ms: number): Promise<void>;
  /** Moves the time to `nowMs` at once, as an operating system that corrects its clock. Nobody wakes. */
  jump(nowMs: EpochMs): void;
  /** Resolves when at least `count` sleepers and timers wait. */
  waiting(count?: number): Promise<void>;
}

interface Due {
  readonly atMs: number;
  readonly call: () => void;
}

/** Turns of the event loop that woken work gets: promises, files and sockets that are ready. */
const turns = 5;

export function createTestClock(startMs: EpochMs = Date.UTC(2024, 0, 15, 12)): TestClock {
  let nowMs = startMs;
  let monotonicMs = 0;
  const dues = new Set<Due>();
  const watchers = new Set<() => void>();

  function add(ms: number, call: () => void): Due {
    const due = { atMs: monotonicMs + Math.max(0, ms), call };
    dues.add(due);
    for (const watcher of [...watchers]) watcher();
    return due;
  }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) await nextTurn();
  }

  const clock: TestClock = {
    now: () => nowMs,
    monotonicMs: () => monotonicMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const end = () => {
          dues.delete(due);
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const due = add(ms, end);
        signal?.addEventListener('abort', end, { once: true });
      }),
    after(ms, work) {
      const due = add(ms, work);
      return { stop: () => void dues.delete(due) };
    },
    every(ms, work) {
      let due = add(ms, call);
      function call(): void {
        due = add(ms, call);
        work();
      }
      return { stop: () => void dues.delete(due) };
    },
    repeat: (...parts) => repeatOn(clock, ...parts),
    async advance(ms) {
      const endMs = monotonicMs + ms;
      await settle();
      for (;;) {
        const next = [...dues].sort((one, other) => one.atMs - other.atMs)[0];
        if (next === undefined || next.atMs > endMs) break;
        move(next.atMs - monotonicMs);
        dues.delete(next);
        next.call();
        await settle();
      }
      move(endMs - monotonicMs);
    },
    jump(toMs) {
      nowMs = toMs;
    },
    waiting: (count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (dues.size < count) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
  };

  function move(ms: number): void {
    nowMs += ms;
    monotonicMs += ms;
  }

  return clock;
}

/** The clock of the machine, except that the test says what time it is: for parts that only read the time. */
export function clockAt(now: () => EpochMs): Clock {
  return { ...systemClock, now };
}
