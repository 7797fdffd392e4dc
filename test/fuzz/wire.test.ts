import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../clock.ts';
import { marketDataService } from '../../sources/profiles/market-data-service.ts';
import { openSource, type Source } from '../../sources/source.ts';
import { SourceError } from '../../sources/source-error.ts';
import { seededTimeoutMs, tryCases } from '../parts/seeded.ts';
import { candlesAt } from '../sources/points-at.ts';
import { type RawServer, startRawServer } from './raw-server.ts';

const body = JSON.stringify({
  data: Array.from({ length: 5 }, (_, place) => ({
    open: '1.10',
    high: '2.20',
    low: '1.00',
    close: '1.50',
    volume: '0.30',
    period: Date.UTC(2024, 0, 1, place),
  })),
  timestamp: Date.UTC(2024, 0, 2),
});
const { data: rows } = JSON.parse(body);

let server: RawServer;
let source: Source;
beforeAll(async () => {
  server = await startRawServer();
  source = openSource({
    profile: marketDataService,
    baseUrl: server.baseUrl,
    apiKey: 'a-secret-key',
    timeoutMs: 30_000,
    maxBodyBytes: 20_000,
    ...{ connections: 1, clock: systemClock },
  });
});
afterAll(async () => {
  await source.abandon();
  server.close();
});

const statuses = [
  ...['200 OK', '200', '200 ', '201 Created', '204 No Content', '206 Partial Content', '301 Moved'],
  ...['302 Found', '304 Not Modified', '400 Bad', '401 Unauthorized', '403 Forbidden', '404 Not Found'],
  ...['408 Timeout', '429 Too Many', '500 Oops', '502 Bad Gateway', '503 Away', '599 X'],
  ...['100 Continue', '101 Switching', '103 Early Hints', '000 None', '999 Beyond', '20 Short'],
  ...['2000 Long', 'OK 200', '-200 X', '200 \u00e9\u0007'],
];
const headers = [
  ...['content-length: 0', 'content-length: 10', 'content-length: 99999999999999999999'],
  ...['content-length: -1', 'content-length: x', 'transfer-encoding: chunked'],
  ...['transfer-encoding: gzip', 'transfer-encoding: identity', 'content-encoding: gzip'],
  ...['content-encoding: GZIP', 'content-encoding: br', 'content-encoding: deflate'],
  ...['content-encoding: gzip, gzip', 'content-encoding:', 'content-encoding: identity'],
  ...['content-type: text/html', 'connection: keep-alive', 'connection: upgrade', 'upgrade: websocket'],
  ...['location: http://127.0.0.1:1/', 'retry-after: -1', 'retry-after: 1e99'],
  ...['retry-after: Thu, 01 Jan 1970 00:00:00 GMT', 'x-ratelimit-reset: x'],
  ...['x-ratelimit-reset: 99999999999999999999', 'set-cookie: a=b', 'no colon', ': no name'],
  ...[' folded: x', '\u0000: nul', 'x: \u0000', 'x: \u00ff', `x: ${'y'.repeat(20_000)}`, 'x: a\rb'],
  ...['trailer: x'],
];
const packings = [
  'plain',
  'gzip',
  'cut gzip',
  'broken gzip',
  'gzip twice',
  'bomb',
  'chunked',
  'broken chunks',
] as const;

function packed(how: (typeof packings)[number], share: number): { bytes: Buffer; headers: string[] } {
  const plain = Buffer.from(body);
  const zipped = gzipSync(plain);
  const place = Math.floor(share * zipped.length);
  const gzip = ['content-encoding: gzip'];
  const chunks = (size: string, text: string) => Buffer.from(`${size}\r\n${text}\r\n0\r\n\r\n`);
  switch (how) {
    case 'plain':
      return { bytes: plain, headers: [] };
    case 'gzip':
      return { bytes: zipped, headers: gzip };
    case 'cut gzip':
      return { bytes: zipped.subarray(0, place), headers: gzip };
    case 'broken gzip':
      zipped[place] = (zipped[place] ?? 0) ^ 0x10;
      return { bytes: zipped, headers: gzip };
    case 'gzip twice':
      return { bytes: gzipSync(zipped), headers: gzip };
    case 'bomb':
      return { bytes: gzipSync(Buffer.alloc(1_000_000, 0x20)), headers: gzip };
    case 'chunked':
      return { bytes: chunks(plain.length.toString(16), body), headers: ['transfer-encoding: chunked'] };
    case 'broken chunks':
      return {
        bytes: chunks(share < 0.5 ? 'zz' : (plain.length + 7).toString(16), body),
        headers: ['transfer-encoding: chunked'],
      };
  }
}

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const answer = fc.record({
  status: fc.oneof({ weight: 2, arbitrary: fc.constant('200 OK') }, fc.constantFrom(...statuses)),
  version: fc.oneof(
    { weight: 8, arbitrary: fc.constant('HTTP/1.1') },
    fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTP/1.1', ''),
  ),
  before: fc.oneof(
    { weight: 5, arbitrary: fc.constant('') },
    fc.constantFrom('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n', 'HTTP/1.1 100 Continue\r\n\r\n', '\r\n', 'x'),
  ),
  odd: fc.array(fc.constantFrom(...headers), { maxLength: 2 }),
  packing: fc.constantFrom(...packings),
  isCounted: fc.boolean(),
  // One changed byte, or the connection cut, at any place.
  flip: fc.option(fc.tuple(share, fc.nat({ max: 255 })), { freq: 4 }),
  cut: fc.option(share, { freq: 4 }),
  share,
});

function bytesOf(of: typeof answer extends fc.Arbitrary<infer Answer> ? Answer : never): Buffer {
  const { bytes, headers: its } = packed(of.packing, of.share);
  const counted = of.isCounted && !its.includes('transfer-encoding: chunked');
  const lines = [...its, ...of.odd, ...(counted ? [`content-length: ${bytes.length}`] : [])];
  const head = `${of.before}${of.version} ${of.status}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
  const all = Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
  if (of.flip !== null) all[Math.floor(of.flip[0] * all.length)] = of.flip[1];
  return of.cut === null ? all : all.subarray(0, Math.floor(of.cut * all.length));
}

test(
  'a request ends with the sent answer or with a source error, whatever bytes arrive',
  async () => {
    const ends = new Map<string, number>();
    const cases = await tryCases(
      'the wire',
      answer,
      async (sent) => {
        server.answer = bytesOf(sent);
        const asked = { exchange: 'x', interval: 'h1', baseId: 'a', quoteId: 'b' } as const;
        const end = await candlesAt(source, asked).then(
          ({ rows: read, rejected }) => ({ kind: 'answer', read: [...read, ...rejected] }),
          (error: unknown) => {
            if (!(error instanceof SourceError)) throw error;
            expect(error.message).not.toContain('a-secret-key');
            return { kind: error.kind, read: null };
          },
        );
        ends.set(end.kind, (ends.get(end.kind) ?? 0) + 1);
        // Another test covers bytes that change within the text. The brackets give the length of the list.
        if (end.read !== null && sent.flip === null) expect(end.read).toEqual(rows);
        if (end.read !== null) expect(end.read).toHaveLength(rows.length);
      },
      { batch: 100, batches: 6, share: 0.6 },
    );
    // Otherwise the test would show nothing. A single repeated case always ends in the same way.
    if (cases > 300) {
      for (const kind of ['answer', 'unreachable', 'unexpected', 'too_large', 'server_error'])
        expect(ends.get(kind), kind).toBeGreaterThan(0);
    }
  },
  seededTimeoutMs,
);
