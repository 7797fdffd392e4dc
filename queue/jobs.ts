/**
 * The two queues, their jobs, and the outcome of an attempt at one. Every job of `requests` costs one request at the
 * source, within the rate limit. `planning` has the jobs without a request: a planning pass must not use the budget.
 */

import { lanes, type WindowLane, windowLanes } from '../model/lanes.ts';
import type { Range } from '../model/ranges.ts';
import { defaultSource } from '../model/sources.ts';
import type { Window } from '../model/window.ts';
import type { PollPage } from '../planning/polls.ts';

export const queueNames = Object.freeze({ requests: 'requests', planning: 'planning' });

/** The queue of a source's requests. That of the default source keeps its name of earlier versions. */
export function requestsQueueName(source: string): string {
  return source === defaultSource ? queueNames.requests : `${queueNames.requests}-${source}`;
}

/**
 * Version of the data of a window's job. A worker drops windows of another version: they are still gaps, or the command
 * queues them again.
 */
export const windowVersion = 2;
export type QueuedWindow = Window & { readonly v: typeof windowVersion };

/** A job is named after the dataset of its window, or `page` for a page of a list. */
export type RequestJob =
  | { readonly name: Window['series']['dataset']; readonly data: QueuedWindow }
  | { readonly name: 'page'; readonly data: PollPage };

export function pageJobId({ pollId, firstRow }: Pick<PollPage, 'pollId' | 'firstRow'>): string {
  return `page_${pollId}_${firstRow}`;
}

type NamedWindow = Range & Pick<Window, 'seriesId'> & { readonly lane?: WindowLane; readonly run?: string };

/**
 * The job id of a window, so that a window is never queued twice. BullMQ forbids colons and plain numbers. Lanes that
 * fill no gap have ids of their own, so that they do not stand for a backfill of the same bounds.
 */
export function windowJobId(window: NamedWindow): string {
  const bounds = `${window.seriesId}_${window.startMs}_${window.endMs}`;
  const { lane, run } = window;
  if (lane === undefined || lanes[lane].fillsGap) return bounds;
  return run === undefined ? `${lane}_${bounds}` : `${lane}_${run}_${bounds}`;
}

const lanesWithIds = windowLanes.filter((lane) => !lanes[lane].fillsGap);
const windowIds = new RegExp(`^(?:(${lanesWithIds.join('|')})_(?:([0-9a-f]+)_)?)?(\\d+)_(\\d+)_(\\d+)$`);

/** The window of a job id, with its lane and run if the id has them; null for a poll. */
export function windowOfJobId(id: string): NamedWindow | null {
  const match = windowIds.exec(id);
  if (match === null) return null;
  return {
    seriesId: Number(match[3]),
    startMs: Number(match[4]),
    endMs: Number(match[5]),
    ...(match[1] === undefined ? {} : { lane: match[1] as WindowLane }),
    ...(match[2] === undefined ? {} : { run: match[2] }),
  };
}

/**
 * An attempt at a job, and its outcome.
 *
 * `done`     The job leaves the queue.
 * `retry`    The job is delayed. A counted retry uses one of its attempts; the job leaves the queue after the last one.
 * `putBack`  The job goes back to the head of its lane, uncounted: the queue is paused, or the worker stops.
 *
 * An attempt that throws is a counted retry after one second.
 */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly inMs: number; readonly counted: boolean }
  | { readonly kind: 'putBack' };

export const done: Outcome = Object.freeze({ kind: 'done' });
export const putBack: Outcome = Object.freeze({ kind: 'putBack' });

export interface Attempt<Job> {
  readonly id: string;
  readonly job: Job;
  /** From 1. Attempts that were put back or lost with a worker do not count. */
  readonly number: number;
  /** Whether no attempt is left for a counted retry. */
  readonly last: boolean;
  /** How long the job waited for its turn; null unless claimed for the first time. */
  readonly waitedMs: number | null;
  /** Trace context from `QueueBackendOptions.carry`. */
  readonly carried: string | undefined;
  /** Aborts when the worker stops and its grace period is over. */
  readonly stopping: AbortSignal;
}

export type Processor<Job> = (attempt: Attempt<Job>) => Promise<Outcome>;
