/**
 * Binance's archive of spot candles: a file for each calendar month, with its checksum beside it.
 *
 * Source: github.com/binance/binance-public-data (paths, columns, checksums; microseconds from 2025-01-01). Absent and corrupt
 * files, files without a checksum, and months that lack rows are known there (issues 283, 386, 401, 469, 475).
 */

import { createHash } from 'node:crypto';
import type { CandleInterval } from '../../contract/intervals.ts';
import { dayMs, hourMs, intervalMs } from '../../contract/intervals.ts';
import type { Candle } from '../../contract/resources.ts';
import { periodsWithout } from '../../planning/ranges.ts';
import { type Rejected, replyFacts } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { linesInZip } from '../lines-in-zip.ts';
import { kindOfStatus, replyError } from '../refusal.ts';
import { candleReader, impossible } from '../rows.ts';
import { type Profile, type Resources, rangesOf } from './profile.ts';
import { intervalName, rangeOf, symbolOf } from './venue.ts';

const intervals = {
  m1: '1m',
  m5: '5m',
  m15: '15m',
  m30: '30m',
  h1: '1h',
  h2: '2h',
  h4: '4h',
  h8: '8h',
  h12: '12h',
  d1: '1d',
} as const;

/** The shortest month bounds the longest range: windows are cut by month, and estimates count with it. */
const shortestMonthMs = 28 * dayMs;
/** From this month on times are in microseconds. */
const microsecondsFromMs = Date.UTC(2025, 0, 1);

export const binanceArchive: Profile = {
  name: 'binance-archive',
  url: 'https://data.binance.vision',
  exchange: 'binance',
  limits: () => [],
  longestRangeMs: {
    candles: rangesOf<CandleInterval>(1, intervals, {
      ...intervalMs,
      ...Object.fromEntries(Object.keys(intervals).map((interval) => [interval, shortestMonthMs])),
    }),
    asset_history: {},
  },
  depthPeriods: null,
  // A file comes in the first days of the next month, some later.
  archiveLagMs: 3 * dayMs,
  absence: 'unknown',
  longestPauseMs: hourMs,
  keyHeaders: () => ({}),
  refusal: (reply) =>
    replyError(
      reply,
      reply.status === 404
        ? { kind: 'incomplete', said: 'the archive has no such file' }
        : { kind: kindOfStatus(reply.status), said: null },
    ),
  resources: {
    candles: {
      path: (query) => `/data/spot/monthly/klines/${fileOf(query)}`,
      checksumPath: (query) => `/data/spot/monthly/klines/${fileOf(query)}.CHECKSUM`,
      async read(reply, query, _nowMs, checksum) {
        assertChecksum(reply, checksum);
        return readFile(reply, query);
      },
    },
  },
};

type Query = Resources['candles']['query'];

/** Such as `BTCUSDT/1m/BTCUSDT-1m-2024-05.zip`. A window lies within a month. */
function fileOf(query: Query): string {
  const symbol = encodeURIComponent(symbolOf(query));
  const interval = intervalName(intervals, query);
  const month = new Date(rangeOf(query).startMs).toISOString().slice(0, 7);
  return `${symbol}/${interval}/${symbol}-${interval}-${month}.zip`;
}

/** @throws SourceError `incomplete`: the file cannot be trusted, and the next source has its time. */
function assertChecksum(reply: Reply, checksum: Reply | null): void {
  const stated = checksum?.status === 200 ? /^[\da-f]{64}\b/i.exec(checksum.body.toString('latin1')) : null;
  if (stated === null)
    throw unusable(reply, `the file has no checksum (status ${checksum?.status ?? 'unknown'})`);
  const own = createHash('sha256').update(reply.body).digest('hex');
  const [expected] = stated;
  if (own !== expected.toLowerCase())
    throw unusable(reply, `the file has the checksum ${own}, and ${expected} is stated beside it`);
}

function unusable(reply: Reply, said: string) {
  return replyError(reply, { kind: 'incomplete', said });
}

async function* unzipped(reply: Reply): AsyncGenerator<string> {
  try {
    yield* linesInZip(reply.body);
  } catch (error) {
    throw unusable(reply, `the file cannot be unzipped: ${error instanceof Error ? error.message : error}`);
  }
}

const decimal = '((?:0|[1-9]\\d{0,98})(?:\\.\\d{1,100})?)';
/** Open time, open, high, low, close, volume; close time and six more columns. */
const line = new RegExp(`(\\d{13}|\\d{16}),${`${decimal},`.repeat(5)}\\d+(?:,[^,\\n]*){5}\\r?(?:\\n|$)`, 'y');

type Decimal = Candle['open'];
/** The matched line, the time, and the values. */
type Captured = readonly [string, string, Decimal, Decimal, Decimal, Decimal, Decimal];

/**
 * The rows of the requested range. Binance gives a row for a period without trades, and files lack rows that the files of
 * their days and the REST interface have: a period without a line is stated as missing, and left to the next source.
 *
 * @throws SourceError `incomplete` when the file has nothing of the range.
 */
async function readFile(reply: Reply, query: Query): Promise<Resources['candles']['answer']> {
  const { interval } = query;
  const asked = rangeOf(query);
  const digits = asked.startMs < microsecondsFromMs ? 13 : 16;
  const rows: Candle[] = [];
  const rejected: Rejected[] = [];
  const read = candleReader(interval);
  let isFirst = true;
  for await (const text of unzipped(reply)) {
    let place = isFirst && text.startsWith('open_time') ? text.indexOf('\n') + 1 : 0;
    isFirst = false;
    while (place < text.length) {
      line.lastIndex = place;
      const match = line.exec(text) as unknown as Captured | null;
      if (match === null) {
        const end = text.indexOf('\n', place);
        const raw = text.slice(place, end === -1 ? undefined : end).trimEnd();
        place = end === -1 ? text.length : end + 1;
        if (raw !== '') rejected.push(badLine(raw, digits, read));
        continue;
      }
      place = line.lastIndex;
      const [raw, time, open, high, low, close, volume] = match;
      const period = time.length === 16 ? Number(time) / 1000 : Number(time);
      if (time.length !== digits)
        rejected.push({ raw: raw.trimEnd(), reason: wrongUnit(digits), timeMs: period });
      else {
        const candle = { open, high, low, close, volume, period };
        const reason = impossible(candle, interval);
        if (reason !== null) rejected.push({ raw: raw.trimEnd(), reason, timeMs: period });
        else if (period >= asked.startMs && period < asked.endMs) rows.push(candle);
      }
    }
  }
  const inRange = rejected.filter(
    ({ timeMs }) => timeMs == null || (timeMs >= asked.startMs && timeMs < asked.endMs),
  );
  const timesMs = [...rows.map(({ period }) => period), ...inRange.flatMap(({ timeMs }) => timeMs ?? [])];
  if (timesMs.length === 0) throw unusable(reply, 'the file has no row of the requested time');
  const missing = periodsWithout(asked, timesMs, intervalMs[interval]);
  const known = { untilMs: Number.POSITIVE_INFINITY, missing };
  return { rows, rejected: inRange, sourceTimeMs: null, isWhole: true, known, ...replyFacts(reply) };
}

const wrongUnit = (digits: number) =>
  `the time is not in ${digits === 13 ? 'milliseconds' : 'microseconds'}, as files of its month have it`;

/** A line that the pattern does not match: read by its columns, for the reason. */
function badLine(raw: string, digits: number, read: ReturnType<typeof candleReader>): Rejected {
  const columns = raw.split(',');
  const [time = '', open, high, low, close, volume] = columns;
  if (columns.length !== 12) return { raw, reason: `${columns.length} columns instead of 12` };
  if (!/^\d+$/.test(time) || time.length !== digits) return { raw, reason: wrongUnit(digits) };
  const period = time.length === 16 ? Number(time) / 1000 : Number(time);
  const row = read({ open, high, low, close, volume, period });
  return { raw, reason: typeof row === 'string' ? row : 'not a line of candles', timeMs: period };
}
