/**
 * Binance's archive: a zip for each month or day of a market, with its checksum beside it. It has spot candles, and of
 * perpetuals and futures candles of each price, funding by months, and statistics of positions by days.
 *
 * Source: github.com/binance/binance-public-data. Some files have a header row. Times of spot candles are in
 * microseconds from 2025 on. How soon a file is there is not documented: a month after three days, a day after one.
 */

import { createHash } from 'node:crypto';
import { zipSync } from 'fflate';
import { dayMs, type EpochMs, intervalMs, minuteMs, type Range } from '../../model/intervals.ts';
import type { Candle } from '../../v2/resources.ts';
import { positionsAt, premiumAt } from '../derivatives.ts';
import { contradicting } from '../faults/faults.ts';
import { streamKey, uniformAt } from '../hash.ts';
import { intervals } from './binance.ts';
import { everyPeriod, openInterestAt, perpetualsOf, spotOf, timesIn } from './binance-usdm.ts';
import { turnoverOf, type Venue, type VenueAnswer, type VenueRequest, type VenueRoute } from './venue.ts';

const microsecondsFromMs = Date.UTC(2025, 0, 1);
const monthLagMs = 3 * dayMs;
const dayLagMs = dayMs;
/** Share of the files with a header row. */
const headerShare = 0.25;
const candleHeader =
  'open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore';
const metricsHeader =
  'create_time,symbol,sum_open_interest,sum_open_interest_value,count_toptrader_long_short_ratio,' +
  'sum_toptrader_long_short_ratio,count_long_short_ratio,sum_taker_long_short_vol_ratio';

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
    ...['monthly', 'daily'].flatMap((span) => [
      route(`/data/spot/${span}/klines/:symbol/:interval/:file`, spotCandles),
      route(`/data/futures/um/${span}/:kind/:symbol/:interval/:file`, futuresCandles),
    ]),
    route('/data/futures/um/monthly/fundingRate/:symbol/:file', fundingRates),
    route('/data/futures/um/daily/metrics/:symbol/:file', metrics),
  ],
};

/** The lines of a file; none: there is no such file. */
interface Content {
  /** The columns, which some files name. */
  readonly header: string;
  readonly lines: readonly string[];
}

type Contents = (request: VenueRequest, range: Range) => Content | null;

function route(path: string, contents: Contents): VenueRoute {
  return { path, answer: (request) => answer(request, contents) };
}

/** What is wrong with a file. */
const defects = ['absent', 'no checksum', 'wrong checksum', 'corrupt', 'incomplete'] as const;

/** Such as `BTCUSDT-1m-2024-05.zip`, with the interval of its folder, or its kind. */
const namesFile = /^([\w-]+)-(?:\d[a-z]|\d\d[a-z]|[A-Za-z]+)-(\d{4})-(\d\d)(?:-(\d\d))?\.zip(?:\.CHECKSUM)?$/;

function answer(request: VenueRequest, contents: Contents): VenueAnswer {
  const { symbol = '', interval: name, file = '' } = request.params;
  const [, named = '', year, month, day] = namesFile.exec(file) ?? [];
  if (named !== symbol || (name !== undefined && !file.startsWith(`${symbol}-${name}-`))) return absent;
  const [y, m, d] = [Number(year), Number(month) - 1, day === undefined ? null : Number(day)];
  const range =
    d === null
      ? { startMs: Date.UTC(y, m, 1), endMs: Date.UTC(y, m + 1, 1) }
      : { startMs: Date.UTC(y, m, d), endMs: Date.UTC(y, m, d + 1) };
  const zip = file.replace('.CHECKSUM', '');
  const defect = defectOf(request, zip);
  const isThere = range.endMs + (d === null ? monthLagMs : dayLagMs) <= request.nowMs;
  if (!isThere || defect === 'absent') return absent;
  const content = contents(request, range);
  if (content === null || content.lines.length === 0) return absent;
  const stated = request.data.answerForm === 'another-market' ? zip.replace(symbol, `${symbol}X`) : zip;
  const bytes = zipOf(stated, defect === 'incomplete' ? withoutSome(content) : content);
  if (!file.endsWith('.CHECKSUM')) {
    const body = defect === 'corrupt' ? bytes.subarray(0, bytes.length / 2) : bytes;
    return { status: 200, body, headers: { 'content-type': 'application/zip' } };
  }
  if (defect === 'no checksum') return absent;
  const sum = createHash('sha256').update(bytes).digest('hex');
  const beside = defect === 'wrong checksum' ? [...sum].reverse().join('') : sum;
  return { status: 200, body: `${beside}  ${zip}\n`, headers: { 'content-type': 'text/plain' } };
}

function spotCandles({ params, data }: VenueRequest, range: Range): Content | null {
  const interval = intervals[params.interval ?? ''];
  const market = data.markets.find(({ base, quote }) => base + quote === params.symbol);
  if (interval === undefined || market === undefined) return null;
  const unit = range.startMs < microsecondsFromMs ? 1 : 1000;
  const rows = contradicting(data.candles(market, interval, range), data.answerForm);
  return { header: candleHeader, lines: rows.map((row) => lineOf(row, intervalMs[interval], unit)) };
}

/** Their times are in milliseconds in all years. */
function futuresCandles({ params, data }: VenueRequest, range: Range): Content | null {
  const { kind, symbol = '' } = params;
  const interval = intervals[params.interval ?? ''];
  const market = perpetualsOf(data).find(({ base, quote }) => base + quote === symbol);
  if (interval === undefined || market === undefined) return null;
  const lengthMs = intervalMs[interval];
  const ofPrice = (row: Omit<Candle, 'volume'>, samples: number) => {
    const { period, open, high, low, close } = row;
    return [period, open, high, low, close, 0, period + lengthMs - 1, 0, samples, 0, 0, 0].join();
  };
  const lines = {
    klines: () =>
      contradicting(data.candles(market, interval, range), data.answerForm).map((row) => lineOf(row, lengthMs, 1)),
    markPriceKlines: () => everyPeriod(data, market, interval, range).map((row) => ofPrice(row, 60)),
    indexPriceKlines: () => everyPeriod(data, spotOf(market), interval, range).map((row) => ofPrice(row, 60)),
    premiumIndexKlines: () =>
      timesIn(range, lengthMs).map((period) => ofPrice({ period, ...premiumAt(symbol, period) }, 12)),
  }[kind ?? ''];
  return lines === undefined ? null : { header: candleHeader, lines: lines() };
}

function fundingRates({ params, data }: VenueRequest, range: Range): Content | null {
  const { symbol = '' } = params;
  if (!perpetualsOf(data).some(({ base, quote }) => base + quote === symbol)) return null;
  const lines = data
    .fundingEvents(symbol, range)
    .map(({ statedMs, intervalHours, rate }) => [statedMs, intervalHours, rate].join());
  return { header: 'calc_time,funding_interval_hours,last_funding_rate', lines };
}

/** Up to then a file begins at 00:05 of its day and ends with 00:00 of the next one. */
const labelsChangeMs = Date.UTC(2026, 5, 25);
/** Up to then each row is there twice. */
const doubledBeforeMs = Date.UTC(2021, 0, 2);

/** In some files the rows are in another order. */
function metrics({ params, data }: VenueRequest, { startMs, endMs }: Range): Content | null {
  const { symbol = '' } = params;
  const market = perpetualsOf(data).find(({ base, quote }) => base + quote === symbol);
  if (market === undefined) return null;
  const lengthMs = 5 * minuteMs;
  const lateMs = startMs < labelsChangeMs ? lengthMs : 0;
  const times = timesIn({ startMs: startMs + lateMs, endMs: endMs + lateMs }, lengthMs);
  const kept = times.filter((timeMs) => !data.lacks(timeMs));
  const lines = openInterestAt(data, market, kept).map(({ timeMs, amount, value }) => {
    const { ratio } = positionsAt(symbol, timeMs);
    const time = new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ');
    return [time, symbol, amount, value, ratio, ratio, ratio, ratio].join();
  });
  const all = startMs < doubledBeforeMs ? lines.flatMap((line) => [line, line]) : lines;
  const isInOrder = uniformAt(streamKey('order', symbol), startMs / dayMs) < 0.5;
  return { header: metricsHeader, lines: isInOrder ? all : all.toReversed() };
}

function defectOf({ data }: VenueRequest, zip: string): (typeof defects)[number] | null {
  const key = streamKey('file', zip);
  return uniformAt(key, 0) < data.badFileRate
    ? (defects[Math.floor(uniformAt(key, 1) * defects.length)] ?? null)
    : null;
}

/** Without the first row, the last two, and three in the middle. */
function withoutSome({ header, lines }: Content): Content {
  const middle = lines.length >> 1;
  return { header, lines: [...lines.slice(1, middle), ...lines.slice(middle + 3, -2)] };
}

function zipOf(zip: string, { header, lines }: Content): Buffer {
  const head = uniformAt(streamKey('header', zip), 0) < headerShare ? [header] : [];
  const csv = Buffer.from([...head, ...lines].map((line) => `${line}\n`).join(''));
  // With a fixed time: the same file each time, as its checksum says.
  return Buffer.from(zipSync({ [zip.replace(/zip$/, 'csv')]: csv }, { level: 1, mtime: '2025-01-01' }));
}

function lineOf(row: Candle, periodMs: number, unit: number): string {
  const { period, open, high, low, close, volume } = row;
  const time = (ms: EpochMs) => ms * unit;
  const turnover = turnoverOf(row);
  const last = time(period + periodMs) - 1;
  return [time(period), open, high, low, close, volume, last, turnover, 1, volume, turnover, 0].join();
}
