/** Reports each finished request to the metrics. */

import type { FastifyInstance } from 'fastify';

export interface ServedEvent {
  /** The route's pattern, such as `/v2/assets/:id`, because URLs are unbounded. Null: no route matched. */
  readonly route: string | null;
  readonly status: number;
  /** From the request to the last byte sent; null for an event stream, which lasts until the client leaves. */
  readonly durationMs: number | null;
}

/** @param onServed called after each response; it must not throw. */
export function addRequestMetrics(app: FastifyInstance, onServed: (served: ServedEvent) => void): void {
  app.addHook('onResponse', (request, reply, done) => {
    const isStream = String(reply.getHeader('content-type') ?? '').startsWith('text/event-stream');
    onServed({
      route: request.is404 ? null : (request.routeOptions.url ?? null),
      status: reply.statusCode,
      durationMs: isStream ? null : reply.elapsedTime,
    });
    done();
  });
}
