/** The read-only Market Data Service over HTTP, whoever holds the data. */

import type { Socket } from 'node:net';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { EpochMs } from '../contract/intervals.ts';
import type { MemorySettings } from './answer-memory.ts';
import { isBadValue, isUnavailable } from './availability.ts';
import { addCompression } from './compression.ts';
import type { MarketData } from './market-data.ts';
import { interfaceLimits, type RangeLimits } from './ranges.ts';
import { errorBody, ServiceRefusal } from './refusals.ts';
import { addRoutes } from './routes.ts';
import { basePath, isOfInterface, plainTarget } from './target.ts';

/** How long a client may take, so that slow ones cannot hold what others need. */
export interface Patience {
  /** To send a whole request, counted from its first byte, or from the connection's beginning. */
  readonly requestMs: number;
  /** Without a byte in either direction, such as who does not read an answer. */
  readonly silentMs: number;
  /** Between two requests of a connection. */
  readonly keepAliveMs: number;
}

export interface ServiceOptions {
  readonly data: MarketData;
  readonly now: () => EpochMs;
  readonly limits?: RangeLimits;
  /** Compress answers for clients that ask for it; true unless given. */
  readonly gzip?: boolean;
  /** The earliest moment whose history a request may see; null, or not given: all of it. */
  readonly visibleFrom?: (request: FastifyRequest, nowMs: EpochMs) => EpochMs | null;
  /** Answers to give again for a moment; none unless given. */
  readonly memory?: MemorySettings;
  /** Proxies in front, whose `X-Forwarded-For` is believed; none unless given. */
  readonly trustedProxies?: number;
  /** Absent: as Node has it. */
  readonly patience?: Patience;
  /** What closing does to answers under way: `end` them, as given, or let them `finish`. */
  readonly onClose?: 'end' | 'finish';
  readonly log?: FastifyBaseLogger;
  /** Adds hooks and routes of one's own; hooks run before the service's, and see answers before they are compressed. */
  readonly extend?: (app: FastifyInstance) => void;
}

/**
 * A Fastify app with every route of the interface under `/v2`, not listening yet.
 *
 * Errors are `{"error", "timestamp"}`: 400 for a bad parameter, 404 for an unknown id, market or path, 405 with
 * `Allow` for any method but GET and HEAD, 503 where the store is away or too slow, 500 for a defect, which is logged
 * and never shown.
 */
export function createService(options: ServiceOptions): FastifyInstance {
  const { data, now, limits = interfaceLimits, gzip = true, visibleFrom = () => null } = options;
  const {
    log,
    extend,
    trustedProxies = 0,
    patience,
    memory = { forMs: 0, mostBytes: 0 },
    onClose = 'end',
  } = options;
  const app = Fastify({
    ...(log === undefined ? {} : { loggerInstance: log }),
    // A line a request would be most of the log; the answers that fail have their own.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: onClose === 'end' ? true : 'idle',
    // What was sent before the end is answered.
    return503OnClosing: false,
    // Who is asked for whom: the socket's address, then those that proxies have added, from the last one backwards.
    ...(trustedProxies > 0 ? { trustProxy: (_address: string, hop: number) => hop < trustedProxies } : {}),
    ...(patience === undefined ? {} : timeoutsOf(patience)),
    // The service takes no bodies but a form's.
    bodyLimit: 16_384,
    rewriteUrl: ({ url = '/' }) => plainTarget(url),
    // Longer than any id, percent-encoding included.
    routerOptions: { maxParamLength: 2000 },
    frameworkErrors: (error: FastifyError, _request: unknown, reply: FastifyReply) => {
      const status = error.statusCode ?? 400;
      reply.code(status).type('application/json; charset=utf-8');
      return reply.send(errorBody(status === 414 ? 'path too long' : 'bad path', now()));
    },
    clientErrorHandler: (error, socket) => refuseUnread(error, socket, now()),
  });

  extend?.(app);
  if (gzip) addCompression(app);
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET' || request.method === 'HEAD' || !isOfInterface(request)) return;
    reply.code(405).header('allow', 'GET, HEAD').type('application/json; charset=utf-8');
    return reply.send(errorBody('method not allowed', now()));
  });

  app.setErrorHandler((error: FastifyError | ServiceRefusal, request, reply) => {
    reply.type('application/json; charset=utf-8').header('cache-control', 'no-store');
    const answer = (status: number, message: string) => reply.code(status).send(errorBody(message, now()));
    if (error instanceof ServiceRefusal) return answer(error.status, error.message);
    if (isBadValue(error)) return answer(400, 'bad request');
    if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
      return answer(error.statusCode, 'bad request');
    }
    if (isUnavailable(error)) {
      request.log.warn({ cause: error.message }, 'the store is away, or too slow');
      reply.header('retry-after', 5);
      return answer(503, 'not available at the moment');
    }
    request.log.error({ err: error }, 'an answer failed');
    return answer(500, 'internal error');
  });

  app.setNotFoundHandler((_request, reply) => {
    reply.code(404).type('application/json; charset=utf-8').header('cache-control', 'no-store');
    return reply.send(errorBody('not found', now()));
  });

  app.register(async (routes) => addRoutes(routes, { data, now, limits, memory, visibleFrom }), {
    prefix: basePath,
  });
  return app;
}

function timeoutsOf({ requestMs, silentMs, keepAliveMs }: Patience) {
  return {
    requestTimeout: requestMs,
    connectionTimeout: silentMs,
    keepAliveTimeout: keepAliveMs,
    http: { headersTimeout: requestMs, connectionsCheckingInterval: Math.min(requestMs, 5000) },
  };
}

const unread: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'address or headers too long'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request took too long'],
};

/** What is no HTTP request, too large or too slow never becomes one; it is answered on the socket, which is closed. */
function refuseUnread(error: NodeJS.ErrnoException, socket: Socket, timestampMs: EpochMs): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, reason, message] = unread[error.code ?? ''] ?? [400, 'Bad Request', 'bad request'];
  const body = errorBody(message, timestampMs);
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
