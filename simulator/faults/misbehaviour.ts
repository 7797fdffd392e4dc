/** Adds rate limits and faults to a service by hooks. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { basePath, bearerKey } from '../../service/request.ts';
import { errorBody } from '../../service/response.ts';
import { pathTemplates } from '../../v2/paths.ts';
import type { LoggedRequest, RateLimit, RequestLog } from '../requests.ts';
import type { BanAnswer, createBans } from './bans.ts';
import { cachedForMs, type FaultDealer, type FaultKind, type Faults, type RateLimitHeader } from './faults.ts';

interface Parts {
  readonly clock: Clock;
  /** What the service says, which may be wrong. */
  readonly served: ServiceClock;
  readonly dealer: FaultDealer;
  readonly log: RequestLog;
  readonly answers: SourceAnswers;
}

/** How a simulated source refuses and fails. */
export interface SourceAnswers {
  /** What a request uses of the source's limit. */
  readonly costOf: (request: FastifyRequest) => number;
  /** Counts a request against the limits; sends the refusal, or returns null. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | null;
  /** Sends a refusal that ends at `freeAtMs`. */
  readonly refuse: (reply: FastifyReply, freeAtMs: EpochMs) => FastifyReply;
  /** The body of a 500. */
  readonly failure: () => string;
  /** Sends an empty list; undefined: the route gives it. */
  readonly empty: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;
}

const singles: readonly string[] = [pathTemplates.asset, pathTemplates.exchange, pathTemplates.rate];
const htmlPage = '<!doctype html><html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>';

/** @returns the fault of a request. */
export function addFaults(
  app: FastifyInstance,
  { clock, served, dealer, log, answers }: Parts,
): (request: FastifyRequest) => FaultKind | null {
  const logged = new WeakMap<FastifyRequest, LoggedRequest>();

  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url;
    const entry = log.addRequest(clock.now(), request.url, route ?? 'unknown', answers.costOf(request));
    logged.set(request, entry);
    if (dealer.faults.answerForm === 'cached') reply.header('age', String(cachedForMs / 1000));
    const refusal = answers.admit(request, reply);
    if (refusal !== null) {
      log.addRefusal();
      return refusal;
    }
    const fault = route === undefined ? null : dealer.draw();
    if (dealer.faults.latencyMs > 0) await clock.sleep(dealer.faults.latencyMs);
    if (fault === null || (fault === 'empty' && isSingle(route))) return;
    log.addFault(entry, fault);
    return misbehave(request, reply, fault);
  });

  app.addHook('onRequest', (request, _reply, done) => {
    if (logged.get(request)?.fault === 'stale') served.runBehind(dealer.faults.staleMs, done);
    else done();
  });

  app.addHook('onSend', async (request, _reply, payload) => {
    const isCut = logged.get(request)?.fault === 'truncate' && Buffer.isBuffer(payload);
    return isCut ? payload.subarray(0, Math.floor(payload.length / 2)) : payload;
  });

  app.addHook('onResponse', async (request, reply) => {
    const entry = logged.get(request);
    const isWhole = entry?.fault !== 'timeout' && entry?.fault !== 'drip' && entry?.fault !== 'reset';
    if (entry !== undefined && isWhole) log.addResponse(entry, reply.statusCode);
  });

  function misbehave(request: FastifyRequest, reply: FastifyReply, fault: FaultKind): FastifyReply | undefined {
    switch (fault) {
      case 'error':
        return reply.code(500).type('application/json').send(answers.failure());
      case 'html':
        return reply.code(200).type('text/html').send(htmlPage);
      case 'not_found':
        return reply.code(404).type('text/plain').send('404 page not found');
      case 'empty':
        return answers.empty(request, reply);
      case 'rate_limit':
        log.addRefusal();
        return answers.refuse(reply, clock.now() + dealer.faults.rateLimitResetMs);
      case 'timeout':
        // Never answered: Fastify gives up control, and closing the service closes the connection.
        return reply.hijack();
      case 'reset':
        sendCutOff(reply.raw);
        return reply.hijack();
      case 'drip':
        sendDrip(reply.raw, clock);
        return reply.hijack();
      case 'huge':
        void sendHuge(reply.raw, dealer.faults.hugeBytes);
        return reply.hijack();
      case 'truncate':
      case 'stale':
        return undefined;
    }
  }

  return (request) => logged.get(request)?.fault ?? null;
}

/** The answers of the Market Data Service. */
export function serviceAnswers({
  clock,
  served,
  dealer,
  bans,
  rateLimit,
}: Omit<Parts, 'log' | 'answers'> & {
  readonly bans: ReturnType<typeof createBans>;
  readonly rateLimit: RateLimit;
}): SourceAnswers {
  /** The body is plain text, as in the field. */
  const refusal = (limit: number | null, inMs: number): BanAnswer => ({
    status: 429,
    headers: retryHeaders(dealer.faults.rateLimitHeader, inMs, served.now() + inMs),
    body: `You exceeded your ${limit ?? 'current'} request(s) rate limit of your FREE plan`,
  });
  const send = (reply: FastifyReply, { status, headers = {}, body }: BanAnswer): FastifyReply =>
    reply.code(status).headers(headers).type('text/plain').send(body);
  return {
    costOf: () => 1,
    admit(request, reply) {
      const key = bearerKey(request.headers.authorization);
      const freeAtMs = rateLimit.admit(key, request.ip, clock.now());
      const ban = bans.answer((inMs) => refusal(null, inMs));
      if (ban !== null) return send(reply, ban);
      return freeAtMs === null ? null : send(reply, refusal(rateLimit.limitOf(key), freeAtMs - clock.now()));
    },
    refuse: (reply, freeAtMs) => send(reply, refusal(null, freeAtMs - clock.now())),
    failure: () => errorBody('internal server error', served.now()),
    empty: (_request, reply) =>
      reply.code(200).type('application/json').send(`{"data":[],"timestamp":${served.now()}}`),
  };
}

function retryHeaders(form: RateLimitHeader, inMs: number, atMs: EpochMs): Record<string, string> {
  switch (form) {
    case 'reset':
      return { 'X-Ratelimit-Reset': String(Math.ceil(atMs / 1000)) };
    case 'seconds':
      return { 'Retry-After': String(Math.ceil(inMs / 1000)) };
    case 'date':
      return { 'Retry-After': new Date(Math.ceil(atMs / 1000) * 1000).toUTCString() };
    case 'none':
      return {};
  }
}

function isSingle(route: string | undefined): boolean {
  return route !== undefined && singles.includes(route.slice(basePath.length));
}

const headers = { 'content-type': 'application/json; charset=utf-8' };
const beginning = '{"data":[';
const dripEveryMs = 50;
const chunkBytes = 65_536;

/** Resets the connection after the first bytes of the body. */
function sendCutOff(response: ServerResponse): void {
  response.writeHead(200, { ...headers, 'content-length': chunkBytes });
  response.write(beginning, () => response.destroy());
}

/** Sends a byte at intervals until the client disconnects or the service closes. */
function sendDrip(response: ServerResponse, clock: Clock): void {
  response.writeHead(200, headers);
  response.write(beginning);
  const drip = clock.every(dripEveryMs, () => void response.write(' '));
  response.on('error', () => {}).on('close', () => drip.stop());
}

/** Sends an empty list in `bytes`, as fast as the client reads it. */
async function sendHuge(response: ServerResponse, bytes: number): Promise<void> {
  response.writeHead(200, headers);
  const end = '],"timestamp":0}';
  function* body(): Generator<Buffer> {
    yield Buffer.from(beginning);
    const space = Buffer.alloc(chunkBytes, ' ');
    for (let left = bytes - beginning.length - end.length; left > 0; left -= chunkBytes) {
      yield left < chunkBytes ? space.subarray(0, left) : space;
    }
    yield Buffer.from(end);
  }
  // The client may disconnect before the end.
  await pipeline(Readable.from(body()), response).catch(() => {});
}

export type ServiceClock = ReturnType<typeof serviceClock>;

/**
 * The clock of the service's data and timestamps.
 *
 * @param clock the true one; the faults set the offset of the service's clock.
 */
export function serviceClock(clock: Clock, faults: () => Faults) {
  const behind = new AsyncLocalStorage<number>();
  return {
    ...clock,
    now: (): EpochMs => clock.now() + faults().clockOffsetMs - (behind.getStore() ?? 0),
    /** Calls `work`; within it and its asynchronous calls the clock is `ms` further behind. */
    runBehind: (ms: number, work: () => void): void => behind.run(ms, work),
  };
}
