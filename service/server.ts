/** The read-only Market Data Service over HTTP, whoever holds the data. */

import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { EpochMs } from '../contract/intervals.ts';
import { addCompression } from './compression.ts';
import type { MarketData } from './market-data.ts';
import { interfaceLimits, type RangeLimits } from './ranges.ts';
import { errorBody, ServiceRefusal } from './refusals.ts';
import { addRoutes } from './routes.ts';

/** The base address ends with this segment (specification, section 9). */
export const basePath = '/v2';

export interface ServiceOptions {
  readonly data: MarketData;
  readonly now: () => EpochMs;
  readonly limits?: RangeLimits;
  /** Compress answers for clients that ask for it; true unless given. */
  readonly gzip?: boolean;
  /** The earliest moment whose history a request may see; null, or not given: all of it. */
  readonly visibleFrom?: (request: FastifyRequest, nowMs: EpochMs) => EpochMs | null;
  readonly log?: FastifyBaseLogger;
  /** Adds hooks of one's own; they run before the service's, and see answers before they are compressed. */
  readonly extend?: (app: FastifyInstance) => void;
}

/**
 * A Fastify app with every route of the interface under `/v2`, not listening yet.
 *
 * Errors are `{"error", "timestamp"}`: 400 for a bad parameter, 404 for an unknown id, market or path, 405 with
 * `Allow` for any method but GET and HEAD, 500 for a defect, which is logged and never shown.
 */
export function createService(options: ServiceOptions): FastifyInstance {
  const { data, now, limits = interfaceLimits, gzip = true, visibleFrom = () => null, log, extend } = options;
  const app = Fastify({
    ...(log === undefined ? {} : { loggerInstance: log }),
    forceCloseConnections: true,
    // Longer than any id, percent-encoding included.
    routerOptions: { maxParamLength: 2000 },
    frameworkErrors: (error: FastifyError, _request: unknown, reply: FastifyReply) => {
      const status = error.statusCode ?? 400;
      reply.code(status).type('application/json; charset=utf-8');
      return reply.send(errorBody(status === 414 ? 'path too long' : 'bad path', now()));
    },
  });

  extend?.(app);
  if (gzip) addCompression(app);
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET' || request.method === 'HEAD' || !isUnderBase(request.url)) return;
    reply.code(405).header('allow', 'GET, HEAD').type('application/json; charset=utf-8');
    return reply.send(errorBody('method not allowed', now()));
  });

  app.setErrorHandler((error: FastifyError | ServiceRefusal, request, reply) => {
    reply.type('application/json; charset=utf-8');
    if (error instanceof ServiceRefusal)
      return reply.code(error.status).send(errorBody(error.message, now()));
    if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
      return reply.code(error.statusCode).send(errorBody('bad request', now()));
    }
    request.log.error({ err: error }, 'an answer failed');
    return reply.code(500).send(errorBody('internal error', now()));
  });

  app.setNotFoundHandler((_request, reply) => {
    reply.code(404).type('application/json; charset=utf-8');
    return reply.send(errorBody('not found', now()));
  });

  app.register(async (routes) => addRoutes(routes, { data, now, limits, visibleFrom }), { prefix: basePath });
  return app;
}

function isUnderBase(url: string): boolean {
  return url === basePath || url.startsWith(`${basePath}/`) || url.startsWith(`${basePath}?`);
}
