/** The read-only Market Data Service over HTTP, for any implementation of `MarketData`. */

import type { Socket } from 'node:net';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Clock } from '../clock.ts';
import type { EpochMs } from '../model/intervals.ts';
import { longestRangeMs } from '../model/request-range.ts';
import { isBadValue, isUnavailable } from '../store/db/failure.ts';
import { addCompression } from './compression.ts';
import type { MarketData } from './market-data.ts';
import type { Pages } from './pages/pages.ts';
import type { RangeLimits } from './ranges.ts';
import { basePath, hasTwoHosts, isInterfaceRequest, normalizeTarget } from './request.ts';
import { errorBody, ServiceRefusal } from './response.ts';
import type { CacheSettings } from './response-cache.ts';
import { addRoutes } from './routes.ts';

/** Timeouts for clients, so that slow ones cannot exhaust connections. */
export interface ServiceTimeouts {
  /** For a whole request, from its first byte or the start of the connection. */
  readonly requestMs: number;
  /** For a request's headers, counted alike. Defaults to `requestMs`. */
  readonly headersMs?: number;
  /** Without a byte in either direction, for example when the client does not read the response. */
  readonly silentMs: number;
  /** Between two requests on a connection. */
  readonly keepAliveMs: number;
}

interface ServiceOptions {
  readonly data: MarketData;
  readonly clock: Clock;
  /** Default: the interface's. */
  readonly limits?: RangeLimits | undefined;
  /** The start of the history that a request may read; null or absent: all of it. */
  readonly visibleFrom?: (request: FastifyRequest, nowMs: EpochMs) => EpochMs | null;
  /** The response cache. Absent: no cache. */
  readonly cache?: CacheSettings;
  /** Number of trusted proxies in front, for `X-Forwarded-For`. Default: 0. */
  readonly trustedProxies?: number;
  /** Absent: Node's defaults. */
  readonly timeouts?: ServiceTimeouts;
  /** Whether closing aborts pending responses (`end`, the default) or waits for them (`finish`). */
  readonly onClose?: 'end' | 'finish';
  readonly log?: FastifyBaseLogger;
  /** Sends an error as a page. Absent, or null: as JSON. */
  readonly sendError?: Pages['sendError'];
  /** Adds hooks and routes. The hooks run before the service's hooks and see uncompressed responses. */
  readonly extend?: (app: FastifyInstance) => void;
}

/**
 * Creates a Fastify app with every route of the interface under `/v2`. It does not listen yet.
 *
 * Errors are `{"error", "timestamp"}`, or pages for browsers outside of the interface: 400 for an invalid parameter,
 * 404 for an unknown id, market or path, 405 with `Allow` for methods that the path does not have, 503 when the store
 * is unavailable or too slow, 500 for a defect, whose details are only logged.
 */
export function createService(options: ServiceOptions): FastifyInstance {
  const { data, clock, limits = longestRangeMs, visibleFrom = () => null } = options;
  const {
    log,
    extend,
    trustedProxies = 0,
    timeouts,
    cache = { forMs: 0, maxBytes: 0 },
    onClose = 'end',
    sendError = () => null,
  } = options;
  const app = Fastify({
    ...(log === undefined ? {} : { loggerInstance: log }),
    // One line per request would drown the log. Failures are logged by the error handler.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: onClose === 'end' ? true : 'idle',
    // Requests that arrive before the shutdown completes get their responses.
    return503OnClosing: false,
    // Fastify asks for the socket's address first, then for the forwarded ones from the last backwards.
    ...(trustedProxies > 0 ? { trustProxy: (_address: string, hop: number) => hop < trustedProxies } : {}),
    ...(timeouts === undefined ? {} : timeoutOptions(timeouts)),
    // The only bodies are those of the key form.
    bodyLimit: 16_384,
    rewriteUrl: ({ url = '/' }) => normalizeTarget(url),
    // Longer than any percent-encoded id.
    routerOptions: { maxParamLength: 2000 },
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      const status = error.statusCode ?? 400;
      return refuse(request, reply, status, status === 414 ? 'path too long' : 'bad path');
    },
    clientErrorHandler: (error, socket) => refuseUnparsed(error, socket, clock.now()),
  });

  const refuse = (request: FastifyRequest, reply: FastifyReply, status: number, message: string) => {
    reply.header('cache-control', 'no-store');
    const page = sendError(request, reply, status, message);
    if (page !== null) return page;
    return reply.code(status).type('application/json; charset=utf-8').send(errorBody(message, clock.now()));
  };
  // Before any other hook: the dashboard's redirect.
  app.addHook('onRequest', async (request, reply) => {
    if (hasTwoHosts(request.raw)) return refuse(request, reply, 400, 'give one Host header');
  });
  extend?.(app);
  addCompression(app);
  app.addHook('onRequest', async (request, reply) => {
    const allowed = allowedMethods(app, request);
    if (allowed.length === 0 || allowed.includes(request.method)) return;
    reply.header('allow', allowed.join(', '));
    return refuse(request, reply, 405, 'method not allowed');
  });

  app.setErrorHandler((error: FastifyError | ServiceRefusal, request, reply) => {
    const answer = (status: number, message: string) => refuse(request, reply, status, message);
    if (error instanceof ServiceRefusal) return answer(error.status, error.message);
    if (isBadValue(error)) return answer(400, 'bad request');
    if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
      return answer(error.statusCode, 'bad request');
    }
    if (isUnavailable(error)) {
      request.log.warn({ cause: error.message }, 'store unavailable or too slow');
      reply.header('retry-after', 5);
      return answer(503, 'not available at the moment');
    }
    request.log.error({ err: error }, 'request failed');
    return answer(500, 'internal error');
  });

  app.setNotFoundHandler((request, reply) => {
    const [, page = '', query = ''] = /^\/([\w-]+)\/(\?.*)?$/.exec(request.url) ?? [];
    // Relative, as a proxy may serve all of this below a path of its own.
    if (page !== '' && app.hasRoute({ method: 'GET', url: `/${page}` }))
      return reply.redirect(`../${page}${query}`, 308);
    return refuse(request, reply, 404, 'not found');
  });

  app.register(async (routes) => addRoutes(routes, { data, clock, limits, cache, visibleFrom }), { prefix: basePath });
  return app;
}

/** Methods of the path, any path of the interface included; none for a request that has a route, or an unknown path. */
function allowedMethods(app: FastifyInstance, request: FastifyRequest): string[] {
  if (isInterfaceRequest(request)) return ['GET', 'HEAD'];
  if (!request.is404) return [];
  const [url = '/'] = request.url.split('?', 1);
  return ['GET', 'HEAD', 'POST'].filter((method) => app.hasRoute({ method, url }));
}

function timeoutOptions({ requestMs, headersMs = requestMs, silentMs, keepAliveMs }: ServiceTimeouts) {
  return {
    requestTimeout: requestMs,
    connectionTimeout: silentMs,
    keepAliveTimeout: keepAliveMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: Math.min(headersMs, 1000) },
  };
}

const unparsedErrors: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'address or headers too long'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request took too long'],
};

/** Responds on the socket to a request that is malformed, too large or too slow, and closes the connection. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket, timestampMs: EpochMs): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, reason, message] = unparsedErrors[error.code ?? ''] ?? [400, 'Bad Request', 'bad request'];
  const body = errorBody(message, timestampMs);
  socket.write(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // A slow client may never close its side. Other clients may still be sending and need time to read the response.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroySoon();
  else socket.end();
}
