import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, get as forward, type RequestListener } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Arrivals } from '../parts/arrivals.ts';
import { freePort } from '../parts/free-port.ts';
import { createTestClock } from '../parts/test-clock.ts';
import { failureAt, failureOf } from './failure-at.ts';
import { portOf, serve, serveBody, sourceAt } from './local-server.ts';

describe('a failed connection', () => {
  test('a refused connection, and one that is closed without an answer, cause no second request', async () => {
    const port = await freePort();
    const refused = await failureOf(sourceAt(`http://127.0.0.1:${port}/v2`));
    expect(refused.message).toContain(`ECONNREFUSED 127.0.0.1:${port}`);
    const closed = await failureAt((request) => void request.socket.destroy());
    expect(refused).toMatchObject({ kind: 'unreachable', status: null, isSent: false });
    expect(closed).toMatchObject({ kind: 'unreachable', status: null, isSent: true });
  });

  test('a connection closed within the body, with or without a content length', async () => {
    for (const headers of [{ 'content-length': '1000' }, {}]) {
      const cut = await failureAt((_, response) => {
        response.writeHead(200, headers).write('{"data":[', () => response.destroy());
      });
      expect(cut).toMatchObject({ kind: 'unexpected', status: 200 });
    }
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

test.for([
  [{}, /its certificate comes from an authority that is not known here.* \(self-signed certificate/],
  [
    { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    /it and this machine share no version or cipher of TLS \(.*alert/,
  ],
] satisfies [ServerOptions, RegExp][])('refuses TLS with %j', async ([tls, said], context) => {
  const pem = selfSigned() ?? context.skip('openssl is not installed');
  const server = createServer({ key: pem, cert: pem, ...tls }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const error = await failureOf(sourceAt(`https://127.0.0.1:${portOf(server.address())}/v2`));
  expect(error).toMatchObject({ kind: 'unexpected', status: null, message: expect.stringMatching(said) });
});

/** Sends each piece alone. */
const inPieces = (...pieces: readonly string[]): RequestListener => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return async ({ socket }) => {
    for (const piece of pieces) await new Promise((sent) => socket.write(piece, sent)).then(turn).then(turn);
  };
};

test('answers before the final one are passed over wherever they are cut, and nothing of a body is', async () => {
  const early = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </v2>\r\n\r\n';
  const head = (status: string) => `HTTP/1.1 ${status}\r\ncontent-length: 25\r\n\r\n`;
  const final = `${head('200 OK')}{"data":[],"timestamp":1}`;
  for (const pieces of [[early + final], [early, final], [...`${early}${early}${final}`]]) {
    const source = sourceAt((await serve(inPieces(...pieces))).baseUrl, { connections: 1 });
    for (let call = 0; call < 2; call += 1) expect(await source.list('rates')).toMatchObject({ sourceTimeMs: 1 });
  }
  const said = await failureAt(inPieces(early + head('400 No'), 'HTTP/1.1 100 Continue\r\n\r\n'));
  expect(said).toMatchObject({ kind: 'refused', body: 'HTTP/1.1 100 Continue' });
  for (const unusable of ['HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade', 'HTTP/1.0 100 Continue', 'SSH-2.0'])
    expect((await failureAt(inPieces(`${unusable}\r\n\r\n`))).kind).toBe('unexpected');
});

describe('a proxy', () => {
  /** Whatever host is asked for, it asks the one of this port. @returns its own port, and what it was asked for. */
  async function proxyTo(port: number) {
    const asked = new Arrivals<string>();
    const proxy = createHttpServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      forward({ port, path: new URL(request.url ?? '').pathname }, (answer) => answer.pipe(response));
    });
    proxy.on('connect', ({ url, headers }, socket) => {
      if (!headers['proxy-authorization']) return void socket.end('HTTP/1.1 407 No\r\n\r\n');
      asked.push(`CONNECT ${url} ${headers['proxy-authorization']}`);
      const far = connect({ port }, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      far.pipe(socket).pipe(far);
      far.on('error', () => socket.destroy());
      socket.on('error', () => far.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    return { asked, port: portOf(proxy.address()) };
  }

  test('is used for the addresses that the environment names, and for no other', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    const { baseUrl } = await serveBody('{"data":[],"timestamp":1}');
    const { asked, port } = await proxyTo(Number(new URL(baseUrl).port));
    vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${port}`);
    vi.stubEnv('HTTPS_PROXY', `http://name:word@127.0.0.1:${port}`);
    await sourceAt('http://prices.invalid/v2').list('rates');
    expect((await failureOf(sourceAt('https://prices.invalid/v2'))).message).toContain('does not speak TLS');
    const credentials = Buffer.from('name:word').toString('base64');
    const both = ['GET http://prices.invalid/v2/rates', `CONNECT prices.invalid:443 Basic ${credentials}`];
    expect(asked).toEqual(both);
    for (const [at, words] of [
      [port, 'refuses (status 407: it needs a user and password in HTTPS_PROXY)'],
      [1, 'cannot be reached (connect ECONNREFUSED 127.0.0.1:1); HTTPS_PROXY, HTTP_PROXY and NO_PROXY set it'],
    ] as const) {
      vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${at}`);
      const message = `GET /rates: the proxy at 127.0.0.1:${at} ${words}`;
      expect(await failureOf(sourceAt('https://prices.invalid/v2'))).toMatchObject({ message, isSent: false });
    }
    await sourceAt(baseUrl).list('rates');
    vi.stubEnv('NO_PROXY', '.invalid');
    expect(await failureOf(sourceAt('http://prices.invalid/v2'))).toMatchObject({ kind: 'unreachable', isSent: false });
    expect(asked).toEqual(both);
  });
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
    // The time passes when the request has arrived, however long that takes.
    const clock = createTestClock();
    const answer: RequestListener = (request, response) => {
      listener(request, response);
      void clock.advance(150);
    };
    const error = await failureAt(answer, { timeoutMs: 150, clock });
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
    expect((await source.list('rates')).rows).toEqual([]);
  });
});
