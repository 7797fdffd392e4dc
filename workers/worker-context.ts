/** What a worker has: its source, its store, and how it commits. */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Attempt } from '../queue/jobs.ts';
import type { CommitRules, WindowCommit, WindowResult } from '../store/commit/prepare-window.ts';
import type { Verified } from '../store/commit/verification.ts';
import type { Database } from '../store/db/database.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { RunningSource } from './running-source.ts';
import type { WorkerEvents } from './worker-events.ts';

export interface WorkerContext {
  readonly clock: Clock;
  readonly database: Database;
  readonly source: RunningSource;
  readonly storeBreaker: CircuitBreaker;
  readonly commits: Committer;
  readonly rules: CommitRules & { readonly failedRetryMs: number };
  readonly log: Logger;
  readonly events: WorkerEvents | undefined;
  /** From 0 to 1. */
  readonly random: () => number;
}

export type CommitSlot = <Result>(commit: () => Promise<Result>) => Promise<Result>;

export interface Committer {
  /**
   * Bounds concurrent transactions, since each holds a connection. Retries one that waits for a lock
   * (store-failure.ts).
   */
  readonly slot: CommitSlot;
  /** Stores the answer to a window. */
  readonly store: (commit: WindowCommit) => Promise<WindowResult>;
  /** Compares it with the stored points. */
  readonly compare: (commit: WindowCommit) => Promise<Verified>;
}

export type AttemptFacts = Pick<Attempt<unknown>, 'number' | 'last' | 'stopping'>;
