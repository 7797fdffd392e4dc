/** An answer of the interface: its body, its coverage, and what caches need. */

import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EpochMs } from '../contract/intervals.ts';
import type { Coverage, JsonText, SeriesAnswer } from './market-data.ts';
import { renderData } from './render.ts';

/** How long a copy may be shown for the present, seconds: less than the shortest time between two polls of anything. */
const maxAgeSeconds = 5;

/** Which share of an answer's range is known, and how many ranges are missing; docs/service.md. */
export const coverageHeader = 'x-tidemark-coverage';

/** Sends `data`, or 304 to who has it already. */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: JsonText | SeriesAnswer,
  nowMs: EpochMs,
): FastifyReply {
  const { rows, coverage } = typeof answer === 'string' ? { rows: answer, coverage: undefined } : answer;
  const tag = entityTag(rows, coverage);
  reply.header('etag', tag).header('cache-control', `public, max-age=${maxAgeSeconds}`);
  if (coverage !== undefined) reply.header(coverageHeader, coverageText(coverage));
  if (matches(request.headers['if-none-match'], tag)) return reply.code(304).send();
  return reply.type('application/json; charset=utf-8').send(renderData(rows, nowMs));
}

function coverageText({ share, gaps }: Coverage): string {
  return `share=${share}, gaps=${gaps}`;
}

/** Weak: two answers with the same data are the same to a client, though each has its own timestamp. */
function entityTag(rows: JsonText, coverage: Coverage | undefined): string {
  const content = coverage === undefined ? rows : `${coverageText(coverage)} ${rows}`;
  return `W/"${hash('sha1', content, 'base64url')}"`;
}

/** By weak comparison (RFC 9110, 13.1.2): a strong form of the tag, as a proxy may make it, is the same one. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const opaque = tag.slice(2);
  return header.split(',').some((entry) => entry.trim().replace(/^W\//, '') === opaque);
}
