/** The state of the page from the event stream, and the progress derived from it. */

import { systemClock } from '../../../clock.ts';
import { seriesHold } from '../../../model/reasons.ts';
import { sum } from '../../../model/sum.ts';
import type { Change, SeriesLine, Snapshot, Summary, Trouble } from '../../shapes.ts';

/**
 *   connecting  No event has arrived since the page became visible.
 *   live        Events arrive.
 *   trouble     Events arrive and report that the store cannot be read.
 *   lost        No events arrive. The page shows the old state and retries the connection.
 *   paused      The page is hidden and has closed its stream.
 */
export type Connection = 'connecting' | 'live' | 'trouble' | 'lost' | 'paused';

export class Model {
  summary: Summary | null = null;
  connection: Connection = 'connecting';
  /** Why the store cannot be read; null: it can. */
  trouble: Trouble | null = null;
  readonly series = new Map<number, SeriesLine>();
  readonly #listeners = new Set<() => void>();
  readonly #retries = new Set<() => void>();
  #aheadMs = 0;

  /** The server's time, estimated from the local clock. */
  nowMs(): number {
    return systemClock.now() + this.#aheadMs;
  }

  /** @returns removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What has to come before anything is requested of a series, as a clause; null: nothing. */
  holdOf({ sources }: { readonly sources: readonly string[] }): string | null {
    return seriesHold(sources, (source) => this.summary?.sources.find(({ name }) => name === source)?.hold ?? null);
  }

  /** When a source is asked again whose last request was not answered; null: as soon as the budget allows. */
  readonly againOf = (source: string): string | null =>
    this.summary?.sources.find(({ name }) => name === source)?.again ?? null;

  /** Whether requests would fail now. */
  get isAway(): boolean {
    return this.connection === 'trouble' || this.connection === 'lost';
  }

  /**
   * Calls the listener when a lost store or connection is back, also when the page was hidden meanwhile.
   *
   * @returns removes it.
   */
  onBack(listener: () => void): () => void {
    let wasAway = this.isAway;
    return this.onChange(() => {
      wasAway ||= this.isAway;
      if (!wasAway || this.connection !== 'live') return;
      wasAway = false;
      listener();
    });
  }

  /** Calls the listener some seconds after a request failed, whichever it was. @returns removes it. */
  onRetry(listener: () => void): () => void {
    this.#retries.add(listener);
    return () => this.#retries.delete(listener);
  }

  retry(): void {
    // What is away fails again, and is loaded when it is back.
    if (!this.isAway) for (const listener of this.#retries) listener();
  }

  takeSnapshot(snapshot: Snapshot): void {
    this.series.clear();
    this.#take(snapshot);
  }

  takeChange(change: Change): void {
    for (const id of change.gone) this.series.delete(id);
    this.#take(change);
  }

  takeTrouble(trouble: Trouble): void {
    this.trouble = trouble;
    this.connection = 'trouble';
    this.#tell();
  }

  setConnection(connection: Connection): void {
    if (connection === this.connection) return;
    this.connection = connection;
    this.#tell();
  }

  #take({ summary, series }: Snapshot): void {
    this.summary = summary;
    this.#aheadMs = summary.nowMs - systemClock.now();
    for (const line of series) this.series.set(line.id, line);
    this.trouble = null;
    this.connection = 'live';
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The states of series that filters, tiles and the matrix show. */
export const isFailing = ({ failedMs, blocked }: SeriesLine) => failedMs > 0 || blocked !== null;
export const isLate = ({ behindMs }: SeriesLine) => behindMs > 0;
export const isAskedAgain = ({ awaitingMs }: SeriesLine) => awaitingMs > 0;
export const isComplete = ({ wantedMs, missingMs }: SeriesLine) => wantedMs > 0 && missingMs === 0;

export type Progress = ReturnType<typeof backfillProgress>;

/** Requests for what is missing. `refused`: of series that the source refuses as a whole; `left` excludes them. */
export function backfillProgress(series: readonly SeriesLine[]) {
  const of = (lines: readonly SeriesLine[]) => sum(lines.map(({ requestsLeft }) => requestsLeft));
  return {
    left: of(series.filter(({ blocked }) => blocked === null)),
    refused: of(series.filter(({ blocked }) => blocked !== null)),
  };
}
