/**
 * Reads the state of the dashboard once for all open pages and sends them the changes.
 *
 *   asleep    No page is open and nothing is read.
 *   awake     Reads a snapshot, sends the changed lines to every page, and rests four times as long as the reading
 *             took, at least one tick, or until the queue goes or comes back. A new page gets a snapshot. A snapshot
 *             from before a sleep is stale: the first page waits for a new one.
 *   troubled  A reading failed or takes too long. Pages get a `trouble` event, repeated every few seconds, until a
 *             reading succeeds. A slow reading is not abandoned; its statements have timeouts. After a failure the rest
 *             is short.
 */

import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { formatDuration } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import { databaseAway } from '../planning/headline.ts';
import { explainDatabaseError } from '../store/db/failure.ts';
import type { Change, SeriesLine, Snapshot, Trouble } from './shapes.ts';

interface LiveOptions {
  readonly read: () => Promise<Snapshot>;
  /** Whether a reading is due at once, as when the queue has gone. */
  readonly hasChanged?: () => boolean;
  readonly clock: Clock;
  /** Shortest time between two readings. */
  readonly tickMs: number;
  /** A reading that takes longer counts as trouble. */
  readonly readTimeoutMs: number;
  readonly onTrouble: (error: unknown) => void;
}

/** Open pages. Each holds a connection. */
const maxStreams = 32;
const restFactor = 4;
/** Longest time between two events, so that neither a proxy nor the page takes the connection for dead. */
const heartbeatMs = 10_000;
/** Age at which a snapshot is stale, unless rests are longer. */
const staleMs = 5000;
/** Longest rest after a failed reading. */
const troubledRestMs = 5000;
/** Interval of the checks for a slow reading, a changed queue and a due heartbeat. */
const checkMs = 500;

export class Live {
  readonly #options: LiveOptions;
  readonly #streams = new Set<Stream>();
  /** New pages that wait for their first snapshot. */
  readonly #waiting = new Set<Stream>();
  #latest: Snapshot | null = null;
  #latestMs: EpochMs = 0;
  #restMs = 0;
  #snapshotText: string | null = null;
  #trouble: string | null = null;
  #sentMs: EpochMs = 0;
  #timer: Timer | null = null;
  #checkTimer: Timer | null = null;
  /** Start of the pending reading by the monotonic clock; null: none is pending. */
  #readingSinceMs: number | null = null;
  #isClosed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#isClosed || this.#streams.size >= maxStreams;
  }

  /** Streams events to a response whose headers have been sent. */
  add(response: ServerResponse): void {
    const stream = new Stream(response, () => (this.#waiting.has(stream) ? this.#trouble : this.#full()));
    this.#streams.add(stream);
    response.on('close', () => {
      this.#streams.delete(stream);
      this.#waiting.delete(stream);
      if (this.#streams.size === 0) this.#sleep();
    });
    const nowMs = this.#options.clock.now();
    if (this.#isStale(nowMs)) {
      this.#waiting.add(stream);
      if (this.#trouble !== null) stream.send(this.#trouble, nowMs);
    } else {
      stream.send(this.#full(), nowMs);
    }
    this.#checkTimer ??= this.#options.clock.every(checkMs, () => this.#check());
    if (this.#timer === null && this.#readingSinceMs === null) void this.#tick();
  }

  /** Ends every stream and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    this.#sleep();
    for (const stream of this.#streams) stream.end();
  }

  #sleep(): void {
    this.#timer?.stop();
    this.#checkTimer?.stop();
    this.#timer = null;
    this.#checkTimer = null;
  }

  /** Whether the latest snapshot is too old to show, after a sleep or during trouble. */
  #isStale(nowMs: EpochMs): boolean {
    return this.#latest === null || Math.abs(nowMs - this.#latestMs) > Math.max(staleMs, 2 * this.#restMs);
  }

  async #tick(): Promise<void> {
    this.#timer = null;
    const begunMs = this.#options.clock.monotonicMs();
    this.#readingSinceMs = begunMs;
    try {
      this.#take(await this.#options.read());
    } catch (error) {
      this.#options.onTrouble(error);
      this.#sendTrouble(messageOf(explainDatabaseError(error)));
    }
    this.#readingSinceMs = null;
    if (this.#isClosed || this.#streams.size === 0) return;
    const longMs = restFactor * (this.#options.clock.monotonicMs() - begunMs);
    const restMs = this.#trouble === null ? longMs : Math.min(longMs, troubledRestMs);
    this.#restMs = Math.max(this.#options.tickMs, restMs);
    this.#timer = this.#options.clock.after(this.#restMs, () => void this.#tick());
  }

  #check(): void {
    const hasChanged = this.#options.hasChanged?.() ?? false;
    if (hasChanged && this.#timer !== null) {
      this.#timer.stop();
      void this.#tick();
    }
    const sinceMs = this.#readingSinceMs;
    if (this.#trouble === null) {
      const { readTimeoutMs } = this.#options;
      if (sinceMs === null || this.#options.clock.monotonicMs() - sinceMs < readTimeoutMs) return;
      const error = new Error(`no answer for ${formatDuration(readTimeoutMs)}`);
      this.#options.onTrouble(error);
      this.#sendTrouble(error.message);
    } else if (this.#options.clock.now() - this.#sentMs >= heartbeatMs) this.#sendAll(this.#trouble);
  }

  #sendTrouble(why: string): void {
    const trouble: Trouble = { message: 'the store cannot be read', headline: databaseAway(why) };
    this.#trouble = eventText('trouble', trouble);
    this.#sendAll(this.#trouble);
  }

  #take(next: Snapshot): void {
    const previous = this.#latest;
    const wasTrouble = this.#trouble !== null;
    this.#trouble = null;
    this.#latest = next;
    this.#latestMs = this.#options.clock.now();
    const change = previous === null ? null : changeBetween(previous, next);
    const isSilent = this.#options.clock.now() - this.#sentMs >= heartbeatMs;
    this.#snapshotText = null;
    if (change === null || !isNothing(change, previous, next) || isSilent || wasTrouble) {
      this.#sendAll(
        change === null ? this.#full() : eventText('change', change),
        [...this.#streams].filter((stream) => !this.#waiting.has(stream)),
      );
    }
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const stream of waiting) stream.send(this.#full(), this.#latestMs);
  }

  #sendAll(text: string, streams: Iterable<Stream> = this.#streams): void {
    this.#sentMs = this.#options.clock.now();
    for (const stream of streams) stream.send(text, this.#sentMs);
  }

  /** The text for a page without any state. Requires a latest snapshot. */
  #full(): string {
    this.#snapshotText ??= eventText('snapshot', this.#latest);
    return this.#snapshotText + (this.#trouble ?? '');
  }
}

function changeBetween(previous: Snapshot, next: Snapshot): Change {
  const before = new Map(previous.series.map((line) => [line.id, line]));
  const series = next.series.filter((line) => !isSame(before.get(line.id), line));
  const present = new Set(next.series.map(({ id }) => id));
  const gone = previous.series.flatMap(({ id }) => (present.has(id) ? [] : [id]));
  return { summary: next.summary, series, gone };
}

function isSame(one: SeriesLine | undefined, other: SeriesLine): boolean {
  return one !== undefined && (Object.keys(other) as (keyof SeriesLine)[]).every((key) => one[key] === other[key]);
}

/** Whether nothing but the time changed. */
function isNothing(change: Change, previous: Snapshot | null, next: Snapshot): boolean {
  const timeless = ({ summary }: Snapshot) => JSON.stringify({ ...summary, nowMs: 0 });
  return (
    change.series.length === 0 && change.gone.length === 0 && previous !== null && timeless(previous) === timeless(next)
  );
}

/** A page that stays behind for longer is disconnected. */
const longestBehindMs = 30_000;

/**
 * One stream of server-sent events to one page.
 *
 *   flowing  Every event is written.
 *   behind   The socket's buffer is full. Events are dropped, and a snapshot replaces them once the buffer has drained.
 *            A page that stays behind too long is disconnected and connects again.
 */
export class Stream {
  readonly #response: ServerResponse;
  readonly #snapshot: () => string | null;
  #behindSinceMs: EpochMs | null = null;

  /** @param snapshot the event with the whole state; null before there is one. */
  constructor(response: ServerResponse, snapshot: () => string | null) {
    this.#response = response;
    this.#snapshot = snapshot;
    response.on('drain', () => {
      if (this.#behindSinceMs === null) return;
      this.#behindSinceMs = null;
      this.#write(this.#snapshot());
    });
  }

  send(event: string, nowMs: EpochMs): void {
    if (this.#behindSinceMs !== null && nowMs - this.#behindSinceMs > longestBehindMs) {
      this.#response.destroy();
    } else if (this.#response.writableNeedDrain) {
      this.#behindSinceMs ??= nowMs;
    } else {
      this.#write(event);
    }
  }

  end(): void {
    this.#response.end();
  }

  #write(event: string | null): void {
    if (event !== null && !this.#response.writableEnded) this.#response.write(event);
  }
}

/** Formats a server-sent event. */
function eventText(name: string, data: unknown): string {
  // JSON text contains no line break, which would end the data of the event.
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
