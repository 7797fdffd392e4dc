/**
 * The description of the interface: `/v2/openapi.json` (OpenAPI 3.1) for programs and `/docs` for people. It is
 * generated from the schemas that validate requests, so that it cannot go stale.
 */

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { coveragePattern } from '../../v2/coverage-header.ts';
import { servedError } from '../../v2/endpoints.ts';
import { historyDepthYears, requestsPerMinute } from '../../v2/limits.ts';
import { streamParameters } from '../../v2/requests.ts';
import { arrowType } from '../accepted.ts';
import type { SendPage } from '../pages/pages.ts';
import { basePath } from '../request.ts';
import { descriptionPage } from './description-page.ts';
import { type Described, described, openApiPath } from './paths.ts';

/** An hour: the description changes only with the software. */
const cacheControl = 'public, max-age=3600';

/** @param version software version. */
export function addDescription(app: FastifyInstance, sendPage: SendPage, version: string): void {
  const text = openApiText(version);
  const page = descriptionPage();
  app.get(`${basePath}/openapi.json`, async (_request, reply) =>
    reply.header('cache-control', cacheControl).type('application/json; charset=utf-8').send(text),
  );
  app.get('/docs', async (_request, reply) => sendPage(reply.header('cache-control', cacheControl), 200, page));
}

type Json = Readonly<Record<string, unknown>>;

const coverage = {
  description:
    'How much of the closed periods of the range is known, as `share=0.9983, gaps=1, until=1714521600000, ' +
    'missing=1710000000000-1710003600000`: the share from 0 to 1, rounded down; how many ranges are missing; up to ' +
    'when this is told, and which ranges before that are missing, in UNIX milliseconds, from inclusive to exclusive.',
  schema: { type: 'string', pattern: coveragePattern },
};
const derivedFrom = {
  description: 'Interval of the stored series from which the rows are derived. Absent: they are stored.',
  schema: { type: 'string' },
};
const arrowForm =
  'A stream of Arrow for a client whose `Accept` names it: the time as Timestamp(ms, UTC), and each decimal as ' +
  'Decimal128(38, 20), under the names of JSON.';
const rateLimit = {
  'X-RateLimit-Limit': { description: 'Requests in a rolling minute.', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Requests that are left now.', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'When a request is free, seconds since 1970.', schema: { type: 'integer' } },
};

const retryAfter = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

/** The whole document as JSON text. @param version software version. */
function openApiText(version: string): string {
  // The examples are inserted as text, so that numbers keep digits that a double would lose.
  return JSON.stringify(openApiDocument(version)).replaceAll(
    /"example of (\w+)"/g,
    (_, of: string) => described.find(({ id }) => id === of)?.example?.answer ?? 'null',
  );
}

function openApiDocument(version: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Market Data Service',
      version,
      description:
        'Cryptocurrency market data, read-only. Decimals come with all their digits: read them as text, or with a ' +
        'parser that keeps them. ' +
        `Without a key ${requestsPerMinute.withoutKey} requests a rolling minute, and history of ` +
        `${historyDepthYears} years; with one ${requestsPerMinute.withKey}, and all that is stored.`,
    },
    servers: [{ url: '/v2' }],
    security: [{}, { key: [] }],
    paths: {
      ...Object.fromEntries(
        described.flatMap((one) =>
          one.paths.map(({ name, path }) => [openApiPath(path), { get: operation(one, name, path) }]),
        ),
      ),
      '/stream': { get: streamOperation },
    },
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: schemaOf(servedError) },
    },
  };
}

const refusals = [
  ['400', 'A parameter is missing or wrong.'],
  ['401', 'The key is unknown or revoked.'],
  ['404', 'Nothing of that name is known.'],
  ['429', 'Over the limit of requests.', retryAfter],
  ['503', 'Not available at the moment.', retryAfter],
] as const;

const streamOperation: Json = {
  operationId: 'stream',
  summary: 'Closed candles, points of histories and rates as they are stored, as server-sent events',
  parameters: [
    ...queryParameters(streamParameters),
    {
      ...{ name: 'Last-Event-ID', in: 'header', required: false, schema: { type: 'string' } },
      description: 'The id of the last event that came: the stream goes on there.',
    },
  ],
  responses: {
    '200': {
      description: 'Events `points`, whose data are `{"series": ..., "data": [...]}` with rows as of `/points`.',
      headers: rateLimit,
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    ...refusedResponses(true),
  },
};

function refusedResponses(notFound: boolean): Json {
  return Object.fromEntries(
    refusals
      .filter(([status]) => notFound || status !== '404')
      .map(([status, description, headers]) => [status, refused(description, headers)]),
  );
}

function refused(description: string, headers?: Json): Json {
  return {
    description,
    ...(headers === undefined ? {} : { headers }),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}

function operation({ id, contract, example }: Described, name: string, path: string): Json {
  const { summary, query, resource, many, ranged, notFound } = contract;
  const data = many ? { type: 'array', items: schemaOf(resource) } : schemaOf(resource);
  return {
    operationId: name,
    summary,
    parameters: [...pathParameters(path), ...queryParameters(query)],
    responses: {
      '200': {
        description: summary,
        headers: {
          ...rateLimit,
          ...(ranged && { 'X-Tidemark-Coverage': coverage, 'X-Tidemark-Derived-From': derivedFrom }),
        },
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: { data, timestamp: { type: 'integer', description: 'UNIX milliseconds.' } },
              required: ['data', 'timestamp'],
            },
            ...(example !== null && {
              examples: { [name]: { summary: `GET /v2${example.path}`, value: `example of ${id}` } },
            }),
          },
          ...(ranged && { [arrowType]: { schema: { description: arrowForm } } }),
        },
      },
      ...(ranged && { '406': refused('Arrow cannot hold a value exactly: it has more digits.') }),
      '304': { description: 'Nothing changed since the answer whose `ETag` came as `If-None-Match`.' },
      ...refusedResponses(notFound),
    },
  };
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }));
}

function queryParameters(query: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input' });
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = schema as Record<string, unknown>;
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      // Patterns for digits and forbidden characters would only be noise in the description.
      schema: { ...rest, pattern: undefined },
    };
  });
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
