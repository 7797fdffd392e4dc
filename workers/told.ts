/** What a worker tells of its work as it happens, to who counts it. Nobody waits for it, and it must not throw. */

import type { RequestJob } from '../queue/jobs.ts';
import type { Attempt, Outcome } from '../queue/outcome.ts';
import type { LedgerEntry } from '../store/ledger.ts';

type Lane = LedgerEntry['lane'];
type Dataset = LedgerEntry['dataset'];

/** A probe and a window that verifies change no points. */
export interface StoredSummary {
  readonly verdict?: string;
  readonly fresh?: number;
  readonly changed?: number;
  readonly revised?: number;
  readonly unchanged?: number;
}

export interface WorkerTold {
  /** A job was taken for the first time, so long after it could have been. */
  taken(job: { readonly lane: Lane; readonly waitedMs: number }): void;
  /** An answer was committed. The time counts from the answer, so waiting for a connection is part of it. */
  stored(work: {
    readonly dataset: Dataset;
    readonly lane: Lane;
    readonly commitMs: number;
    /** What the commit gives back, as far as it has any of these. */
    readonly summary: StoredSummary;
  }): void;
  /** A window or a poll was put aside for a while: out of attempts, or refused. */
  putAside(work: { readonly dataset: Dataset; readonly lane: Lane }): void;
  /** An answer could not be stored. `passes`: because the database is in trouble. */
  notStored(trouble: { readonly passes: boolean }): void;
}

export type AroundAttempt = (attempt: Attempt<RequestJob>, run: () => Promise<Outcome>) => Promise<Outcome>;

/** The lane that a job is counted under, as the ledger has it. */
export function laneOf(job: RequestJob): Lane {
  return 'lane' in job.data ? job.data.lane : 'poll';
}
