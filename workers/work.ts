/** What a job asks for, and where its answer goes: the part of a job that differs from dataset to dataset. */

import type { LimitFunction } from 'p-limit';
import type { EpochMs } from '../contract/intervals.ts';
import type { Window } from '../planning/windows.ts';
import type { Source } from '../source/source.ts';
import type { Database } from '../store/database.ts';
import type { LedgerEntry } from '../store/ledger.ts';
import type { WindowCommit } from '../store/windows.ts';

export interface Work<Answer> {
  readonly dataset: LedgerEntry['dataset'];
  readonly lane: LedgerEntry['lane'];
  /** What the log calls a poll; its dataset unless given. */
  readonly name?: string;
  /** What is asked for; null for a poll. */
  readonly window: Window | null;
  /** The job's window, where only its beginning is asked for: refused for good, all of it is put aside. */
  readonly whole?: Window;
  /** Makes exactly one request. @throws SourceError */
  fetch(): Promise<Answer>;
  /** Puts aside for good what is no window: a poll that failed. Absent: there is nothing to tell. */
  giveUp?(failure: { kind: string; message: string; nowMs: EpochMs; retryAtMs: EpochMs }): Promise<void>;
  /** Stores the answer in one transaction. @returns a summary for the log. */
  commit(answer: Answer, attempt: { number: number; nowMs: EpochMs }): Promise<object>;
}

export interface WorkParts {
  readonly source: Source;
  readonly database: Database;
  /** Bounds the commits under way: each holds a connection, and fetches may outnumber those. */
  readonly commitSlot: LimitFunction;
  readonly commitWindow: (commit: WindowCommit) => Promise<object>;
  readonly graceMs: number;
  readonly emptyConfirmMs: number;
}
