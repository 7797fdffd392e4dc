/** What the page knows, as the stream of events tells it. */

import type { Change, SeriesLine, Snapshot, Summary } from '../shapes.ts';

/**
 * Connecting: nothing has come yet, or not since the page is shown again. Live: events come. Trouble: they do, and say
 * that the store cannot be read. Lost: none come; what is shown is from before, and the connection is tried again.
 * Paused: the page is hidden, and has given up its stream.
 */
export type Connection = 'connecting' | 'live' | 'trouble' | 'lost' | 'paused';

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

  /** What is asked for now would not be answered. */
  get isAway(): boolean {
    return this.connection === 'trouble' || this.connection === 'lost';
  }

  /** Whenever a lost store, or a lost connection, is back, however long the page was hidden in between. @returns ends it. */
  onBack(listener: () => void): () => void {
    let wasAway = this.isAway;
    return this.onChange(() => {
      wasAway ||= this.isAway;
      if (!wasAway || this.connection !== 'live') return;
      wasAway = false;
      listener();
    });
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
