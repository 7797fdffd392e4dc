/**
 * Binance's archive of spot candles: a file for each calendar month, or day, with its checksum beside it.
 *
 * Source: github.com/binance/binance-public-data (paths, columns, checksums; microseconds from 2025-01-01). Absent and
 * corrupt files, files without a checksum, and months that lack rows are known there (issues 283, 386, 401, 469, 475).
 */

import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import type { DatasetName } from '../../model/datasets/index.ts';
import { dayMs, hourMs, type Interval, intervalMs } from '../../model/intervals.ts';
import { fileOf } from '../../model/months.ts';
import type { Point } from '../../model/point-lines.ts';
import { periodsWithout, type Range } from '../../model/ranges.ts';
import type { ArchiveFiles } from '../../model/sources.ts';
import { tradedOf, turnoverProblem } from '../../model/turnover.ts';
import type { PointsAnswer, RejectedRow } from '../../planning/answer.ts';
import { longestRaw, replyFacts } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { candleCsv } from '../candle-csv.ts';
import { consistentPoints } from '../contradictions.ts';
import { csvInZip } from '../csv-in-zip.ts';
import { kindOfReply, replyError, retryAt } from '../error-response.ts';
import { pointReader, type RowReader } from '../rows.ts';
import { SourceError } from '../source-error.ts';
import { intervalName, type PointsQuery, type Profile, rangesOf, symbolOf } from './profile.ts';

export const intervals = {
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

const files = { month: { folder: 'monthly', nameLength: 7 }, day: { folder: 'daily', nameLength: 10 } } as const;
/** From this month on times are in microseconds. */
const microsecondsFromMs = Date.UTC(2025, 0, 1);

/** Files of one kind. */
export interface FileKind {
  readonly dataset: DatasetName;
  /** Above the folders of symbols, without the one of months or days: `data/spot` and `klines`. */
  readonly folder: readonly [market: string, kind: string];
  /** What files call each interval; null: they have one, and their names have the kind. */
  readonly intervals: Partial<Readonly<Record<Interval, string | null>>>;
  /** The points of a file. @throws SourceError `incomplete` when it cannot be used. */
  readonly read: (reply: Reply, query: PointsQuery, name: string) => Promise<PointsAnswer>;
}

/** @param of the files: of months or of days. @param shortestMs the shortest file; windows are cut by file. */
export const archiveOf = (
  profile: Pick<Profile, 'name' | 'kinds'> & Required<Pick<Profile, 'symbolOf' | 'marketsOf'>>,
  of: ArchiveFiles,
  shortestMs: number,
  kinds: readonly FileKind[],
): Profile => ({
  ...profile,
  url: 'https://data.binance.vision',
  exchange: 'binance',
  limits: () => [],
  offers: kinds.map((kind) => ({
    ...{ dataset: kind.dataset, depth: null, cost: 1, absence: 'unknown' },
    longestRangeMs: rangesOf(1, kind.intervals, () => shortestMs),
    path: (query) => pathOf(query, kind, of),
    checksumPath: (query) => `${pathOf(query, kind, of)}.CHECKSUM`,
    async read(reply, query, _nowMs, checksum) {
      const name = fileName(query, kind, of);
      assertChecksum(reply, checksum, name);
      return inTurn(() => kind.read(reply, query, name));
    },
  })),
  lists: {},
  files: of,
  longestPauseMs: hourMs,
  keyHeaders: () => ({}),
  refusal: (reply, nowMs) =>
    replyError(
      reply,
      reply.status === 404
        ? { kind: 'incomplete', said: 'the archive has no such file' }
        : { kind: kindOfReply(reply), said: null, retryAtMs: retryAt(reply, nowMs) },
    ),
});

export const binanceFiles = (name: string, of: ArchiveFiles, shortestMs: number): Profile =>
  archiveOf(
    { name, kinds: ['spot'], marketsOf: ['binance'], symbolOf: (base, quote) => base + quote },
    of,
    shortestMs,
    [
      {
        ...{ dataset: 'candles', folder: ['data/spot', 'klines'], intervals },
        read: (reply, query, name) =>
          readCandles(reply, query, { name, timeDigits: query.startMs < microsecondsFromMs ? 13 : 16 }),
      },
    ],
  );

// Its documentation: new files of months come on the first Monday of the next one.
export const binanceArchive = binanceFiles('binance-archive', { unit: 'month', lagMs: dayMs }, 28 * dayMs);

/** Files are read one after the other, so that the first one is stored while the next one is read. */
const inTurn = pLimit(1);

/** Such as `/data/spot/monthly/klines/BTCUSDT/1m/BTCUSDT-1m-2024-05.zip`. A window lies within a file. */
function pathOf(query: PointsQuery, kind: FileKind, of: ArchiveFiles): string {
  const [market, name] = kind.folder;
  const interval = intervalName(kind.intervals, query);
  const folders = [market, files[of.unit].folder, name, encodeURIComponent(symbolOf(query)), interval];
  return `/${folders.filter((folder) => folder !== null).join('/')}/${fileName(query, kind, of)}.zip`;
}

/** Such as `BTCUSDT-1m-2024-05`. */
function fileName(query: PointsQuery, { intervals, folder }: FileKind, of: ArchiveFiles): string {
  const date = new Date(fileOf(query, of).startMs).toISOString().slice(0, files[of.unit].nameLength);
  return `${encodeURIComponent(symbolOf(query))}-${intervalName(intervals, query) ?? folder[1]}-${date}`;
}

/** Such as `BTCUSDT-1m-2024-05.csv`. */
const namesFile = /([^\s/]+-(?:\d+[a-z]+|[A-Za-z]+)-\d{4}-\d\d(?:-\d\d)?)\.(?:zip|csv)\s*$/i;

/** @throws SourceError `incomplete` when what names a file names another one. */
function assertNamed(reply: Reply, stated: string, name: string): void {
  const [, other = name] = namesFile.exec(stated) ?? [];
  if (other.toLowerCase() !== name.toLowerCase()) throw unusable(reply, `it is ${other}, where ${name} was asked for`);
}

/** @throws SourceError `incomplete`: the file cannot be trusted, and the next source has its time. */
function assertChecksum(reply: Reply, checksum: Reply | null, name: string): void {
  const text = checksum?.body.toString('latin1') ?? '';
  assertNamed(reply, text, name);
  const stated = /^[\da-f]{64}\b/i.exec(text);
  if (stated === null) throw unusable(reply, 'what is stated beside the file is no checksum');
  const own = createHash('sha256').update(reply.body).digest('hex');
  const [expected] = stated;
  if (own !== expected.toLowerCase())
    throw unusable(reply, `the file has the checksum ${own}, and ${expected} is stated beside it`);
}

export function unusable(reply: Reply, said: string) {
  return replyError(reply, { kind: 'incomplete', said });
}

const byteOrderMark = Buffer.from('\uFEFF');

export async function unzipped(reply: Reply, name: string): Promise<Buffer> {
  try {
    const { name: stated, csv } = await csvInZip(reply.body);
    assertNamed(reply, stated, name);
    return csv.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? csv.subarray(byteOrderMark.length) : csv;
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw unusable(reply, `the file cannot be unzipped: ${error instanceof Error ? error.message : error}`);
  }
}

/** Time, open, high, low, close, volume; close time, the volume in the quote asset, and four more. */
const columns = 12;
const turnoverColumn = 7;

/**
 * The rows of the requested range. Binance gives a row for a period without trades, and files lack rows that the files
 * of their days and the REST interface have: a period without a line is stated as missing, and left to the next source.
 * So is one whose line is rejected.
 *
 * @throws SourceError `incomplete` when the file has nothing of the range.
 */
export async function readCandles(
  reply: Reply,
  query: PointsQuery,
  { name, timeDigits }: { readonly name: string; readonly timeDigits: 13 | 16 },
): Promise<PointsAnswer> {
  const { interval } = query;
  const asked: Range = query;
  const rejected: RejectedRow[] = [];
  const reader = pointReader('candles', interval);
  const csv = candleCsv(await unzipped(reply, name), { columns, turnoverColumn, timeDigits, interval, range: asked });
  const isAsked = (timeMs: number) => timeMs >= asked.startMs && timeMs < asked.endMs;
  let isFirst = true;
  for (const others of csv.read()) {
    for (const line of others) {
      const text = line.trimEnd();
      const isHeader = isFirst && header.test(text);
      isFirst = false;
      if (text === '' || isHeader) continue;
      const row = readLine(text, timeDigits, reader);
      if (!('reason' in row)) {
        if (isAsked(row.timeMs)) csv.add(row);
      } else if (row.timeMs == null || isAsked(row.timeMs)) rejected.push({ ...row, raw: text.slice(0, longestRaw) });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { rows, rejected: refused } = consistentPoints({ rows: csv.end(), rejected });
  if (rows.length === 0 && refused.every(({ timeMs }) => timeMs === undefined))
    throw unusable(reply, 'the file has no row of the requested time');
  // Without a candle the whole answer is unreadable: the next source gives all of it.
  const missing = rows.length === 0 ? [] : periodsWithout(asked, rows.timesMs, intervalMs[interval]);
  const known = { untilMs: Number.POSITIVE_INFINITY, missing };
  return { rows, rejected: refused, sourceTimeMs: null, isWhole: true, known, ...replyFacts(reply) };
}

const wrongUnit = (digits: number) =>
  `the time is not in ${digits === 13 ? 'milliseconds' : 'microseconds'}, as files of its month have it`;

/** Such as `open_time,open`, or `Open time,Open`. */
const header = /^open.?time,/i;

/** A line of another form than the usual one: a candle, or why it is none. */
function readLine(text: string, digits: number, read: RowReader<Point>): Point | Omit<RejectedRow, 'raw'> {
  const values = text.split(',');
  const [time = '', open, high, low, close, volume] = values;
  const period = time.length === 16 ? Number(time) / 1000 : Number(time);
  const placed = /^(\d{13}|\d{16})$/.test(time) ? { timeMs: period } : {};
  if (values.length !== columns) return { reason: `${values.length} columns instead of ${columns}`, ...placed };
  if (time.length !== digits || placed.timeMs === undefined) return { reason: wrongUnit(digits), ...placed };
  const row = read({ open, high, low, close, volume, period });
  if (typeof row === 'string') return { reason: row, ...placed };
  const traded = tradedOf(row, values[turnoverColumn]);
  const problem = traded === null ? null : turnoverProblem(traded);
  return problem === null ? row : { reason: problem, ...placed };
}
