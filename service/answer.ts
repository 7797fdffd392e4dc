/** An answer of the interface: its body, its coverage, and what caches need. */

import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { coverageHeader, writeCoverage } from '../contract/coverage-header.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { JsonText, SeriesAnswer } from './market-data.ts';
import { renderEnd } from './render.ts';

/** How long a copy may be shown for the present, seconds: less than the shortest time between two polls of anything. */
const maxAgeSeconds = 5;

/** An answer but for its timestamp. */
export interface PreparedAnswer {
  /** The JSON text of its data, encoded: a socket and a hash would each do so by themselves, and slowly. */
  readonly rows: Buffer;
  readonly tag: string;
  /** As its header has it. */
  readonly coverage: string | undefined;
}

export function prepareAnswer(answer: JsonText | SeriesAnswer): PreparedAnswer {
  const { rows, coverage } = typeof answer === 'string' ? { rows: answer, coverage: undefined } : answer;
  const encoded = Buffer.from(rows);
  const known = coverage === undefined ? undefined : writeCoverage(coverage);
  return { rows: encoded, tag: entityTag(encoded, known), coverage: known };
}

/** Sends the answer, or 304 to who has it already. */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { rows, tag, coverage }: PreparedAnswer,
  nowMs: EpochMs,
): FastifyReply {
  reply.header('etag', tag).header('cache-control', `public, max-age=${maxAgeSeconds}`);
  if (coverage !== undefined) reply.header(coverageHeader, coverage);
  if (matches(request.headers['if-none-match'], tag)) return reply.code(304).send();
  reply.type('application/json; charset=utf-8');
  return reply.send(Buffer.concat([beforeRows, rows, Buffer.from(renderEnd(nowMs))]));
}

const beforeRows = Buffer.from('{"data":');

/** Weak: two answers with the same data are the same to a client, though each has its own timestamp. */
function entityTag(rows: Buffer, coverage: string | undefined): string {
  const digest = hash('sha1', rows, 'base64url');
  return coverage === undefined ? `W/"${digest}"` : `W/"${digest}.${hash('sha1', coverage, 'base64url')}"`;
}

/** By weak comparison (RFC 9110, 13.1.2): a strong form of the tag, as a proxy may make it, is the same one. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const opaque = tag.slice(2);
  return header.split(',').some((entry) => entry.trim().replace(/^W\//, '') === opaque);
}
