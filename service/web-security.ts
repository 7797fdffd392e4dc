/**
 * Headers that browsers go by: nothing of the service is to be framed, sniffed or scripted; its data anyone may read.
 */

import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { coverageHeader } from '../contract/coverage-header.ts';
import { isOfInterface } from './target.ts';

const everywhere = Object.freeze({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'strict-transport-security': 'max-age=31536000',
});

/** What scripts of other sites may read beside the body. */
const exposed = [
  ...['etag', coverageHeader, 'retry-after'],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
].join(', ');

/** Data is public, and a key is sent by hand and not by a browser: any site's scripts may read answers. */
export function addWebSecurity(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(everywhere);
    if (!isOfInterface(request)) return;
    reply.header('vary', 'authorization');
    reply.headers({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': exposed,
      'cross-origin-resource-policy': 'cross-origin',
    });
    // A browser asks so before it sends a key. No other OPTIONS is answered.
    const asks = request.method === 'OPTIONS' && request.headers['access-control-request-method'];
    if (!asks) return;
    reply.headers({
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'authorization, if-none-match',
      'access-control-max-age': 86_400,
    });
    return reply.code(204).send();
  });
}

/** A page of the service: its one style sheet is named by its hash, and there are no scripts. */
export function sendPage(reply: FastifyReply, status: number, html: string, style: string): FastifyReply {
  const styleHash = hash('sha256', style, 'base64');
  reply.header(
    'content-security-policy',
    `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  );
  return reply.code(status).type('text/html; charset=utf-8').send(html);
}

/** Text as HTML shows it, in an attribute too. */
export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (character) => names[character] ?? character);
}
