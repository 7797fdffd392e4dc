/** Events of a worker, for metrics and traces. Handlers are not awaited, and must not throw. */

import type { Lane } from '../model/lanes.ts';
import type { Range } from '../model/ranges.ts';
import type { Attempt, Outcome, RequestJob } from '../queue/jobs.ts';
import type { SeenRevision } from '../store/commit/write-points.ts';
import type { LedgerEntry } from '../store/ledger/ledger.ts';

type Dataset = LedgerEntry['dataset'];

/** Absent for a probe and a verification, which change no points. */
export interface StoredEvent {
  readonly verdict?: string;
  readonly fresh?: number;
  readonly changed?: number;
  readonly revised?: number;
  readonly unchanged?: number;
  /** Rows in quarantine, and why the first of them is. */
  readonly rejected?: number;
  readonly rejectedFor?: string | null;
  /** Ranges that no row of the answer could be used for; they are asked again. */
  readonly unusable?: readonly Range[];
  /** The first few revised values. */
  readonly revisions?: readonly SeenRevision[];
}

export interface WorkerEvents {
  /** A job was claimed for the first time, `waitedMs` after it was due. */
  claimed(job: { readonly lane: Lane; readonly waitedMs: number }): void;
  /** An answer was committed. `commitMs` counts from the answer and includes the wait for a connection. */
  stored(work: {
    readonly dataset: Dataset;
    readonly lane: Lane;
    readonly commitMs: number;
    /** Result of the commit. */
    readonly summary: StoredEvent;
  }): void;
  /** A window or a poll was deferred: out of attempts, or refused. */
  deferred(work: { readonly dataset: Dataset; readonly lane: Lane }): void;
  /** An answer could not be stored. `isTransient`: because of an outage of the database or a lock. */
  notStored(trouble: { readonly isTransient: boolean }): void;
}

/** Passes every event on to all that listen for it. */
export function eventsTo(listeners: readonly (Partial<WorkerEvents> | null | undefined)[]): WorkerEvents {
  const passed = (name: keyof WorkerEvents) => (event: never) => {
    for (const listener of listeners) listener?.[name]?.(event);
  };
  return {
    claimed: passed('claimed'),
    stored: passed('stored'),
    deferred: passed('deferred'),
    notStored: passed('notStored'),
  };
}

export type AttemptMiddleware = (attempt: Attempt<RequestJob>, run: () => Promise<Outcome>) => Promise<Outcome>;

/** The lane that a job is counted under, as the ledger has it. */
export function laneOf(job: RequestJob): Lane {
  return 'lane' in job.data ? job.data.lane : 'poll';
}
