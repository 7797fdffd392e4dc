/** The queue as the dashboard sees it. The process that starts the service provides the reader. */

import { type Clock, settledWithin } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { overlaps, type Range } from '../model/ranges.ts';
import type { QueueFacts } from '../planning/headline.ts';
import type { Summary } from './shapes.ts';

interface QueuedRange extends Range {
  /** Whether its request is under way. */
  readonly isActive: boolean;
}

export interface QueueSnapshot {
  readonly depth: Omit<NonNullable<Summary['queue']>, 'pauses'>;
  /** The effective budget, requests a minute; 0: unlimited. */
  readonly perMinute: number;
  /** Queued and active windows by series. */
  readonly windows: ReadonlyMap<number, readonly QueuedRange[]>;
  /** Of each source. */
  readonly facts: QueueFacts;
}

export type QueueReader = ReturnType<typeof createQueueReader>;

/** A slower queue counts as unavailable, so that the rest of the snapshot does not wait for it. */
const timeoutMs = 3000;
/** Wait for a queue that was unavailable at the last read. */
const awayTimeoutMs = 250;
/** How long those who use the queue may take to connect to one that is back. */
const reconnectMs = 10_000;
/** Interval of looking at it between two reads. */
const lookMs = 2000;

/** @param readQueue rejects while the queue is unavailable. It is not called again while a call is pending. */
export function createQueueReader(clock: Clock, readQueue: () => Promise<QueueSnapshot>) {
  let latest: QueueSnapshot | null = null;
  let problem = '';
  let pending: Promise<QueueSnapshot | null> | null = null;
  let begunMs = Number.NEGATIVE_INFINITY;
  let isAway = false;
  let wasAway = false;
  /** As it was when it last answered, and since when it does again. */
  let before: QueueFacts | null = null;
  let backSinceMs: number | null = null;

  function begin(): Promise<QueueSnapshot | null> {
    if (pending !== null) return pending;
    begunMs = clock.monotonicMs();
    pending = readQueue()
      .catch((error: unknown) => {
        problem = messageOf(error);
        return null;
      })
      .then((answer) => {
        pending = null;
        const found = answer === null || !isAway ? answer : whole(answer);
        isAway = found === null;
        if (found !== null) before = found.facts;
        if (found !== null || answer === null) backSinceMs = null;
        return found;
      });
    return pending;
  }

  /** An answer after an outage; null: whoever was connected before it may still come back. */
  function whole(answer: QueueSnapshot): QueueSnapshot | null {
    const nowMs = clock.monotonicMs();
    backSinceMs ??= nowMs;
    if (nowMs - backSinceMs >= reconnectMs || !lacks(answer.facts, before)) return answer;
    problem = 'it is back, and its users connect again';
    return null;
  }

  function noteLate(): void {
    if (!isAway) problem = `no answer for ${timeoutMs / 1000} s`;
    isAway = true;
  }

  return {
    /** Never rejects; null when the queue is unavailable. */
    async read(): Promise<QueueSnapshot | null> {
      const answer = await settledWithin(clock, isAway ? awayTimeoutMs : timeoutMs, begin());
      if (answer === 'late') noteLate();
      latest = answer === 'late' ? null : answer;
      wasAway = latest === null;
      return latest;
    },
    /** Looks at the queue between two reads. @returns whether it has gone or come back since the last one. */
    hasChanged(): boolean {
      const sinceMs = clock.monotonicMs() - begunMs;
      if (pending === null && sinceMs >= lookMs) void begin();
      else if (pending !== null && sinceMs >= timeoutMs) noteLate();
      return isAway !== wasAway;
    },
    /** Why the last `read` found nothing. */
    problem: () => problem,
    /** The result of the last `read`. */
    latest: () => latest,
  };
}

/** Whether somebody is not connected who was before. */
function lacks(now: QueueFacts, before: QueueFacts | null): boolean {
  if (before === null) return false;
  const workers = new Map(now.sources.map((one) => [one.source, one.workers]));
  return (
    (now.schedulers === 0 && before.schedulers > 0) ||
    before.sources.some((one) => one.workers > 0 && workers.get(one.source) === 0)
  );
}

/** Maps windows to columns of a band: flat pairs of first and one past the last, ascending and disjoint. */
export function windowPairs(windows: readonly Range[], band: Range, columns: number): number[] {
  const stepMs = (band.endMs - band.startMs) / columns;
  const pairs: number[] = [];
  const sorted = windows.filter((window) => overlaps(window, band)).sort((one, other) => one.startMs - other.startMs);
  for (const { startMs, endMs } of sorted) {
    const first = Math.max(0, Math.floor((startMs - band.startMs) / stepMs));
    const past = Math.min(columns, Math.max(first + 1, Math.ceil((endMs - band.startMs) / stepMs)));
    const last = pairs.at(-1);
    if (last !== undefined && last >= first) pairs[pairs.length - 1] = Math.max(last, past);
    else pairs.push(first, past);
  }
  return pairs;
}
