/** What the page knows, as the stream of events tells it. */

import type { Change, SeriesLine, Snapshot, Summary } from '../shapes.ts';

/**
 * Connecting: nothing has come yet. Live: events come. Trouble: they do, and say that the store cannot be read. Lost:
 * none come; what is shown is from before, and the connection is tried again.
 */
export type Connection = 'connecting' | 'live' | 'trouble' | 'lost';

export class Model {
  summary: Summary | null = null;
  connection: Connection = 'connecting';
  readonly series = new Map<number, SeriesLine>();
  readonly #listeners = new Set<() => void>();
  #aheadMs = 0;

  /** The server's time, by this machine's clock. */
  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** @returns ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  takeSnapshot(snapshot: Snapshot): void {
    this.series.clear();
    this.#take(snapshot);
  }

  takeChange(change: Change): void {
    for (const id of change.gone) this.series.delete(id);
    this.#take(change);
  }

  setConnection(connection: Connection): void {
    if (connection === this.connection) return;
    this.connection = connection;
    this.#tell();
  }

  #take({ summary, series }: Snapshot): void {
    this.summary = summary;
    this.#aheadMs = summary.nowMs - Date.now();
    for (const line of series) this.series.set(line.id, line);
    this.connection = 'live';
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
