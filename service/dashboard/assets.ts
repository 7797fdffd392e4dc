/** Serves the page's files from the build. They are read once; their ETags are content hashes. */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const types = {
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'licences.txt': 'text/plain; charset=utf-8',
} as const;

/** Allows files of this origin only, and nothing inline. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // No library may turn text into HTML or a script.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** @returns adds the routes of the page. @throws Error when the page has not been built. */
export function readAssets(directory: string): (scope: FastifyInstance) => void {
  const read = (name: string) => {
    const body = readFileSync(join(directory, name));
    return { body, tag: `W/"${hash('sha1', body, 'base64url')}"` };
  };
  const page = read('index.html');
  const files = Object.entries(types).map(([name, type]) => ({ name, type, ...read(name) }));
  return (scope) => {
    scope.get('/', async (request, reply) =>
      send(request, reply.header('content-security-policy', policy), page, 'text/html; charset=utf-8'),
    );
    for (const { name, type, ...file } of files)
      scope.get(`/dashboard/${name}`, async (request, reply) => send(request, reply, file, type));
  };
}

/** Browsers revalidate each time, so that a new version takes effect at once. */
function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, tag }: { body: Buffer; tag: string },
  type: string,
): FastifyReply {
  reply.header('etag', tag).header('cache-control', 'private, no-cache');
  if (request.headers['if-none-match'] === tag) return reply.code(304).send();
  return reply.type(type).send(body);
}
