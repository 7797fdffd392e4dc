/**
 * Authenticates requests by key and limits the requests of a rolling minute.
 *
 * A request with a valid key counts toward the key. Every other request counts toward its address. A request with an
 * unknown or revoked key counts toward its address too and gets a 401, so guessing keys uses up the guesser's budget.
 * A refused request does not count.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../clock.ts';
import { minuteMs } from '../../model/intervals.ts';
import { type CountedRequest, isKeyShaped } from '../keys.ts';
import { bearerKey } from '../request.ts';
import { ServiceRefusal } from '../response.ts';
import { addressCaller } from './address.ts';
import type { RequestCounter } from './request-counter.ts';

export interface AdmissionOptions {
  readonly counter: RequestCounter;
  /** The id of an issued key; null when the key is unknown. */
  readonly keyOf: (key: string) => Promise<number | null>;
  /** Requests in a rolling minute; 0: unlimited. */
  readonly perMinute: { readonly withoutKey: number; readonly withKey: number };
  readonly clock: Clock;
}

export function createAdmission({ counter, keyOf, perMinute, clock }: AdmissionOptions) {
  const idOf = knownKeys(keyOf, clock);
  const withKey = new WeakSet<FastifyRequest>();

  async function count(reply: FastifyReply, caller: string, limit: number): Promise<void> {
    if (limit === 0) return;
    const counted = await counter.count(caller, limit);
    setLimitHeaders(reply, limit, counted);
    if (counted.admitted) return;
    const waitSeconds = Math.max(1, Math.ceil((counted.oldestMs + minuteMs - counted.nowMs) / 1000));
    reply.header('retry-after', waitSeconds);
    throw new ServiceRefusal(429, `over the limit of ${limit} requests a minute`);
  }

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const key = bearerKey(request.headers.authorization);
    const id = key === null || !isKeyShaped(key) ? null : await idOf(key);
    if (id !== null) {
      withKey.add(request);
      return count(reply, `key ${id}`, perMinute.withKey);
    }
    await count(reply, addressCaller(request.ip), perMinute.withoutKey);
    if (!isBearer(request.headers.authorization)) return;
    reply.header('www-authenticate', 'Bearer');
    throw new ServiceRefusal(401, 'unknown or revoked key');
  }

  return {
    /** Checks and counts every request for which `counts` is true. */
    addTo: (app: FastifyInstance, counts: (request: FastifyRequest) => boolean) =>
      void app.addHook('onRequest', async (request, reply) => {
        if (counts(request)) await admit(request, reply);
      }),
    /** Whether the request had a valid key. */
    hasKey: (request: FastifyRequest) => withKey.has(request),
  };
}

/** `Reset` is the time in epoch seconds at which the next request becomes available, as other services send it. */
function setLimitHeaders(reply: FastifyReply, limit: number, { used, oldestMs }: CountedRequest): void {
  reply
    .header('x-ratelimit-limit', limit)
    .header('x-ratelimit-remaining', Math.max(0, limit - used))
    .header('x-ratelimit-reset', Math.ceil((oldestMs + minuteMs) / 1000));
}

/** True for a bearer header with an empty or malformed key too: its sender gets a 401, not an anonymous response. */
function isBearer(header: string | undefined): boolean {
  return /^bearer\b/i.test(header ?? '');
}

/** How long a revoked key may still be accepted. */
export const keyCacheMs = 2000;
/** Unknown keys are cached too, so the number is bounded. */
const maxKeys = 10_000;

/**
 * Caches key lookups: a client sends its key with every request.
 *
 * @param find returns the id of an issued key; null for any other text.
 */
export function knownKeys(
  find: (key: string) => Promise<number | null>,
  clock: Pick<Clock, 'now'>,
): (key: string) => Promise<number | null> {
  const cached = new LRUCache<string, Promise<number | null>>({
    max: maxKeys,
    ttl: keyCacheMs,
    ttlResolution: 0,
    perf: clock,
  });
  return (key) => {
    const known = cached.get(key);
    if (known !== undefined) return known;
    const id = find(key);
    cached.set(key, id);
    id.catch(() => cached.delete(key));
    return id;
  };
}
