/** The state of the page from the event stream, and the progress derived from it. */

import { minuteMs } from '../../../contract/intervals.ts';
import type { Change, RequestMinutes, SeriesLine, Snapshot, Summary } from '../shapes.ts';

/**
 *   connecting  No event has arrived since the page became visible.
 *   live        Events arrive.
 *   trouble     Events arrive and report that the store cannot be read.
 *   lost        No events arrive. The page shows the old state and retries the connection.
 *   paused      The page is hidden and has closed its stream.
 */
export type Connection = 'connecting' | 'live' | 'trouble' | 'lost' | 'paused';

/** A view on the page until another one replaces it. */
export interface View {
  readonly title: string;
  end(): void;
}

export class Model {
  summary: Summary | null = null;
  connection: Connection = 'connecting';
  readonly series = new Map<number, SeriesLine>();
  readonly #listeners = new Set<() => void>();
  #aheadMs = 0;

  /** The server's time, estimated from the local clock. */
  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** @returns removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether requests would fail now. */
  get isAway(): boolean {
    return this.connection === 'trouble' || this.connection === 'lost';
  }

  /** Calls the listener when a lost store or connection is back, also when the page was hidden meanwhile. @returns removes it. */
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

/** Lanes that fill gaps. */
const fillingLanes = ['backfill', 'probe'] as const;
/** Complete minutes over which the rate is measured. */
const rateMinutes = 10;

export type Progress = ReturnType<typeof backfillProgress>;

export function backfillProgress(
  series: readonly SeriesLine[],
  { requests: minutes, queue }: Pick<Summary, 'requests' | 'queue'>,
  nowMs: number,
) {
  const asked = series.filter(({ blocked }) => blocked === null);
  const left = sum(asked.map(({ requestsLeft }) => requestsLeft));
  const refusing = series.filter(({ blocked }) => blocked !== null);
  const refused = sum(refusing.map(({ requestsLeft }) => requestsLeft));
  // The stored part of a refused series counts as done.
  const done = sum(refusing.map((line) => Math.max(0, line.requests - line.requestsLeft)));
  const requests = Math.max(left, sum(asked.map((line) => line.requests)) + done);
  const perMinute = rateOf(minutes, nowMs);
  const isDone = perMinute > 0 && queue?.workers !== 0;
  return {
    requests,
    left,
    /** Remaining requests of series that the source refuses, which nobody makes for now. The other figures exclude them. */
    refused,
    /** Recent requests a minute that filled gaps. */
    perMinute,
    /** Estimated time left; null when nothing is left, nothing was done recently, or there is no worker. */
    expectedMs: left > 0 && isDone ? (left / perMinute) * minuteMs : null,
  };
}

/** The rate since the first of these minutes with a request, because a backfill may have begun recently. */
function rateOf({ startMs, lanes: counts, failed }: RequestMinutes, nowMs: number): number {
  const done = failed.map((_, place) => sum(fillingLanes.map((lane) => counts[lane]?.[place] ?? 0)));
  const last = done.length;
  const first = done.findIndex((requests, place) => place >= last - 1 - rateMinutes && requests > 0);
  if (first === -1) return 0;
  const spanMs = Math.max(minuteMs / 6, nowMs - (startMs + first * minuteMs));
  return (sum(done.slice(first)) / spanMs) * minuteMs;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
