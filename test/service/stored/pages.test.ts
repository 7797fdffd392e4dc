/** The pages beside the dashboard: one frame, errors as pages for browsers and as JSON for programs. */

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Endpoint, pathTemplates } from '../../../v2/paths.ts';
import { useStore } from '../../store/open-store.ts';
import { openFacing } from './facing.ts';

const store = useStore();
let app: FastifyInstance;

beforeAll(async () => {
  app = await openFacing(store);
});
afterAll(() => app.close());

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

it.each(['/docs', '/keys'])('serves %s in the frame, with files of its own origin alone', async (path) => {
  const { body, headers, statusCode } = await app.inject(path);
  expect(statusCode).toBe(200);
  expect(body).not.toMatch(/<style| style=|<script>|@import|url\(/);
  for (const [, address = ''] of body.matchAll(/<[^>]+ (?:href|action|src)="([^"]*)"/g))
    expect(address).toMatch(/^(?:v2\/|#|(?:docs|keys|pages\/(?:frame\.css|icon\.svg|try\.js))$)/);
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/);
  expect(headers['content-security-policy']).not.toContain('unsafe');
  for (const [, file = ''] of body.matchAll(/"(pages\/[\w.]+)"/g))
    expect([file, (await app.inject(`/${file}`)).statusCode]).toEqual([file, 200]);
});

it.each(['/docs', '/keys'])('redirects %s/ to the page', async (path) => {
  const { statusCode, headers } = await app.inject(`${path}/?from=a`);
  expect([statusCode, headers.location]).toEqual([308, `..${path}?from=a`]);
});

it('lists each endpoint in the contents, with a form that asks for its example', async () => {
  const { body } = await app.inject('/docs');
  for (const endpoint of Object.keys(pathTemplates) as Endpoint[]) {
    expect(body).toContain(`<a href="#${endpoint}">`);
    expect(body).toContain(`<section class="endpoint" id="${endpoint}"`);
  }
  for (const [, action = ''] of body.matchAll(/<form class="stacked try" action="([^"]*)"/g))
    expect((await app.inject(`/${action}`)).statusCode).not.toBe(500);
});

it.each([
  ['GET', '/nothing', 404, 'There is no page at /nothing.', 'not found'],
  ['GET', '/deep/er/nothing?a=b', 404, 'There is no page at /deep/er/nothing.', 'not found'],
  ['GET', '/%c0%af', 400, 'Bad path.', 'bad path'],
  ['POST', '/docs', 405, 'ethod', 'method not allowed'],
  ['PUT', '/keys?a=b', 405, 'ethod', 'method not allowed'],
] as const)(
  'answers a browser at %s %s with a page, and a program with JSON',
  async (method, url, status, says, error) => {
    const page = await app.inject({ url, method, headers: browser });
    expect([page.statusCode, page.headers['content-type'], page.headers['cache-control']]).toEqual([
      ...[status, 'text/html; charset=utf-8', 'no-store'],
    ]);
    expect(page.body).toContain(says);
    if (url.startsWith('/deep')) expect(page.body).toContain('href="../../docs"');
    // Of whatever type.
    const headers = { 'content-type': 'text/plain' };
    const json = await app.inject({ url, method, headers, ...(method === 'GET' ? {} : { payload: 'a' }) });
    expect([json.statusCode, json.json().error]).toEqual([status, error]);
    const allowed = url.startsWith('/keys') ? 'GET, HEAD, POST' : 'GET, HEAD';
    expect(json.headers.allow).toBe(status === 405 ? allowed : undefined);
  },
);

it('answers at the interface in JSON, whoever asks', async () => {
  for (const url of ['/v2/nothing', '/v2/assets/nothing', '/v2/candles', '/v2/%c0%af']) {
    const { headers, body } = await app.inject({ url, headers: browser });
    expect([url, headers['content-type']]).toEqual([url, 'application/json; charset=utf-8']);
    expect(JSON.parse(body)).toHaveProperty('error');
  }
});

it('shows a failure of the store as a page', async () => {
  await store.database.pool.query('alter table tidemark.api_keys rename to api_keys_away');
  const payload = 'name=Ada&address=ada%40example.org&purpose=to+study+prices';
  const { statusCode, headers, body } = await app.inject({
    method: 'POST',
    url: '/keys',
    payload,
    headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded' },
  });
  expect([statusCode, headers['content-type']]).toEqual([500, 'text/html; charset=utf-8']);
  expect(body).toContain('Internal error.');
});
