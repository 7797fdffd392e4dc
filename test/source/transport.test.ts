import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../parts/free-port.ts';
import { createTestClock } from '../parts/test-clock.ts';
import { failureAt, failureOf } from './failure-at.ts';
import { portOf, serve, sourceAt } from './local-server.ts';

describe('a failed connection', () => {
  test('connection refused', async () => {
    const port = await freePort();
    const error = await failureOf(sourceAt(`http://127.0.0.1:${port}/v2`));
    expect(error).toMatchObject({ kind: 'unreachable', status: null });
    expect(error.message).toContain(`ECONNREFUSED 127.0.0.1:${port}`);
  });

  test('a connection closed without an answer causes no second request', async () => {
    const error = await failureAt((request) => void request.socket.destroy());
    expect(error).toMatchObject({ kind: 'unreachable', status: null });
  });

  test('a connection closed within the body, with or without a content length', async () => {
    const cut = await failureAt((_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"data":[', () => response.destroy());
    });
    expect(cut).toMatchObject({ kind: 'unreachable', status: 200 });
    const chunked = await failureAt(
      (_, response) => void response.write('{"data":[', () => response.destroy()),
    );
    expect(chunked).toMatchObject({ kind: 'unreachable', status: 200 });
  });
});

/** A self-signed certificate and its key in one text, or null without openssl. */
function selfSigned(): Buffer | null {
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
  try {
    return execFileSync('openssl', [...words, '-keyout', '-'], { stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return null;
  }
}

test('an untrusted certificate is not trusted, and the error names it', async (context) => {
  const pem = selfSigned() ?? context.skip('openssl is not installed');
  const server = createServer({ key: pem, cert: pem }, (_, response) => response.end('{"data":[]}')).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const error = await failureOf(sourceAt(`https://127.0.0.1:${portOf(server.address())}/v2`));
  expect(error).toMatchObject({ kind: 'unreachable', status: null });
  expect(error.message).toMatch(/certificate/i);
});

describe('deadline', () => {
  test.each([
    ['no answer', () => {}],
    ['headers and no body', (_: unknown, response) => void response.writeHead(200).flushHeaders()],
    [
      'a slow body',
      (_: unknown, response) => {
        const drip = setInterval(() => response.write(' '), 10);
        response.on('close', () => clearInterval(drip));
      },
    ],
  ] satisfies [string, RequestListener][])('%s', async (_, listener) => {
    const error = await failureAt(listener, { timeoutMs: 150 });
    expect(error).toMatchObject({ kind: 'timeout', message: 'GET /rates: no complete answer within 150 ms' });
  });

  test('an aborted call ends at once, and so does closing', async () => {
    const server = await serve(() => {});
    const source = sourceAt(server.baseUrl, { timeoutMs: 600_000 });
    const failure = failureOf(source);
    await server.requests.until(1);
    await source.abandon();
    expect(await failure).toMatchObject({ kind: 'unreachable', status: null });
  });

  test('the next call after a timeout gets its own answer', async () => {
    let calls = 0;
    const clock = createTestClock();
    const server = await serve((_, response) => {
      calls += 1;
      if (calls > 1) response.end('{"data":[]}');
      else void clock.advance(500);
    });
    const source = sourceAt(server.baseUrl, { connections: 1, timeoutMs: 500, clock });
    expect((await failureOf(source)).kind).toBe('timeout');
    expect((await source.rates()).rows).toEqual([]);
  });
});
