/** The request and the commit of a job: the part that differs between datasets. */

import type { EpochMs } from '../contract/intervals.ts';
import type { Window } from '../planning/windows.ts';
import type { Source } from '../source/source.ts';
import type { WindowCommit } from '../store/commit/prepare-window.ts';
import type { Database } from '../store/db/database.ts';
import type { LedgerEntry } from '../store/ledger/ledger.ts';

export interface Work<Answer> {
  readonly dataset: LedgerEntry['dataset'];
  readonly lane: LedgerEntry['lane'];
  /** Name of a poll in the log; absent: its dataset. */
  readonly name?: string;
  /** Null for a poll. */
  readonly window: Window | null;
  /** The job's window where `window` is only its first part. A refusal defers all of it. */
  readonly whole?: Window;
  /** Makes exactly one request. @throws SourceError */
  fetch(): Promise<Answer>;
  /** Gives up a poll that failed. */
  giveUp?(failure: { kind: string; message: string; nowMs: EpochMs; retryAtMs: EpochMs }): Promise<void>;
  /** Stores the answer in one transaction. @returns a summary for the log. */
  commit(answer: Answer, attempt: { number: number; nowMs: EpochMs }): Promise<object>;
}

export type CommitSlot = <Result>(commit: () => Promise<Result>) => Promise<Result>;

export interface WorkParts {
  readonly source: Source;
  readonly database: Database;
  /**
   * Bounds concurrent commits, since each holds a connection. Retries a commit that waits for a lock (store-failure.ts).
   */
  readonly commitSlot: CommitSlot;
  readonly commitWindow: (commit: WindowCommit) => Promise<object>;
  readonly graceMs: number;
  readonly emptyConfirmMs: number;
}
