/**
 * One stream of server-sent events to one page.
 *
 *   flowing  Every event is written.
 *   behind   The socket's buffer is full. Events are dropped, and a snapshot replaces them once the buffer has drained. A
 *            page that stays behind too long is disconnected and connects again.
 */

import type { ServerResponse } from 'node:http';
import type { EpochMs } from '../../contract/intervals.ts';

const longestBehindMs = 30_000;

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
export function eventText(name: string, data: unknown): string {
  // JSON text contains no line break, which would end the data of the event.
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
