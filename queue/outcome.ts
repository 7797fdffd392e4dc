/**
 * An attempt at a job, and what becomes of the job after it.
 *
 * `done`     the job leaves the queue.
 * `retry`    it comes back after a while. A counted retry uses up one of its attempts, and the job leaves the
 *            queue when none is left; one that is not counted was not the job's fault.
 * `putBack`  it goes back to the head of its lane at once, uncounted: the queue is paused, or this worker stops.
 *
 * An attempt that throws is a counted retry after a second.
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
  /** 1 for the first; attempts that were put back or lost with a worker do not count. */
  readonly number: number;
  /** Whether a counted retry would find no attempt left. */
  readonly last: boolean;
  /** How long the job waited for its turn in the budget; null unless it was taken for the first time. */
  readonly waitedMs: number | null;
  /** What whoever queued the job sent along with it, see `QueueBackendOptions.carry`. */
  readonly carried: string | undefined;
  /** Aborts when the worker stops and cannot wait for the attempt any longer. */
  readonly stopping: AbortSignal;
}

export type Processor<Job> = (attempt: Attempt<Job>) => Promise<Outcome>;
