/**
 * What every open page sees, read once for all of them.
 *
 *   asleep    No page is open, nothing is read.
 *   awake     The state is read, compared with what was sent last, and the lines that differ are sent to all; then it
 *             rests, four times as long as the reading took, and a tick at least. A page that comes back within a few
 *             events gets those, any other one a snapshot. What was read before a sleep is no state of now: who comes
 *             first after one waits for the next reading.
 *   troubled  A reading failed, or takes too long: pages are told, and again every few seconds, until one succeeds. One
 *             that takes long is waited for; whatever it asks gives up in the end. After one that failed the rest is short.
 */

import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { EpochMs } from '../../contract/intervals.ts';
import type { Change, SeriesLine, Snapshot, Trouble } from './shapes.ts';
import { eventText, Stream } from './stream.ts';

export interface LiveOptions {
  readonly read: () => Promise<Snapshot>;
  readonly now: () => EpochMs;
  /** Least time between two readings. */
  readonly tickMs: number;
  /** How long a reading may take before pages are told that the store cannot be read. */
  readonly patienceMs: number;
  readonly onTrouble: (error: unknown) => void;
}

/** Pages at once. Each is a connection that stays. */
export const mostStreams = 32;
const restFactor = 4;
/** An event at least so often, lest a proxy or the page take silence for an end. */
const silenceMs = 10_000;
const keptEvents = 64;
/** What was read so long ago is not shown as the present, unless rests are longer. */
const oldMs = 5000;
/** The longest rest after a reading that failed. */
const troubledRestMs = 5000;
/** How often to look whether a reading takes too long, or pages have heard nothing for long. */
const watchMs = 500;

export class Live {
  readonly #options: LiveOptions;
  readonly #boot = randomBytes(4).toString('hex');
  readonly #streams = new Set<Stream>();
  #events: { readonly sequence: number; readonly text: string }[] = [];
  #sequence = 0;
  /** New pages, until the reading that began with or before them is there. */
  readonly #waiting = new Set<Stream>();
  #latest: Snapshot | null = null;
  #latestMs: EpochMs = 0;
  #restMs = 0;
  #snapshotText: string | null = null;
  #trouble: string | null = null;
  #sentMs: EpochMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #watch: NodeJS.Timeout | null = null;
  /** By the monotonic clock; null: none is under way. */
  #readingSinceMs: number | null = null;
  #isClosed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#isClosed || this.#streams.size >= mostStreams;
  }

  /** Streams events to a response whose head has been written. @param lastId what the page saw last. */
  add(response: ServerResponse, lastId: string | undefined): void {
    const stream = new Stream(response, () => (this.#waiting.has(stream) ? this.#trouble : this.#all()));
    this.#streams.add(stream);
    response.on('close', () => {
      this.#streams.delete(stream);
      this.#waiting.delete(stream);
      if (this.#streams.size === 0) this.#sleep();
    });
    const nowMs = this.#options.now();
    if (this.#isOld(nowMs)) {
      this.#waiting.add(stream);
      if (this.#trouble !== null) stream.send(this.#trouble, nowMs);
    } else {
      const missed = this.#missedSince(lastId);
      const told = missed === null ? this.#all() : missed + (this.#trouble ?? '');
      if (told !== '') stream.send(told, nowMs);
    }
    this.#watch ??= setInterval(() => this.#look(), watchMs);
    if (this.#timer === null && this.#readingSinceMs === null) void this.#tick();
  }

  /** Ends every stream, and takes no more. */
  close(): void {
    this.#isClosed = true;
    this.#sleep();
    for (const stream of this.#streams) stream.end();
  }

  #sleep(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#timer = null;
    this.#watch = null;
  }

  /** Whether the next reading is overdue: nobody was awake, or there is trouble. */
  #isOld(nowMs: EpochMs): boolean {
    return this.#latest === null || Math.abs(nowMs - this.#latestMs) > Math.max(oldMs, 2 * this.#restMs);
  }

  async #tick(): Promise<void> {
    this.#timer = null;
    const begunMs = performance.now();
    this.#readingSinceMs = begunMs;
    try {
      this.#take(await this.#options.read());
    } catch (error) {
      this.#options.onTrouble(error);
      this.#tellTrouble();
    }
    this.#readingSinceMs = null;
    if (this.#isClosed || this.#streams.size === 0) return;
    const longMs = restFactor * (performance.now() - begunMs);
    const restMs = this.#trouble === null ? longMs : Math.min(longMs, troubledRestMs);
    this.#restMs = Math.max(this.#options.tickMs, restMs);
    this.#timer = setTimeout(() => void this.#tick(), this.#restMs);
  }

  #look(): void {
    const sinceMs = this.#readingSinceMs;
    if (this.#trouble === null) {
      if (sinceMs === null || performance.now() - sinceMs < this.#options.patienceMs) return;
      this.#options.onTrouble(new Error('no answer yet'));
      this.#tellTrouble();
    } else if (this.#options.now() - this.#sentMs >= silenceMs) this.#tellTrouble();
  }

  #tellTrouble(): void {
    const trouble: Trouble = { message: 'the store cannot be read' };
    this.#trouble = eventText('trouble', trouble, null);
    this.#sendAll(this.#trouble);
  }

  #take(next: Snapshot): void {
    const previous = this.#latest;
    const wasTrouble = this.#trouble !== null;
    this.#trouble = null;
    this.#latest = next;
    this.#latestMs = this.#options.now();
    const change = previous === null ? null : changeBetween(previous, next);
    const isSilent = this.#options.now() - this.#sentMs >= silenceMs;
    this.#snapshotText = null;
    if (change === null || !isNothing(change, previous, next) || isSilent || wasTrouble) {
      this.#sequence += 1;
      const id = this.#id(this.#sequence);
      const text = change === null ? eventText('snapshot', next, id) : eventText('change', change, id);
      if (change === null) this.#snapshotText = text;
      this.#events = [...this.#events, { sequence: this.#sequence, text }].slice(-keptEvents);
      this.#sendAll(
        text,
        [...this.#streams].filter((stream) => !this.#waiting.has(stream)),
      );
    }
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const stream of waiting) stream.send(this.#all(), this.#latestMs);
  }

  #sendAll(text: string, streams: Iterable<Stream> = this.#streams): void {
    this.#sentMs = this.#options.now();
    for (const stream of streams) stream.send(text, this.#sentMs);
  }

  /** The events after that one; null: they are not kept, or it is of another process. */
  #missedSince(id: string | undefined): string | null {
    const [boot, sequence] = (id ?? '').split('.');
    if (boot !== this.#boot || sequence === undefined) return null;
    const [oldest] = this.#events;
    const seen = Number(sequence);
    if (oldest === undefined || !(seen >= oldest.sequence - 1 && seen <= this.#sequence)) return null;
    return this.#events.flatMap((event) => (event.sequence > seen ? [event.text] : [])).join('');
  }

  /** What a page needs that knows nothing; not before there is a latest snapshot. */
  #all(): string {
    this.#snapshotText ??= eventText('snapshot', this.#latest, this.#id(this.#sequence));
    return this.#snapshotText + (this.#trouble ?? '');
  }

  #id(sequence: number): string {
    return `${this.#boot}.${sequence}`;
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
  return (
    one !== undefined && (Object.keys(other) as (keyof SeriesLine)[]).every((key) => one[key] === other[key])
  );
}

/** Nothing but that time goes on. */
function isNothing(change: Change, previous: Snapshot | null, next: Snapshot): boolean {
  const timeless = ({ summary }: Snapshot) => JSON.stringify({ ...summary, nowMs: 0 });
  return (
    change.series.length === 0 &&
    change.gone.length === 0 &&
    previous !== null &&
    timeless(previous) === timeless(next)
  );
}
