/**
 * What every open page sees, read once for all of them.
 *
 * Asleep: no page is open, nothing is read. Awake: the state is read, compared with what was sent last, and the lines
 * that differ are sent to all; then it rests, four times as long as the reading took, and a tick at least. A page that
 * comes back within a few events gets those, any other one a snapshot. While the store cannot be read, pages are told.
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
  readonly onTrouble: (error: unknown) => void;
}

/** Pages at once. Each is a connection that stays. */
export const mostStreams = 32;
const restFactor = 4;
/** An event at least so often, lest a proxy or the page take silence for an end. */
const silenceMs = 10_000;
const keptEvents = 64;

export class Live {
  readonly #options: LiveOptions;
  readonly #boot = randomBytes(4).toString('hex');
  readonly #streams = new Set<Stream>();
  #events: { readonly sequence: number; readonly text: string }[] = [];
  #sequence = 0;
  #latest: Snapshot | null = null;
  #snapshotText: string | null = null;
  #trouble: string | null = null;
  #sentMs: EpochMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #isReading = false;
  #isClosed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#isClosed || this.#streams.size >= mostStreams;
  }

  /** Streams events to a response whose head has been written. @param lastId what the page saw last. */
  add(response: ServerResponse, lastId: string | undefined): void {
    const stream = new Stream(response, () => this.#snapshotEvent());
    this.#streams.add(stream);
    response.on('close', () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.#sleep();
    });
    // What nobody looked at meanwhile may be old: the reading that begins now brings the rest.
    const missed = this.#missedSince(lastId) ?? this.#snapshotEvent();
    if (missed !== null && missed !== '') stream.send(missed, this.#options.now());
    if (this.#trouble !== null) stream.send(this.#trouble, this.#options.now());
    if (this.#timer === null && !this.#isReading) void this.#tick();
  }

  /** Ends every stream, and takes no more. */
  close(): void {
    this.#isClosed = true;
    this.#sleep();
    for (const stream of this.#streams) stream.end();
  }

  #sleep(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #tick(): Promise<void> {
    this.#isReading = true;
    this.#timer = null;
    const begunMs = performance.now();
    try {
      this.#take(await this.#options.read());
    } catch (error) {
      this.#options.onTrouble(error);
      const trouble: Trouble = { message: 'the store cannot be read' };
      this.#trouble = eventText('trouble', trouble, null);
      this.#sendAll(this.#trouble);
    }
    this.#isReading = false;
    if (this.#isClosed || this.#streams.size === 0) return;
    const restMs = Math.max(this.#options.tickMs, restFactor * (performance.now() - begunMs));
    this.#timer = setTimeout(() => void this.#tick(), restMs);
  }

  #take(next: Snapshot): void {
    const previous = this.#latest;
    const wasTrouble = this.#trouble !== null;
    this.#trouble = null;
    this.#latest = next;
    const change = previous === null ? null : changeBetween(previous, next);
    const isSilent = this.#options.now() - this.#sentMs >= silenceMs;
    if (change !== null && isNothing(change, previous, next) && !isSilent && !wasTrouble) return;
    this.#sequence += 1;
    this.#snapshotText = null;
    const text =
      change === null
        ? eventText('snapshot', next, this.#id(this.#sequence))
        : eventText('change', change, this.#id(this.#sequence));
    if (change === null) this.#snapshotText = text;
    this.#events = [...this.#events, { sequence: this.#sequence, text }].slice(-keptEvents);
    this.#sendAll(text);
  }

  #sendAll(text: string): void {
    this.#sentMs = this.#options.now();
    for (const stream of this.#streams) stream.send(text, this.#sentMs);
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

  #snapshotEvent(): string | null {
    if (this.#latest === null) return null;
    this.#snapshotText ??= eventText('snapshot', this.#latest, this.#id(this.#sequence));
    return this.#snapshotText;
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
