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
