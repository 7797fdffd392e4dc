import { describe, expect, test } from 'vitest';
import { createTestClock } from '../parts/test-clock.ts';
import { answering, failureAt, nowMs } from './failure-at.ts';

describe('statuses', () => {
  test.each([
    [500, 'server_error'],
    [400, 'refused'],
    [401, 'unauthorized'],
    [402, 'unauthorized'],
    [403, 'address_refused'],
    [451, 'country_refused'],
    [404, 'not_found'],
    [408, 'timeout'],
    [429, 'rate_limited'],
    [204, 'unexpected'],
  ])('%i is %s', async (status, kind) => {
    const error = await failureAt(answering(status, ''));
    expect(error).toMatchObject({ kind, status, body: '', bytes: 0, message: `GET /rates: status ${status}` });
  });

  test('the error contains the text of the service', async () => {
    const words = { error: 'use valid interval:\n m1, m5', timestamp: 1_701_083_661_335 };
    const error = await failureAt(answering(400, JSON.stringify(words)));
    const message = 'GET /rates: status 400: use valid interval: m1, m5';
    expect(error).toMatchObject({ kind: 'refused', message });
    expect(error.body).toContain('use valid interval');
  });

  test('a long text is truncated, and control characters are removed', async () => {
    const error = await failureAt(answering(500, `\u001b[2J\u0007first${' and more'.repeat(1000)}`));
    expect(error.message).toMatch(/^GET \/rates: status 500: \[2J first and more/);
    expect([error.message.length < 400, error.body.length]).toEqual([true, 300]);
  });

  test('a key in the text of the service is redacted', async () => {
    const listener = answering(401, '{"error":"unknown key sesame-street"}');
    const error = await failureAt(listener, { apiKey: 'sesame-street' });
    expect(error.message).toBe('GET /rates: status 401: unknown key (the API key)');
    expect(error.body).not.toContain('sesame');
    const quoted = await failureAt(answering(200, '{"error":"unknown key sesame-street"}'), {
      apiKey: 'sesame-street',
    });
    expect(quoted.message + quoted.body).not.toContain('sesame');
  });

  test.each([
    ['Invalid key Bearer s3same-street; see key=s3same-street', /^[^;]*Bearer \[redacted\]; see key=/],
    ['the header was Bearer%20s3same-street&x=1', /the header was Bearer%20\(the API key\)&x=1$/],
    ['no such user_s3same-street', /no such user_\(the API key\)$/],
  ])('a key that is quoted as "%s" stays hidden, and the sentence readable', async (said, shown) => {
    const listener = answering(401, JSON.stringify({ error: said }));
    const error = await failureAt(listener, { apiKey: 's3same-street' });
    expect(error.message).toMatch(shown);
    expect(error.message + error.body).not.toContain('s3same');
  });

  test('text that equals the key is kept, and a quoted header does not reveal the key', async () => {
    const of = async (apiKey: string, said: string) =>
      (await failureAt(answering(403, JSON.stringify({ error: said })), { apiKey })).message;
    expect(await of('e', 'no such exchange')).toBe('GET /rates: status 403: no such exchange');
    expect(await of('exchange', 'no exchanges today')).toBe('GET /rates: status 403: no exchanges today');
    expect(await of('e', 'what is "Authorization: Bearer e"?')).toBe(
      'GET /rates: status 403: what is "Authorization: [redacted]"?',
    );
  });

  test('a redirect is not followed', async () => {
    const error = await failureAt(answering(302, '', { location: '/v2/exchanges' }));
    const message = 'GET /rates: status 302: redirects to /v2/exchanges';
    expect(error).toMatchObject({ kind: 'unexpected', message });
  });

  test('an error body that is endless, broken or late does not hide its status', async () => {
    const endless = await failureAt((_, response) => {
      response.writeHead(500);
      // Writes to a connection that has just gone call back within the turn that would notice it.
      const more = () => response.write('x'.repeat(65_536), () => response.destroyed || setImmediate(more));
      more();
    });
    expect(endless).toMatchObject({ kind: 'server_error', status: 500 });
    const cut = await failureAt((_, response) => {
      response
        .writeHead(429, { 'content-length': '100', 'retry-after': '9' })
        .write('You exceeded', () => response.destroy());
    });
    expect(cut).toMatchObject({ kind: 'rate_limited', retryAtMs: nowMs + 9000 });
    const clock = createTestClock();
    // The client reads the head in the next turns of the same process, and then the time passes.
    const passTime = async () => {
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(100);
    };
    const late = await failureAt((_, response) => void response.writeHead(503).write('x', () => void passTime()), {
      timeoutMs: 100,
      clock,
    });
    expect(late).toMatchObject({ kind: 'server_error', status: 503 });
  });
});

describe('an unknown id and a missing path', () => {
  const unknown = '{"error":"asdf not found","timestamp":1567334797490}';

  test.each([200, 400, 404])('a JSON error text with status %i: the id is unknown', async (status) => {
    const message = `GET /rates: status ${status}: asdf not found`;
    const error = await failureAt(answering(status, unknown));
    expect(error).toMatchObject({ kind: 'not_found', unknownId: true, message });
  });

  const others = ['Not Found', '<h1>404 page not found</h1>', '{"error":"no route"}', '"asdf not found"'];
  test.each(others)('a 404 with %j says nothing about the id', async (body) => {
    expect(await failureAt(answering(404, body))).toMatchObject({ kind: 'not_found', unknownId: false });
  });
});
