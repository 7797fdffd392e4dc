/** Limits and faults as hooks around a service: what comes between a request and its honest answer. */

import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { EpochMs } from '../contract/intervals.ts';
import { pathTemplates } from '../contract/paths.ts';
import { bearerKey } from '../service/bearer.ts';
import { errorBody } from '../service/refusals.ts';
import { basePath } from '../service/target.ts';
import { sendCutOff, sendDrip, sendHuge } from './broken-bodies.ts';
import type { FaultDealer, FaultKind, RateLimitHeader } from './faults.ts';
import type { RateLimit } from './rate-limit.ts';
import type { LoggedRequest, RequestLog } from './request-log.ts';
import type { ServiceClock } from './service-clock.ts';

interface Parts {
  readonly now: () => EpochMs;
  readonly clock: ServiceClock;
  readonly rateLimit: RateLimit;
  readonly dealer: FaultDealer;
  readonly log: RequestLog;
}

const singles: readonly string[] = [pathTemplates.asset, pathTemplates.exchange, pathTemplates.rate];
const htmlPage =
  '<!doctype html><html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>';

export function addMisbehaviour(app: FastifyInstance, { now, clock, rateLimit, dealer, log }: Parts): void {
  const logged = new WeakMap<FastifyRequest, LoggedRequest>();

  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions.url;
    const entry = log.arrived(now(), request.url, route ?? 'unknown');
    logged.set(request, entry);
    const key = bearerKey(request.headers.authorization);
    const freeAtMs = rateLimit.admit(key, request.ip, now());
    if (freeAtMs !== null) return refuse(reply, rateLimit.limitOf(key), freeAtMs);
    const fault = route === undefined ? null : dealer.draw();
    if (dealer.faults.latencyMs > 0) await wait(dealer.faults.latencyMs);
    if (fault === null || (fault === 'empty' && isSingle(route))) return;
    log.faulted(entry, fault);
    return misbehave(reply, fault);
  });

  app.addHook('onRequest', (request, _reply, done) => {
    if (logged.get(request)?.fault === 'stale') clock.runBehind(dealer.faults.staleMs, done);
    else done();
  });

  app.addHook('onSend', async (request, _reply, payload) => {
    const isCut = logged.get(request)?.fault === 'truncate' && Buffer.isBuffer(payload);
    return isCut ? payload.subarray(0, Math.floor(payload.length / 2)) : payload;
  });

  app.addHook('onResponse', async (request, reply) => {
    const entry = logged.get(request);
    const isWhole = entry?.fault !== 'timeout' && entry?.fault !== 'drip' && entry?.fault !== 'reset';
    if (entry !== undefined && isWhole) log.answered(entry, reply.statusCode);
  });

  function misbehave(reply: FastifyReply, fault: FaultKind): FastifyReply | undefined {
    switch (fault) {
      case 'error':
        return reply.code(500).type('application/json').send(errorBody('internal server error', clock.now()));
      case 'html':
        return reply.code(200).type('text/html').send(htmlPage);
      case 'not_found':
        return reply.code(404).type('text/plain').send('404 page not found');
      case 'empty':
        return reply.code(200).type('application/json').send(`{"data":[],"timestamp":${clock.now()}}`);
      case 'rate_limit':
        return refuse(reply, null, now() + dealer.faults.rateLimitResetMs);
      case 'timeout':
        // Taken out of Fastify's hands and never answered; closing the service ends the connection.
        return reply.hijack();
      case 'reset':
        sendCutOff(reply.raw);
        return reply.hijack();
      case 'drip':
        sendDrip(reply.raw);
        return reply.hijack();
      case 'huge':
        void sendHuge(reply.raw, dealer.faults.hugeBytes);
        return reply.hijack();
      case 'truncate':
      case 'stale':
        return undefined;
    }
  }

  /** In plain text, as in the field. */
  function refuse(reply: FastifyReply, limit: number | null, freeAtMs: EpochMs): FastifyReply {
    const inMs = freeAtMs - now();
    return reply
      .code(429)
      .headers(comeBack(dealer.faults.rateLimitHeader, inMs, clock.now() + inMs))
      .type('text/plain')
      .send(`You exceeded your ${limit ?? 'current'} request(s) rate limit of your FREE plan`);
  }
}

function comeBack(form: RateLimitHeader, inMs: number, atMs: EpochMs): Record<string, string> {
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
