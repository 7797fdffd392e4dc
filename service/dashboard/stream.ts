/**
 * One stream of server-sent events to one page.
 *
 * Flowing: every event is written. Behind: the socket has not taken the last one yet; events are left out, and when it
 * has, one snapshot makes up for them. Who stays behind too long is cut off; the page connects anew.
 */

import type { ServerResponse } from 'node:http';
import type { EpochMs } from '../../contract/intervals.ts';

const patienceMs = 30_000;

export class Stream {
  readonly #response: ServerResponse;
  readonly #snapshot: () => string | null;
  #behindSinceMs: EpochMs | null = null;

  /** @param snapshot the event that tells everything; null: there is nothing yet. */
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
    if (this.#behindSinceMs !== null && nowMs - this.#behindSinceMs > patienceMs) {
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

/** An event as it goes over the wire. @param id what a page that comes back tells; null: none. */
export function eventText(name: string, data: unknown, id: string | null): string {
  // JSON has no line break of its own, which would end the event's data.
  return `${id === null ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
