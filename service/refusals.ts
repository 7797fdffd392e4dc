/** Answers other than 200: `{"error", "timestamp"}` with the wording that clients know from the field. */

import type { EpochMs } from '../contract/intervals.ts';

/** Thrown by a route; answered with its status and its message. */
export class ServiceRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'ServiceRefusal';
    this.status = status;
  }
}

export function badRequest(message: string): ServiceRefusal {
  return new ServiceRefusal(400, message);
}

/** @param what an id, or a market as `<exchange> <base>/<quote>`. */
export function notFound(what: string): ServiceRefusal {
  return new ServiceRefusal(404, `${what} not found`);
}

export function errorBody(message: string, timestampMs: EpochMs): string {
  return JSON.stringify({ error: message, timestamp: timestampMs });
}
