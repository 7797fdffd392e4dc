/** Collects the tuples of a piece in one buffer, which the next piece reuses. The pages of a file reuse theirs too. */

import type { TupleRun } from '../model/binary/tuples.ts';

const fewestRows = 256;
const bytesOfRow = 128;

export class PieceTuples {
  #length = 0;
  #timesMs = new Float64Array(fewestRows);
  #at = new Int32Array(fewestRows + 1);
  #bytes = Buffer.allocUnsafe(fewestRows * bytesOfRow);

  /** Copies the tuples. */
  add({ tuples, from, to }: TupleRun): void {
    if (from === to) return;
    const [start, stop] = [tuples.at[from] ?? 0, tuples.at[to] ?? 0];
    const end = this.#at[this.#length] ?? 0;
    this.#reserve(this.#length + to - from, end + stop - start);
    tuples.bytes.copy(this.#bytes, end, start, stop);
    this.#timesMs.set(tuples.timesMs.subarray(from, to), this.#length);
    for (let row = from; row < to; row += 1) {
      this.#length += 1;
      this.#at[this.#length] = (tuples.at[row + 1] ?? 0) - start + end;
    }
  }

  /** All of them, as one run. It is valid until `clear`. */
  runs(): readonly TupleRun[] {
    const tuples = { length: this.#length, timesMs: this.#timesMs, bytes: this.#bytes, at: this.#at };
    return this.#length === 0 ? [] : [{ tuples, from: 0, to: this.#length }];
  }

  clear(): void {
    this.#length = 0;
  }

  #reserve(rows: number, bytes: number): void {
    if (rows > this.#timesMs.length) {
      const [timesMs, at] = [this.#timesMs, this.#at];
      this.#timesMs = new Float64Array(2 * rows);
      this.#at = new Int32Array(2 * rows + 1);
      this.#timesMs.set(timesMs);
      this.#at.set(at);
    }
    if (bytes > this.#bytes.length) {
      const before = this.#bytes;
      this.#bytes = Buffer.allocUnsafe(2 * bytes);
      before.copy(this.#bytes);
    }
  }
}
