/**
 * Compares the points of a file with the stored ones, byte by byte: COPY gives them in the form in which the file was
 * read. Equal bytes are equal values with equal digits; SQL compares the few other ones.
 */

import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { tupleReader } from '../../files/copied-tuples.ts';
import { setSeries, type TupleRun, timeAtTuple } from '../../model/binary/tuples.ts';
import type { DatasetName } from '../../model/datasets/index.ts';
import type { EpochMs, Range } from '../../model/intervals.ts';
import { pointSql } from '../../store/commit/points.ts';
import { endTimeout } from '../../store/db/pg-internals.ts';
import { timestamp } from '../../store/db/values.ts';

export interface ComparedRuns {
  readonly unchanged: number;
  /** Rows whose times have no stored point. */
  readonly missing: readonly TupleRun[];
  /** Rows that are stored with other bytes. */
  readonly changed: readonly TupleRun[];
  /** Times of stored points that the file does not have. */
  readonly absentMs: readonly EpochMs[];
}

/** Compares the rows of a series, ascending, with the points of a window that holds all of them. */
export async function compareStored(
  client: pg.PoolClient,
  { dataset, seriesId, window }: { dataset: DatasetName; seriesId: number; window: Range },
  runs: readonly TupleRun[],
): Promise<ComparedRuns> {
  const { table, list, columns } = pointSql(dataset);
  const [from, to] = [timestamp(window.startMs), timestamp(window.endMs)];
  const stored = client.query(
    copyTo(
      `copy (select series_id, time, ${list('')} from ${table}
             where series_id = ${seriesId} and time >= '${from}' and time < '${to}' order by time)
       to stdout (format binary)`,
    ),
  );
  for (const run of runs) setSeries(run, seriesId);
  const comparison = new Comparison(runs);
  const read = tupleReader(2 + columns.length, (bytes, at, end) => comparison.take(bytes, at - 2, end));
  try {
    for await (const chunk of stored as AsyncIterable<Buffer>) read(chunk);
  } finally {
    endTimeout(stored);
  }
  return comparison.end();
}

class Comparison {
  readonly #runs: readonly TupleRun[];
  /** The next row of the file. */
  #run = 0;
  #row: number;
  #unchanged = 0;
  readonly #missing: TupleRun[] = [];
  readonly #changed: TupleRun[] = [];
  readonly #absentMs: EpochMs[] = [];

  constructor(runs: readonly TupleRun[]) {
    this.#runs = runs;
    this.#row = runs[0]?.from ?? 0;
  }

  end(): ComparedRuns {
    while (this.#next() !== null) this.#pass(this.#missing);
    return {
      unchanged: this.#unchanged,
      ...{ missing: this.#missing, changed: this.#changed, absentMs: this.#absentMs },
    };
  }

  /** Compares a stored tuple. */
  take(bytes: Buffer, at: number, end: number): void {
    const timeMs = timeAtTuple(bytes, at);
    for (let run = this.#next(); run !== null && (run.tuples.timesMs[this.#row] ?? 0) < timeMs; run = this.#next())
      this.#pass(this.#missing);
    const run = this.#next();
    if (run === null || run.tuples.timesMs[this.#row] !== timeMs) {
      this.#absentMs.push(timeMs);
      return;
    }
    const { tuples } = run;
    const [from, to] = [tuples.at[this.#row] ?? 0, tuples.at[this.#row + 1] ?? 0];
    if (bytes.compare(tuples.bytes, from, to, at, end) !== 0) {
      this.#pass(this.#changed);
      return;
    }
    this.#unchanged += 1;
    this.#row += 1;
  }

  /** The run of the next row; null: there is none left. */
  #next(): TupleRun | null {
    for (let run = this.#runs[this.#run]; run !== undefined; run = this.#runs[this.#run]) {
      if (this.#row < run.to) return run;
      this.#run += 1;
      this.#row = this.#runs[this.#run]?.from ?? 0;
    }
    return null;
  }

  /** Adds the next row to these. */
  #pass(to: TupleRun[]): void {
    const run = this.#next();
    if (run === null) return;
    const last = to.at(-1);
    if (last?.tuples === run.tuples && last.to === this.#row) to[to.length - 1] = { ...last, to: last.to + 1 };
    else to.push({ tuples: run.tuples, from: this.#row, to: this.#row + 1 });
    this.#row += 1;
  }
}
