/**
 * Security and CORS headers: browsers must not frame, sniff or script responses; scripts of any site may read the data.
 */

import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { coverageHeader, derivedFromHeader } from '../contract/coverage-header.ts';
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

/** An HTML page without scripts. Title and style are ours; `content` is escaped already. */
export interface Page {
  readonly title: string;
  readonly style: string;
  readonly content: string;
}

/** Sends a page. Its policy allows the one inline style sheet, by its hash, and no scripts. */
export function sendPage(reply: FastifyReply, status: number, { title, style, content }: Page): FastifyReply {
  const styleHash = hash('sha256', style, 'base64');
  reply.header(
    'content-security-policy',
    `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  );
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><style>${style}</style></head>
<body><h1>${title}</h1>
${content}
</body></html>
`);
}

/** Escapes text for HTML content and attributes. */
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
