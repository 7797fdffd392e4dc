/**
 * Security and CORS headers: browsers must not frame, sniff or script responses; scripts of any site may read the data.
 */

import type { FastifyInstance } from 'fastify';
import { coverageHeader, derivedFromHeader } from '../v2/coverage-header.ts';
import { replicaLagHeader } from './replica-lag.ts';
import { isInterfaceRequest } from './request.ts';

const everywhere = Object.freeze({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'strict-transport-security': 'max-age=31536000',
});

/** Response headers that scripts of other sites may read. */
const exposed = [
  ...['etag', coverageHeader, derivedFromHeader, replicaLagHeader, 'retry-after'],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
].join(', ');

/** Any origin is allowed: data is public, and browsers never send a key by themselves. */
export function addWebSecurity(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(everywhere);
    if (!isInterfaceRequest(request)) return;
    reply.header('vary', 'authorization');
    reply.headers({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': exposed,
      'cross-origin-resource-policy': 'cross-origin',
    });
    // A CORS preflight. Any other OPTIONS request is refused later.
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'];
    if (!isPreflight) return;
    reply.headers({
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'authorization, if-none-match',
      'access-control-max-age': 86_400,
    });
    return reply.code(204).send();
  });
}
