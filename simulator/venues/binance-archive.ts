/**
 * Binance's archive of spot candles: a zip for each month or day, with its checksum beside it.
 *
 * Source: github.com/binance/binance-public-data. Some files have a header row, and times are in microseconds from 2025
 * on. How soon a file is there is not documented: a month after three days, a day after one.
 */

import { createHash } from 'node:crypto';
import { zipSync } from 'fflate';
import { dayMs, type EpochMs, intervalMs, type Range } from '../../model/intervals.ts';
import type { Candle } from '../../v2/resources.ts';
import { contradicting } from '../faults/faults.ts';
import { streamKey, uniformAt } from '../hash.ts';
import { intervals } from './binance.ts';
import { turnoverOf, type Venue, type VenueAnswer, type VenueRequest } from './venue.ts';

const microsecondsFromMs = Date.UTC(2025, 0, 1);
const monthLagMs = 3 * dayMs;
const dayLagMs = dayMs;
/** Share of the files with a header row. */
const headerShare = 0.25;
const header =
  'open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore\n';

const absent: VenueAnswer = {
  status: 404,
  body:
    '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code><Message>The specified key does not ' +
    'exist.</Message></Error>',
  headers: { 'content-type': 'application/xml' },
};

export const binanceArchive: Venue = {
  exchange: 'binance',
  limit: { amount: Number.MAX_SAFE_INTEGER, periodMs: 1000, kind: 'rolling' },
  refuse: () => ({ status: 503, body: '<Error><Code>SlowDown</Code></Error>' }),
  failure: { status: 500, body: '<Error><Code>InternalError</Code></Error>' },
  unknownPath: absent,
  routes: [
    { path: '/data/spot/monthly/klines/:symbol/:interval/:file', answer: (request) => answer(request, 'month') },
    { path: '/data/spot/daily/klines/:symbol/:interval/:file', answer: (request) => answer(request, 'day') },
  ],
};

/** What is wrong with a file. */
const defects = ['absent', 'no checksum', 'wrong checksum', 'corrupt', 'incomplete'] as const;

function answer(request: VenueRequest, span: 'month' | 'day'): VenueAnswer {
  const { symbol = '', interval: name = '', file = '' } = request.params;
  const interval = intervals[name];
  const date = span === 'month' ? '(\\d{4})-(\\d\\d)' : '(\\d{4})-(\\d\\d)-(\\d\\d)';
  const match = new RegExp(`^${symbol}-${name}-${date}\\.zip(\\.CHECKSUM)?$`).exec(file);
  const market = request.data.markets.find(({ base, quote }) => base + quote === symbol);
  if (!/^\w+$/.test(symbol) || interval === undefined || match === null || market === undefined) return absent;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  const range =
    span === 'month'
      ? { startMs: Date.UTC(year, month - 1, 1), endMs: Date.UTC(year, month, 1) }
      : { startMs: Date.UTC(year, month - 1, day), endMs: Date.UTC(year, month - 1, day + 1) };
  const zip = file.replace('.CHECKSUM', '');
  const defect = defectOf(request, zip);
  const isThere = range.endMs + (span === 'month' ? monthLagMs : dayLagMs) <= request.nowMs;
  if (!isThere || defect === 'absent') return absent;
  const rows = contradicting(request.data.candles(market, interval, range), request.data.answerForm);
  if (rows.length === 0) return absent;
  const named = request.data.answerForm === 'another-market' ? zip.replace(symbol, `${symbol}X`) : zip;
  const bytes = zipOf(named, defect === 'incomplete' ? withoutSome(rows) : rows, range, intervalMs[interval]);
  if (!file.endsWith('.CHECKSUM')) {
    const body = defect === 'corrupt' ? bytes.subarray(0, bytes.length / 2) : bytes;
    return { status: 200, body, headers: { 'content-type': 'application/zip' } };
  }
  if (defect === 'no checksum') return absent;
  const sum = createHash('sha256').update(bytes).digest('hex');
  const stated = defect === 'wrong checksum' ? [...sum].reverse().join('') : sum;
  return { status: 200, body: `${stated}  ${zip}\n`, headers: { 'content-type': 'text/plain' } };
}

function defectOf({ data }: VenueRequest, zip: string): (typeof defects)[number] | null {
  const key = streamKey('file', zip);
  return uniformAt(key, 0) < data.badFileRate
    ? (defects[Math.floor(uniformAt(key, 1) * defects.length)] ?? null)
    : null;
}

/** Without the first row, the last two, and three in the middle. */
function withoutSome(rows: readonly Candle[]): readonly Candle[] {
  const middle = rows.length >> 1;
  return [...rows.slice(1, middle), ...rows.slice(middle + 3, -2)];
}

function zipOf(zip: string, rows: readonly Candle[], { startMs }: Range, periodMs: number): Buffer {
  const unit = startMs < microsecondsFromMs ? 1 : 1000;
  const lines = rows.map((row) => lineOf(row, periodMs, unit)).join('');
  const head = uniformAt(streamKey('header', zip), 0) < headerShare ? header : '';
  const csv = Buffer.from(head + lines);
  // With a fixed time: the same file each time, as its checksum says.
  return Buffer.from(zipSync({ [zip.replace(/zip$/, 'csv')]: csv }, { level: 1, mtime: '2025-01-01' }));
}

function lineOf(row: Candle, periodMs: number, unit: number): string {
  const { period, open, high, low, close, volume } = row;
  const time = (ms: EpochMs) => ms * unit;
  const turnover = turnoverOf(row);
  const last = time(period + periodMs) - 1;
  return `${[time(period), open, high, low, close, volume, last, turnover, 1, volume, turnover, 0].join()}\n`;
}
