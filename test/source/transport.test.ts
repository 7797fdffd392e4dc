import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, get as forward, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Arrivals } from '../parts/arrivals.ts';
import { freePort } from '../parts/free-port.ts';
import { createTestClock } from '../parts/test-clock.ts';
import { failureAt, failureOf } from './failure-at.ts';
import { portOf, serve, serveBody, sourceAt } from './local-server.ts';

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
    expect(cut).toMatchObject({ kind: 'unexpected', status: 200 });
    const chunked = await failureAt(
      (_, response) => void response.write('{"data":[', () => response.destroy()),
    );
    expect(chunked).toMatchObject({ kind: 'unexpected', status: 200 });
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
  expect(error).toMatchObject({ kind: 'unexpected', status: null });
  expect(error.message).toMatch(
    /its certificate comes from an authority that is not known here.* \(self-signed certificate/,
  );
});

test('an address with https of a server without TLS is said to be one', async () => {
  const { baseUrl } = await serve((_, response) => response.end());
  const error = await failureOf(sourceAt(baseUrl.replace('http:', 'https:')));
  expect(error.message).toContain('it does not speak TLS at this port; its address may begin with http://');
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
    for (let call = 0; call < 2; call += 1) expect(await source.rates()).toMatchObject({ sourceTimeMs: 1 });
  }
  const said = await failureAt(inPieces(early + head('400 No'), 'HTTP/1.1 100 Continue\r\n\r\n'));
  expect(said).toMatchObject({ kind: 'refused', body: 'HTTP/1.1 100 Continue' });
  for (const unusable of [
    'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade',
    'HTTP/1.0 100 Continue',
    'SSH-2.0',
  ])
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
    await sourceAt('http://prices.invalid/v2').rates();
    expect((await failureOf(sourceAt('https://prices.invalid/v2'))).message).toContain('does not speak TLS');
    const credentials = Buffer.from('name:word').toString('base64');
    const both = ['GET http://prices.invalid/v2/rates', `CONNECT prices.invalid:443 Basic ${credentials}`];
    expect(asked).toEqual(both);
    await sourceAt(baseUrl).rates();
    vi.stubEnv('NO_PROXY', '.invalid');
    expect((await failureOf(sourceAt('http://prices.invalid/v2'))).kind).toBe('unreachable');
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
    expect((await source.rates()).rows).toEqual([]);
  });
});
