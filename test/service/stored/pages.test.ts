/** The pages beside the dashboard: one frame, errors as pages for browsers and as JSON for programs. */

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Endpoint, pathTemplates } from '../../../contract/paths.ts';
import { openTestStore, type TestStore } from '../../store/open-store.ts';
import { openFacing } from './facing.ts';

let store: TestStore;
let app: FastifyInstance;

beforeAll(async () => {
  store = await openTestStore();
  app = await openFacing(store);
});
afterAll(async () => {
  await app.close();
  await store.close();
});

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

it.each(['/docs', '/keys'])('serves %s in the frame, with files of its own origin alone', async (path) => {
  const { body, headers, statusCode } = await app.inject(path);
  expect(statusCode).toBe(200);
  expect(body).not.toMatch(/<style| style=|<script>|@import|url\(/);
  for (const [, address = ''] of body.matchAll(/<[^>]+ (?:href|action|src)="([^"]*)"/g))
    expect(address).toMatch(/^(?:v2\/|#|(?:docs|keys|pages\/(?:frame\.css|icon\.svg|try\.js))$)/);
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self'/,
  );
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
  ['/nothing', 'GET', 404, 'docs', 'There is no page at /nothing.'],
  ['/deep/er/nothing?a=b', 'GET', 404, '../../docs', 'There is no page at /deep/er/nothing.'],
])(
  'answers a browser at %s with a page, and a program with JSON',
  async (url, method, status, link, says) => {
    const page = await app.inject({ url, method: method as 'GET', headers: browser });
    expect([page.statusCode, page.headers['content-type'], page.headers['cache-control']]).toEqual([
      status,
      'text/html; charset=utf-8',
      'no-store',
    ]);
    expect(page.body).toContain(`href="${link}"`);
    expect(page.body).toContain(says);
    const json = await app.inject({ url, method: method as 'GET' });
    expect([json.statusCode, json.json().error]).toEqual([status, 'not found']);
  },
);

it('answers a browser at a malformed path with a page, and a program with JSON', async () => {
  for (const [url, status, says] of [
    ['/%c0%af', 400, 'Bad path.'],
    ['/docs/%', 400, 'Bad path.'],
  ] as const) {
    const page = await app.inject({ url, headers: browser });
    expect([url, page.statusCode, page.headers['content-type']]).toEqual([
      url,
      status,
      'text/html; charset=utf-8',
    ]);
    expect(page.body).toContain(says);
    const json = await app.inject(url);
    expect([url, json.statusCode, json.json().error]).toEqual([url, status, 'bad path']);
  }
  const { statusCode, headers } = await app.inject({ url: '/docs', method: 'POST', headers: browser });
  expect([statusCode, headers.allow, headers['content-type']]).toEqual([
    405,
    'GET, HEAD',
    'text/html; charset=utf-8',
  ]);
});

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
