/**
 * Who asks, and whether they may: keys, and the limits of requests in a rolling minute.
 *
 * With a key a request counts for the key, wherever it comes from. Without one it counts for its address, and so does
 * one whose key is unknown or revoked, which is refused with 401: guessing keys costs a guesser their own budget.
 * A refused request does not count.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type EpochMs, minuteMs } from '../../contract/intervals.ts';
import { isKeyShaped } from '../../store/keys.ts';
import { bearerKey } from '../bearer.ts';
import { ServiceRefusal } from '../refusals.ts';
import { addressCaller } from './address.ts';
import { KnownKeys } from './known-keys.ts';
import type { CountedRequest, RequestCounter } from './request-counter.ts';

export interface AdmissionOptions {
  readonly counter: RequestCounter;
  /** The id of an issued key; null: there is none. */
  readonly keyOf: (key: string) => Promise<number | null>;
  /** Requests in a rolling minute; 0: without limit. */
  readonly perMinute: { readonly withoutKey: number; readonly withKey: number };
  readonly now: () => EpochMs;
}

export interface Admission {
  /** Checks and counts every request that `counts` holds for, from here on. */
  addTo(app: FastifyInstance, counts: (request: FastifyRequest) => boolean): void;
  /** Whether the request came with a key that is issued. */
  hasKey(request: FastifyRequest): boolean;
}

export function createAdmission({ counter, keyOf, perMinute, now }: AdmissionOptions): Admission {
  const keys = new KnownKeys(keyOf, now);
  const withKey = new WeakSet<FastifyRequest>();

  async function count(reply: FastifyReply, caller: string, limit: number): Promise<void> {
    if (limit === 0) return;
    const counted = await counter.count(caller, limit);
    tellLimit(reply, limit, counted);
    if (counted.admitted) return;
    const waitSeconds = Math.max(1, Math.ceil((counted.oldestMs + minuteMs - counted.nowMs) / 1000));
    reply.header('retry-after', waitSeconds);
    throw new ServiceRefusal(429, `over the limit of ${limit} requests a minute`);
  }

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const key = bearerKey(request.headers.authorization);
    const id = key === null || !isKeyShaped(key) ? null : await keys.idOf(key);
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
    addTo: (app, counts) =>
      void app.addHook('onRequest', async (request, reply) => {
        if (counts(request)) await admit(request, reply);
      }),
    hasKey: (request) => withKey.has(request),
  };
}

/** As in the field, `Reset` is in seconds since 1970: when a request more will be free than are now. */
function tellLimit(reply: FastifyReply, limit: number, { used, oldestMs }: CountedRequest): void {
  reply
    .header('x-ratelimit-limit', limit)
    .header('x-ratelimit-remaining', Math.max(0, limit - used))
    .header('x-ratelimit-reset', Math.ceil((oldestMs + minuteMs) / 1000));
}

/** Also one without a key, or with something that no key can be: who means to send one learns that it is not known. */
function isBearer(header: string | undefined): boolean {
  return /^bearer\b/i.test(header ?? '');
}
