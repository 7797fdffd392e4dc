/** A response of a source with status 200, as its client reads it and a commit stores it. */

import { counted } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import type { PointLines } from '../model/point-lines.ts';
import type { UpstreamCoverage } from './upstream-coverage.ts';

/** What the ledger keeps of a response. */
export interface ReplyFacts {
  readonly status: number;
  /** Decoded size of the body. */
  readonly bytes: number;
  readonly durationMs: number;
  /** The rejected rows, or else the beginning of the body, in one line; absent: it is no text. */
  readonly body?: string | undefined;
}

/** A row that failed validation, kept for quarantine. */
export interface RejectedRow {
  /** JSON text of the row, truncated if long. */
  readonly raw: string;
  readonly reason: string;
  /** Its time; absent: the one in the field that rows of the interface have. */
  readonly timeMs?: EpochMs | null;
  /** Whether another row of the same period differs, so that its period is not covered; absent: none does. */
  readonly isDisputed?: boolean;
}

/** How many rows were rejected, and why the first one was; null: none was. */
export function rejectionOf(rejected: readonly RejectedRow[]) {
  const [first, ...others] = new Set(rejected.map(({ reason }) => reason));
  const more = others.length === 0 ? '' : `, and ${counted(others.length, 'other reason')}`;
  return { rejected: rejected.length, rejectedFor: first === undefined ? null : `${first}${more}` };
}

/** Rows are in the order of the response. An invalid row does not affect the others. */
export interface Answer<Row, Rows = readonly Row[]> extends ReplyFacts {
  readonly rows: Rows;
  readonly rejected: readonly RejectedRow[];
  /** Of the checksum that was requested before the file; absent: none was. */
  readonly checksum?: ReplyFacts;
  /** Whether a checksum proves that no row was cut off: it says nothing about caps of other answers. */
  readonly isWhole?: boolean;
  /** The answer's `timestamp`, which reveals a stale copy; null: it has none. */
  readonly sourceTimeMs: EpochMs | null;
  /** What the source states of its own coverage; null or absent: nothing. */
  readonly known?: UpstreamCoverage | null;
  /** From here on the answer is of no part of its window, which another request may settle; absent: of all. */
  readonly endsMs?: EpochMs;
}

export type PointsAnswer = Answer<never, PointLines>;
