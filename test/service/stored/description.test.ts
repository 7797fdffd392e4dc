/**
 * The interface, the description and the answers of a real database, against each other: the examples of the
 * description are such answers, and as their schemas say. `npm run docs` writes the examples anew.
 */

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { datasetNames } from '../../../model/datasets/index.ts';
import { hourMs } from '../../../model/intervals.ts';
import { arrowType } from '../../../service/accepted.ts';
import { described, openApiPath } from '../../../service/openapi/paths.ts';
import { endpoints, servedError } from '../../../v2/endpoints.ts';
import { type Endpoint, pathOf, pathTemplates, routes } from '../../../v2/paths.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { useStore } from '../../store/open-store.ts';
import { openFacing } from './facing.ts';
import { fillStoredWorld, nowMs } from './stored-world.ts';

const days = `exchange=kraken&interval=d1&baseId=bitcoin&quoteId=euro&start=${Date.UTC(2024, 4, 14)}`;
const page = '?limit=2';
const shown: Readonly<Record<Endpoint, string>> = {
  assets: `/assets${page}`,
  asset: '/assets/bitcoin',
  assetHistory: `/assets/bitcoin/history?interval=h1&start=${nowMs - 3 * hourMs}&end=${nowMs}`,
  assetMarkets: `/assets/bitcoin/markets${page}`,
  markets: `/markets?exchangeId=kraken&limit=2`,
  exchanges: '/exchanges',
  exchange: '/exchanges/kraken',
  rates: '/rates',
  rate: pathOf('rate', 'icelandic-króna'),
  candles: `/candles?${days}`,
};

const store = useStore();
let app: FastifyInstance;
beforeAll(async () => {
  await fillStoredWorld(store.database);
  app = await openFacing(store, { clock: clockAt(() => nowMs) });
});
afterAll(() => app.close());

it('shows real responses as examples', async () => {
  const lines = [];
  for (const endpoint of Object.keys(pathTemplates) as Endpoint[]) {
    const { body, headers } = await app.inject(`/v2${shown[endpoint]}`);
    const { resource, many, ranged } = endpoints[endpoint];
    z.strictObject({ data: many ? z.array(resource) : resource, timestamp: z.literal(nowMs) }).parse(JSON.parse(body));
    expect([endpoint, headers['x-tidemark-coverage'] !== undefined]).toEqual([endpoint, ranged]);
    lines.push(`  ${endpoint}: {`, property('path', shown[endpoint]), property('answer', body), '  },');
  }
  await expect([...head, ...lines, '};', ''].join('\n')).toMatchFileSnapshot('../../../service/openapi/examples.ts');
});

it('documents every endpoint, parameter and error, with exact examples', async () => {
  const answer = await app.inject('/v2/openapi.json');
  const document = answer.json();
  expect(document.openapi).toMatch(/^3\.1\./);
  const served = described.flatMap((one) => one.paths.map(({ path }) => ({ ...one, path: openApiPath(path) })));
  expect(Object.keys(document.paths).sort()).toEqual([...served.map(({ path }) => path), '/stream'].sort());
  expect(served).toHaveLength(routes.length + datasetNames.length);
  for (const { contract, example, path } of served) {
    const { get } = document.paths[path];
    const types = ['application/json', ...(contract.ranged ? [arrowType] : [])];
    expect([path, Object.keys(get.responses[200].content)]).toEqual([path, types]);
    expect('406' in get.responses).toBe(contract.ranged);
    const names = (get.parameters as { name: string; in: string }[]).filter((one) => one.in === 'query');
    expect(names.map(({ name }) => name).sort()).toEqual(Object.keys(contract.query.shape).sort());
    if (example !== null) expect(answer.body).toContain(`"value":${example.answer}`);
    expect(Object.keys(get.responses)).toEqual(expect.arrayContaining(['200', '400', '401', '429', '503']));
  }
  expect(document.components.schemas.Error.required).toEqual(Object.keys(servedError.shape));
});

// The last one: it takes the values away.
it.each([
  ['asset_states', ['assets', 'asset']],
  ['exchange_states', ['exchanges', 'exchange']],
  ['market_states', ['markets']],
  ['asset_market_states', ['assetMarkets']],
] as const)('rows of %s that the source leaves all but empty are as their schemas say', async (table, of) => {
  const required = /^(?:listed_id|time|gone|name|symbol|base_symbol|quote_symbol)$/;
  const { rows: columns } = await store.database.pool.query<{ name: string }>(
    `select column_name as name from information_schema.columns
         where table_schema = 'tidemark' and table_name = $1`,
    [table],
  );
  const optional = columns.map(({ name }) => name).filter((name) => !required.test(name));
  expect(optional.length).toBeGreaterThan(2);
  await store.database.pool.query(
    `update tidemark.${table} set ${optional.map((name) => `${name} = null`).join(', ')}`,
  );
  for (const endpoint of of) {
    const { resource, many } = endpoints[endpoint];
    const answer = await app.inject(`/v2${shown[endpoint]}`);
    expect([endpoint, answer.statusCode]).toEqual([endpoint, 200]);
    const { data } = answer.json();
    const rows = many ? z.array(resource).parse(data) : [resource.parse(data)];
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(Object.values(row as object)).toContain(null);
  }
});

const head = [
  '/** Real answers, one of each endpoint, about a simulated market. `npm run docs` writes this file anew. */',
  '',
  "import type { Endpoint } from '../../v2/paths.ts';",
  '',
  'export interface Example {',
  '  /** Below `/v2`. */',
  '  readonly path: string;',
  '  readonly answer: string;',
  '}',
  '',
  'export const examples: Readonly<Record<Endpoint, Example>> = {',
];

/** As the formatter has it: a text too long for the line stands on one of its own. */
function property(name: string, text: string): string {
  const quoted = `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}',`;
  const line = `    ${name}: ${quoted}`;
  return line.length <= 110 ? line : `    ${name}:\n      ${quoted}`;
}
