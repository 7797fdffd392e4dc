/** Who means harm: whatever is sent, no 500, no word of SQL or of a stack, and the next request is answered. */

import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { described } from '../../../service/openapi/paths.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { useStore } from '../../store/open-store.ts';
import { openFacing } from './facing.ts';
import { fillStoredWorld, nowMs } from './stored-world.ts';

const injections = [
  ...["' or 1=1 --", "'; drop table tidemark.series; --", '" or ""="', '1); select pg_sleep(10); --'],
  ...['$1', '%', '_', '\\', 'bitcoin\u0000', '\ud800', '../../etc/passwd', '<script>alert(1)</script>'],
  ...['{"$gt":""}', '$' + '{process.exit(1)}', '\u202ebitcoin', 'null', 'undefined', '__proto__'],
  ...['constructor', '🪙'.repeat(50), '-1', '1e308', '9999999999999999999', 'NaN', ''],
];
const leaks = /select|from tidemark|syntax|pg_|postgres|at .*\.ts|node_modules|stack|42[0-9A-Z]{3}/i;
const good: Readonly<Record<string, string>> = {
  exchange: 'kraken',
  baseId: 'bitcoin',
  quoteId: 'euro',
  interval: 'h1',
  start: String(nowMs - 3_600_000),
  end: String(nowMs),
};

const store = useStore();
let app: FastifyInstance;
let port: number;
beforeAll(async () => {
  await fillStoredWorld(store.database);
  const timeouts = { requestMs: 500, silentMs: 2000, keepAliveMs: 2000 };
  app = await openFacing(store, { clock: clockAt(() => nowMs), timeouts });
  port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
});
afterAll(() => app.close());

async function harmless(path: string): Promise<number> {
  const answer = await app.inject(`/v2${path}`);
  const shown = `${path.slice(0, 120)} -> ${answer.statusCode} ${answer.body.slice(0, 200)}`;
  expect([200, 304, 400, 404, 414], shown).toContain(answer.statusCode);
  if (answer.statusCode === 200) return 200;
  const body = answer.json() as { error: string; timestamp: number };
  expect(Object.keys(body), shown).toEqual(['error', 'timestamp']);
  // What was sent comes back in the words of a 404.
  if (answer.statusCode !== 404) expect(body.error, shown).not.toMatch(leaks);
  return answer.statusCode;
}
const encoded = (text: string) => {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ED%A0%80';
  }
};
const every = described.flatMap(({ contract, paths }) =>
  paths.map(({ name, path }) => [name, contract, path] as const),
);

it.each(every)('%s: resists injection in every parameter', async (_, { query: { shape } }, path) => {
  const parameters = Object.keys(shape);
  for (const text of injections) {
    if (path.includes(':id')) await harmless(path.replace(':id', () => encoded(text)));
    for (const name of parameters) {
      const query = { ...good, [name]: text };
      const pairs = Object.entries(query).filter(([key]) => parameters.includes(key));
      const words = pairs.map(([key, value]) => `${key}=${encoded(value)}`).join('&');
      await harmless(`${path.replace(':id', 'bitcoin')}?${words}`);
    }
  }
});

/** What a socket that says `text` is told, until it is closed. */
function told(text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(heard));
    socket.write(text);
  });
}
/** A machine that has other things to do may let a connection be silent for too long. */
const alive = () =>
  expect.poll(() => told('GET /v2/rates HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);

it('refuses oversized URLs, headers and keys, and malformed HTTP', async () => {
  const long = 'x'.repeat(100_000);
  const close = 'Connection: close\r\n';
  for (const text of [
    `GET /v2/assets/${long} HTTP/1.1\r\nHost: a\r\n${close}\r\n`,
    `GET /v2/assets?search=${long} HTTP/1.1\r\nHost: a\r\n${close}\r\n`,
    `GET /v2/rates HTTP/1.1\r\nHost: a\r\nX-Long: ${long}\r\n${close}\r\n`,
    `GET /v2/rates HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${long}\r\n${close}\r\n`,
  ]) {
    expect(await told(text)).toMatch(/^HTTP\/1\.1 431 [\s\S]*"address or headers too long"/);
  }
  for (const text of ['hello\r\n\r\n', '\x16\x03\x01\x02', 'GET / HTTP/9.9\r\n\r\n', `GET /v2/rates HTTP/1.1\r\n\r\n`])
    expect(await told(text)).toMatch(/^HTTP\/1\.1 400 /);
  const both = 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n';
  expect(await told(`GET /v2/rates HTTP/1.1\r\nHost: a\r\n${both}\r\n0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
  await alive();
});

it('refuses bodies that are too large, of another type, or malformed', async () => {
  const form = 'application/x-www-form-urlencoded';
  for (const [type, payload, status] of [
    [form, 'x'.repeat(20_000), 413],
    ['application/json', '{"name":', 400],
    ['application/json', '{"name":{},"address":[],"purpose":1}', 400],
    [form, '__proto__=1&name=a&name=b', 400],
    ['text/xml', '<a/>', 415],
    [form, 'name=%00%ff&address=%&purpose=%zz', 400],
  ] as const) {
    const headers = { 'content-type': type };
    const answer = await app.inject({ method: 'POST', url: '/keys', payload, headers });
    expect([payload, answer.statusCode]).toEqual([payload, status]);
  }
});

it('disconnects a client that sends slowly', async () => {
  expect(await told('GET /v2/rates HTTP/1.1\r\nHost: a\r\nX-Slow: ')).toMatch(/^HTTP\/1\.1 408 /);
  expect(await told('')).toMatch(/^(HTTP\/1\.1 408 |$)/);
  await alive();
});

it('disconnects a client that does not read its response', async () => {
  const closed = new Promise<void>((resolve) =>
    app.server.once('connection', (itsEnd) => itsEnd.once('close', resolve)),
  );
  // Without a reader of its own a socket takes in what its buffers hold, and no more.
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const minutes = `exchange=binance&baseId=bitcoin&quoteId=tether&interval=m1&end=${nowMs}`;
  socket.write(`GET /v2/candles?${minutes} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(60));
  await closed;
  socket.destroy();
  await alive();
});
