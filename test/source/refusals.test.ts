import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answering, failureAt, nowMs } from './failure-at.ts';

describe('statuses', () => {
  test.each([
    [500, 'server_error'],
    [502, 'server_error'],
    [503, 'server_error'],
    [400, 'refused'],
    [410, 'refused'],
    [401, 'unauthorized'],
    [403, 'unauthorized'],
    [404, 'not_found'],
    [408, 'timeout'],
    [429, 'rate_limited'],
    [204, 'unexpected'],
    [304, 'unexpected'],
  ])('%i is %s', async (status, kind) => {
    const error = await failureAt(answering(status, ''));
    expect(error).toMatchObject({
      kind,
      status,
      body: '',
      bytes: 0,
      message: `GET /rates: status ${status}`,
    });
  });

  test('the service’s own words are shown', async () => {
    const words = { error: 'use valid interval:\n m1, m5', timestamp: 1_701_083_661_335 };
    const error = await failureAt(answering(400, JSON.stringify(words)));
    expect(error).toMatchObject({
      kind: 'refused',
      message: 'GET /rates: status 400: use valid interval: m1, m5',
    });
    expect(error.body).toContain('use valid interval');
  });

  test('compressed words are, too', async () => {
    const error = await failureAt((_, response) => {
      response.writeHead(400, { 'content-encoding': 'gzip' }).end(gzipSync('{"error":"limit exceeds 2000"}'));
    });
    expect(error.message).toBe('GET /rates: status 400: limit exceeds 2000');
  });

  test('a long text is cut, and what could drive a terminal is taken out', async () => {
    const error = await failureAt(answering(500, `\u001b[2J\u0007first${' and more'.repeat(1000)}`));
    expect(error.message).toMatch(/^GET \/rates: status 500: \[2J first and more/);
    expect([error.message.length < 400, error.body.length]).toEqual([true, 300]);
  });

  test('a key that the service quotes stays hidden', async () => {
    const listener = answering(401, '{"error":"unknown key sesame-street"}');
    const error = await failureAt(listener, { apiKey: 'sesame-street' });
    expect(error.message).toBe('GET /rates: status 401: unknown key (the API key)');
    expect(error.body).not.toContain('sesame');
    const quoted = await failureAt(answering(200, '{"error":"unknown key sesame-street"}'), {
      apiKey: 'sesame-street',
    });
    expect(quoted.message + quoted.body).not.toContain('sesame');
  });

  test('a redirect is not followed', async () => {
    const error = await failureAt(answering(302, '', { location: '/v2/exchanges' }));
    expect(error).toMatchObject({
      kind: 'unexpected',
      message: 'GET /rates: status 302: redirects to /v2/exchanges',
    });
  });

  test('an error body that is endless, broken or late does not hide its status', async () => {
    const endless = await failureAt((_, response) => {
      response.writeHead(500);
      const more = () => response.write('x'.repeat(65_536), () => response.destroyed || more());
      more();
    });
    expect(endless).toMatchObject({ kind: 'server_error', status: 500 });
    const cut = await failureAt((_, response) => {
      response
        .writeHead(429, { 'content-length': '100', 'retry-after': '9' })
        .write('You exceeded', () => response.destroy());
    });
    expect(cut).toMatchObject({ kind: 'rate_limited', retryAtMs: nowMs + 9000 });
    const late = await failureAt((_, response) => void response.writeHead(503).write('x'), {
      timeoutMs: 100,
    });
    expect(late).toMatchObject({ kind: 'server_error', status: 503 });
  });
});

describe('unknown or just not there', () => {
  const unknown = '{"error":"asdf not found","timestamp":1567334797490}';

  test.each([200, 400, 404])('JSON that says so, with status %i, means the id', async (status) => {
    expect(await failureAt(answering(status, unknown))).toMatchObject({
      kind: 'not_found',
      unknownId: true,
      message: `GET /rates: status ${status}: asdf not found`,
    });
  });

  test.each(['Not Found', '<h1>404 page not found</h1>', '{"error":"no route"}', '"asdf not found"'])(
    '404 with %j says nothing about the id',
    async (body) => {
      expect(await failureAt(answering(404, body))).toMatchObject({ kind: 'not_found', unknownId: false });
    },
  );

  test('an outage that quotes the words is an outage', async () => {
    expect(await failureAt(answering(500, unknown))).toMatchObject({
      kind: 'server_error',
      unknownId: false,
    });
  });
});
