import { createHash } from 'node:crypto';
import { zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../model/intervals.ts';
import type { Profile } from '../../../sources/profiles/profile.ts';
import { profiles } from '../../../sources/profiles/profiles.ts';
import { describeRecordings, recordingFile } from '../../recordings.ts';
import { failureOf } from '../failure-at.ts';
import { serve, sourceAt } from '../local-server.ts';
import { candlesAt } from '../points-at.ts';

const startMs = Date.UTC(2024, 4, 1);
const endMs = Date.UTC(2024, 5, 1);
const zip = (csv: string, name = 'ADABTC-1m-2024-05.csv') =>
  Buffer.from(
    zipSync(
      { 'a/': new Uint8Array(), 'readme.txt': Buffer.from('x'), [name]: Buffer.from(csv) },
      // Else a second one of the same lines has another checksum now and then.
      { mtime: '2024-06-03' },
    ),
  );
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const line = (timeMs: number, close = '1.50', unit = 1) =>
  `${timeMs * unit},1.50,2.00,1.00,${close},36304.20000000,${(timeMs + minuteMs) * unit - 1},${36304.2 * Number(close)},79,1.0,0.5,0\n`;

/** A source at a file and its checksum. */
async function archiveAt(file: Buffer | null, checksum: string | null) {
  const server = await serve((request, response) => {
    const body = request.url?.endsWith('.CHECKSUM') ? checksum : file;
    response.writeHead(body === null ? 404 : 200).end(body ?? '<Error><Code>NoSuchKey</Code></Error>');
  });
  const profile = profiles['binance-archive'];
  if (profile === undefined) throw new Error('no profile');
  const source = sourceAt(server.baseUrl.replace(/\/v2$/, ''), { profile });
  return { source, server };
}

const asked = (start = startMs, end = endMs) =>
  ({ exchange: 'binance', baseId: 'ADA', quoteId: 'BTC', symbol: 'ADABTC', interval: 'm1', start, end }) as const;

async function read(csv: string, range = asked()) {
  const name = `ADABTC-1m-${new Date(range.start).toISOString().slice(0, 7)}`;
  const file = zip(csv, `${name}.csv`);
  const { source } = await archiveAt(file, `${sha256(file)}  ${name}.zip\n`);
  return candlesAt(source, range);
}

async function failure(file: Buffer | null, checksum: string | null) {
  const { source } = await archiveAt(file, checksum);
  return failureOf(source, (it) => candlesAt(it, asked()));
}

const whole = line(startMs) + line(endMs - minuteMs);

test('requests the checksum of the file of a month, and then the file', async () => {
  const file = zip(whole);
  const { source, server } = await archiveAt(file, sha256(file));
  await candlesAt(source, asked());
  const path = '/data/spot/monthly/klines/ADABTC/1m/ADABTC-1m-2024-05.zip';
  expect(server.requests.map(({ url }) => url)).toEqual([`${path}.CHECKSUM`, path]);
});

test('keeps every digit, and gives the rows of the requested range alone', async () => {
  const csv = [0, 1, 2, 3].map((place) => line(startMs + place * minuteMs, `1.${place}0`)).join('');
  const answer = await read(csv, asked(startMs + minuteMs, startMs + 3 * minuteMs));
  expect(answer.rows).toEqual(
    ['1.10', '1.20'].map((close, place) => ({
      open: '1.50',
      high: '2.00',
      low: '1.00',
      close,
      volume: '36304.20000000',
      period: startMs + (place + 1) * minuteMs,
    })),
  );
  expect(answer).toMatchObject({ rejected: [], isWhole: true, known: { missing: [] } });
});

test.each([
  ['of names in snake case', 'open_time,open,high,low,close,volume,close_time,quote_volume,count,a,b,ignore\n'],
  ['after a byte order mark', '\uFEFFopen_time,open,high,low,close,volume,close_time,quote_volume,count,a,b,ignore\n'],
  ['that is a byte order mark alone', '\uFEFF'],
])('a header row %s is no row', async (_name, header) => {
  const { rows, rejected } = await read(header + whole);
  expect(rows.map(({ period }) => period)).toEqual([startMs, endMs - minuteMs]);
  expect(rejected).toEqual([]);
});

test('a line that is not readable is kept in part, and left out where its time is not of the range', async () => {
  const long = `${line(startMs + minuteMs).trimEnd()},${'x'.repeat(5000)}\n`;
  const { rejected } = await read(whole + long + line(startMs - minuteMs).replace(',0\n', '\n'));
  expect(rejected).toEqual([
    { raw: long.slice(0, 2000), reason: '13 columns instead of 12', timeMs: startMs + minuteMs },
  ]);
});

describe('units of time', () => {
  const newMs = Date.UTC(2025, 0, 1);
  const january = asked(newMs, Date.UTC(2025, 1, 1));

  test('microseconds from January 2025 on', async () => {
    const csv = line(newMs, '1.50', 1000) + line(newMs + minuteMs, '1.50', 1000);
    const { rows } = await read(csv, january);
    expect(rows.map(({ period }) => period)).toEqual([newMs, newMs + minuteMs]);
  });

  test.each([
    ['milliseconds in a file of microseconds', line(newMs + minuteMs), january, 'not in microseconds'],
    ['microseconds in a file of milliseconds', line(startMs + minuteMs, '1.50', 1000), asked(), 'not in milliseconds'],
  ])('%s are rejected', async (_name, wrong, range, words) => {
    const unit = range === january ? 1000 : 1;
    const { rows, rejected } = await read(line(range.start, '1.50', unit) + wrong, range);
    expect(rows).toHaveLength(1);
    expect(rejected).toEqual([
      { raw: wrong.trimEnd(), reason: expect.stringContaining(words), timeMs: range.start + minuteMs },
    ]);
  });
});

test.each([
  [
    'an impossible candle',
    `${startMs + minuteMs},1.50,1.00,2.00,1.50,1,1,1,1,1,1,0`,
    'high is below low',
    startMs + minuteMs,
  ],
  ['no decimal', `${startMs + minuteMs},1.50,2.00,nan,1.50,1,1,1,1,1,1,0`, 'low: not a decimal', startMs + minuteMs],
])('%s is rejected alone, with its line', async (_name, bad, words, timeMs) => {
  const { rows, rejected } = await read(`${line(startMs)}${bad}\n${line(endMs - minuteMs)}`);
  expect(rows.map(({ period }) => period)).toEqual([startMs, endMs - minuteMs]);
  expect(rejected).toEqual([
    { raw: bad, reason: expect.stringContaining(words), ...(timeMs === undefined ? {} : { timeMs }) },
  ]);
});

test('periods without a candle are stated as missing, at the ends and within', async () => {
  const bad = `${startMs + 7 * minuteMs},1.50,1.00,2.00,1.50,1,1,1,1,1,1,0\n`;
  const { known } = await read(`${line(startMs + 5 * minuteMs)}${bad}${line(startMs + 9 * minuteMs)}`);
  expect(known?.missing).toEqual([
    { startMs, endMs: startMs + 5 * minuteMs },
    { startMs: startMs + 6 * minuteMs, endMs: startMs + 9 * minuteMs },
    { startMs: startMs + 10 * minuteMs, endMs },
  ]);
});

test.each<[string, Buffer | null, string | null, string]>([
  ['an absent file', null, null, 'the archive has no such file'],
  ['an absent checksum', zip(whole), null, '.CHECKSUM: status 404: the archive has no such file'],
  ['no checksum in its place', zip(whole), '<html>', 'is no checksum'],
  ['a wrong checksum', zip(whole), 'a'.repeat(64), `and ${'a'.repeat(64)} is stated beside it`],
  ['a file that is no zip', Buffer.from('<html>'), sha256(Buffer.from('<html>')), 'cannot be unzipped'],
  [
    'a file of another time',
    zip(line(startMs - minuteMs)),
    sha256(zip(line(startMs - minuteMs))),
    'no row of the requested time',
  ],
  [
    'a file of another market',
    zip(whole, 'ADAETH-1m-2024-05.csv'),
    sha256(zip(whole, 'ADAETH-1m-2024-05.csv')),
    'it is ADAETH-1m-2024-05, where ADABTC-1m-2024-05 was asked for',
  ],
  [
    'the checksum of another file',
    zip(whole),
    `${sha256(zip(whole))}  ADABTC-1h-2024-05.zip`,
    'it is ADABTC-1h-2024-05',
  ],
])('%s leaves the month to the next source', async (_name, file, checksum, words) => {
  expect(await failure(file, checksum)).toMatchObject({ kind: 'incomplete', message: expect.stringContaining(words) });
});

test('a line whose two volumes contradict one another is rejected alone, and its period is missing', async () => {
  const exchanged = line(startMs + minuteMs).replace('36304.20000000', '2.5');
  const { rejected, known } = await read(line(startMs) + exchanged + line(startMs + 2 * minuteMs));
  expect(rejected).toMatchObject([
    { timeMs: startMs + minuteMs, reason: expect.stringContaining('is not between low and high') },
  ]);
  expect(known?.missing[0]).toEqual({ startMs: startMs + minuteMs, endMs: startMs + 2 * minuteMs });
});

test('a checksum that fails in passing is requested again, as any other answer', async () => {
  const server = await serve((_, response) => void response.writeHead(503).end());
  const source = sourceAt(server.baseUrl, { profile: profiles['binance-archive'] as Profile });
  expect(await failureOf(source, (it) => candlesAt(it, asked()))).toMatchObject({ kind: 'server_error' });
  expect(server.requests).toHaveLength(1);
});

describeRecordings('a recorded file of a day', () => {
  test('is read to the last digit', async () => {
    const csv = recordingFile('sources/binance-archive-klines-m1-ADABTC-20211127.csv');
    const dayMs = Date.UTC(2021, 10, 27);
    const { rows, rejected } = await read(csv, asked(dayMs, dayMs + 10 * minuteMs));
    expect(rejected).toEqual([]);
    expect(
      rows.map(({ period, open, high, low, close, volume }) => [period, open, high, low, close, volume].join()),
    ).toEqual(
      csv
        .trim()
        .split('\n')
        .map((one) => one.split(',').slice(0, 6).join()),
    );
  });
});
