/** Responses of the interface: the body, the coverage header, the headers for caches, and errors. */

import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EpochMs } from '../model/intervals.ts';
import { coverageHeader, derivedFromHeader, writeCoverage } from '../v2/coverage-header.ts';
import { arrowType } from './accepted.ts';
import type { JsonText, SeriesAnswer } from './market-data.ts';

/** Seconds a cached copy is fresh: less than the shortest poll interval. */
const maxAgeSeconds = 5;

/** The data of a response: JSON text, or a stream of Arrow. */
export interface Answer extends Omit<SeriesAnswer, 'rows'> {
  readonly rows: JsonText | Buffer;
}

/** A response without its timestamp. */
export interface PreparedAnswer {
  readonly isArrow: boolean;
  /** The data, as JSON encoded. Encoding it once serves the hash and the socket. */
  readonly rows: Buffer;
  readonly tag: string;
  /** The value of the coverage header. */
  readonly coverage: string | undefined;
  readonly derivedFrom: string | undefined;
}

export function prepareAnswer(answer: JsonText | Answer): PreparedAnswer {
  const { rows, coverage, derivedFrom }: Answer = typeof answer === 'string' ? { rows: answer } : answer;
  const isArrow = typeof rows !== 'string';
  const encoded = isArrow ? rows : Buffer.from(rows);
  const known = coverage === undefined ? undefined : writeCoverage(coverage);
  return { isArrow, rows: encoded, tag: entityTag(encoded, known), coverage: known, derivedFrom };
}

/** Sends the response, or 304 when the client's copy is current. */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { isArrow, rows, tag, coverage, derivedFrom }: PreparedAnswer,
  nowMs: EpochMs,
): FastifyReply {
  reply.header('etag', tag).header('cache-control', `public, max-age=${maxAgeSeconds}`);
  if (coverage !== undefined) reply.header(coverageHeader, coverage);
  if (derivedFrom !== undefined) reply.header(derivedFromHeader, derivedFrom);
  if (matches(request.headers['if-none-match'], tag)) return reply.code(304).send();
  if (isArrow) return reply.type(arrowType).send(rows);
  reply.type('application/json; charset=utf-8');
  return reply.send(Buffer.concat([beforeRows, rows, Buffer.from(`,"timestamp":${nowMs}}`)]));
}

/** Names a request header on which the response depends. */
export function addVary(reply: FastifyReply, name: string): void {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? name : `${vary}, ${name}`);
}

const beforeRows = Buffer.from('{"data":');

/** A weak tag: responses with the same data are equivalent although their timestamps differ. */
function entityTag(rows: Buffer, coverage: string | undefined): string {
  const digest = hash('sha1', rows, 'base64url');
  return coverage === undefined ? `W/"${digest}"` : `W/"${digest}.${hash('sha1', coverage, 'base64url')}"`;
}

/** Weak comparison (RFC 9110, 13.1.2): the strong form of the tag matches too. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const opaque = tag.slice(2);
  return header.split(',').some((entry) => entry.trim().replace(/^W\//, '') === opaque);
}

/**
 * Thrown by a route. The error handler responds with its status and message, in wording that clients know from the
 * field.
 */
export class ServiceRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'ServiceRefusal';
    this.status = status;
  }
}

export function badRequest(message: string): ServiceRefusal {
  return new ServiceRefusal(400, message);
}

/** @param what an id, or a market as `<exchange> <base>/<quote>`. */
export function notFound(what: string): ServiceRefusal {
  return new ServiceRefusal(404, `${what} not found`);
}

export function errorBody(message: string, timestampMs: EpochMs): string {
  return JSON.stringify({ error: message, timestamp: timestampMs });
}
