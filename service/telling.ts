/** Tells of each answered request, to who counts them. */

import type { FastifyInstance } from 'fastify';

export interface ServedTold {
  /** The route's own path, such as `/v2/assets/:id`, never what was asked for: that has no bound. Null: there is none. */
  readonly route: string | null;
  readonly status: number;
  /** From the request to the last byte handed over; null for a stream of events, which has no end of its own. */
  readonly durationMs: number | null;
}

/** @param told is called when an answer is out. Nobody waits for it, and it must not throw. */
export function addTelling(app: FastifyInstance, told: (served: ServedTold) => void): void {
  app.addHook('onResponse', (request, reply, done) => {
    const isStream = String(reply.getHeader('content-type') ?? '').startsWith('text/event-stream');
    told({
      route: request.is404 ? null : (request.routeOptions.url ?? null),
      status: reply.statusCode,
      durationMs: isStream ? null : reply.elapsedTime,
    });
    done();
  });
}
