/** Files of the build, such as scripts, that the service sends to browsers. They are read once. */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

interface BuiltFile {
  readonly body: Buffer;
  readonly type: string;
  /** Of the content. */
  readonly tag: string;
}

/** @throws Error when the file has not been built. */
export function readBuiltFile(directory: string, name: string): BuiltFile {
  const body = readFileSync(join(directory, name));
  return {
    body,
    type: types[extname(name)] ?? 'application/octet-stream',
    tag: `W/"${hash('sha1', body, 'base64url')}"`,
  };
}

/** Browsers revalidate each time, so that a new version takes effect at once. */
export function sendBuiltFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, type, tag }: BuiltFile,
): FastifyReply {
  reply.header('etag', tag).header('cache-control', 'private, no-cache');
  if (request.headers['if-none-match'] === tag) return reply.code(304).send();
  return reply.type(type).send(body);
}
