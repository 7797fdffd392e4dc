/**
 * Binance's archive of USD-M futures: candles of each price and funding by months, statistics of positions by days.
 *
 * Source: github.com/binance/binance-public-data (paths, columns, checksums). Files have a header since 2022, with
 * exceptions (issue 283), so the first line decides. Times of candles and funding are in milliseconds, also since 2025.
 */

import { datasetOf } from '../../model/datasets/index.ts';
import { dayMs, type EpochMs, intervalMs, minuteMs, periodStart } from '../../model/intervals.ts';
import { parseQuote } from '../../model/market.ts';
import { type Point, type PointLines, pointAt } from '../../model/point-lines.ts';
import { periodsWithout, type Range } from '../../model/ranges.ts';
import type { PointsAnswer, RejectedRow } from '../../planning/answer.ts';
import { linkedPoint, proofOf } from '../../planning/proof.ts';
import { inLines, longestRaw, replyFacts } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { consistentPoints } from '../contradictions.ts';
import { eventTime, pointReader } from '../rows.ts';
import { archiveOf, type FileKind, intervals, readCandles, unusable, unzipped } from './binance-archive.ts';
import type { PointsQuery, Profile } from './profile.ts';

/** The columns of a file without a header, and the one of each value of a point. */
interface Form {
  readonly columns: readonly string[];
  readonly time: string;
  readonly values: Readonly<Record<string, string>>;
  /** Whether it may end with the first time of the next file. */
  readonly spills?: true;
}

const candleColumns =
  'open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore';
const candles: Form = {
  columns: candleColumns.split(','),
  time: 'open_time',
  values: { open: 'open', high: 'high', low: 'low', close: 'close' },
};
const funding: Form = {
  columns: ['calc_time', 'funding_interval_hours', 'last_funding_rate'],
  time: 'calc_time',
  values: { rate: 'last_funding_rate', interval_hours: 'funding_interval_hours' },
};
const statistics =
  'create_time,symbol,sum_open_interest,sum_open_interest_value,count_toptrader_long_short_ratio,' +
  'sum_toptrader_long_short_ratio,count_long_short_ratio,sum_taker_long_short_vol_ratio';
const openInterest: Form = {
  columns: statistics.split(','),
  time: 'create_time',
  values: { amount: 'sum_open_interest', value: 'sum_open_interest_value' },
  spills: true,
};
const ratios: Form = {
  ...openInterest,
  values: {
    ratio: 'count_long_short_ratio',
    top_accounts_ratio: 'count_toptrader_long_short_ratio',
    top_positions_ratio: 'sum_toptrader_long_short_ratio',
    taker_ratio: 'sum_taker_long_short_vol_ratio',
  },
};

const futures = 'data/futures/um';
const ofPrice = (dataset: FileKind['dataset'], kind: string): FileKind => ({
  ...{ dataset, folder: [futures, kind], intervals },
  read: (reply, query, name) => readRows(reply, query, name, candles),
});

/** Markets of USD-M futures, and their symbols. */
export const usdmMarkets = {
  kinds: ['perpetual', 'future'],
  symbolOf(base, quote) {
    const { asset, expiry } = parseQuote(quote);
    return `${base}${asset}${expiry === null ? '' : `_${expiry}`}`;
  },
} as const satisfies Partial<Profile>;

// New files of months come on the first Monday of the next one.
export const binanceUsdmArchive = archiveOf(
  { ...usdmMarkets, name: 'binance-usdm-archive', marketsOf: ['binance-usdm', 'binance-usdm-funding'] },
  { unit: 'month', lagMs: dayMs },
  28 * dayMs,
  [
    {
      ...{ dataset: 'candles', folder: [futures, 'klines'], intervals },
      read: (reply, query, name) => readCandles(reply, query, { name, timeDigits: 13 }),
    },
    ofPrice('mark_candles', 'markPriceKlines'),
    ofPrice('index_candles', 'indexPriceKlines'),
    ofPrice('premium_candles', 'premiumIndexKlines'),
    {
      ...{ dataset: 'funding_rates', folder: [futures, 'fundingRate'], intervals: { h1: null } },
      read: (reply, query, name) => readRows(reply, query, name, funding),
    },
  ],
);

const ofStatistic = (dataset: FileKind['dataset'], form: Form): FileKind => ({
  ...{ dataset, folder: [futures, 'metrics'], intervals: { m5: null } },
  read: (reply, query, name) => readRows(reply, query, name, form),
});

export const binanceUsdmArchiveDaily = archiveOf(
  { ...usdmMarkets, name: 'binance-usdm-archive-daily', marketsOf: ['binance-usdm-data'] },
  // In some years files begin at 00:05 and end with the 00:00 of the next day.
  { unit: 'day', lagMs: 2 * dayMs, spillMs: 5 * minuteMs },
  dayMs,
  [ofStatistic('open_interest', openInterest), ofStatistic('long_short_ratios', ratios)],
);

/** Milliseconds, or a text in UTC. */
function timeOf(text: string): number | undefined {
  if (/^\d{13}$/.test(text)) return Number(text);
  const timeMs = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? Date.parse(`${text.replace(' ', 'T')}Z`) : Number.NaN;
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/**
 * The rows of a file within the requested range, in any order; a day's file may have the first time of the next day. A
 * period without a row is one that the file lacks, and is left to the next source; between two events their interval
 * says that.
 *
 * @throws SourceError `incomplete` when the file has nothing of the range.
 */
async function readRows(reply: Reply, query: PointsQuery, name: string, form: Form): Promise<PointsAnswer> {
  const { dataset, interval, startMs, endMs } = query;
  const read = pointReader(dataset, interval);
  const { columns: columnsOfPoint, timeField } = datasetOf(dataset);
  const lines = (await unzipped(reply, name))
    .toString('utf8')
    .split('\n')
    .map((line) => line.trimEnd());
  const header = lines[0]?.split(',').map((column) => column.trim().toLowerCase().replaceAll(' ', '_')) ?? [];
  const isHeader = header.includes(form.time);
  const columns = isHeader ? header : form.columns;
  const rows: Point[] = [];
  const rejected: RejectedRow[] = [];
  for (const [number, line] of lines.entries()) {
    if (line === '' || (number === 0 && isHeader)) continue;
    const values = line.split(',');
    const at = (column: string) => values[columns.indexOf(column)]?.trim() || undefined;
    const statedMs = timeOf(at(form.time) ?? '');
    const refuse = (reason: string) => {
      const time = statedMs === undefined ? {} : { timeMs: statedMs };
      if (statedMs === undefined || (statedMs >= startMs && statedMs < endMs))
        rejected.push({ raw: line.slice(0, longestRaw), reason, ...time });
    };
    if (values.length !== columns.length) refuse(`${values.length} columns instead of ${columns.length}`);
    else if (statedMs === undefined) refuse('the time is neither in milliseconds nor a text of UTC');
    else {
      const { timeMs, delay } = eventTime(dataset, interval, statedMs);
      const fields: Record<string, unknown> = { [timeField]: timeMs };
      for (const { name, json } of columnsOfPoint) fields[json] = delay?.[name] ?? at(form.values[name] ?? '');
      const point = read(fields);
      if (typeof point === 'string') refuse(point);
      else if (timeMs >= startMs && timeMs < endMs) rows.push(point);
    }
  }
  const answer = inLines(dataset, { rows, rejected, sourceTimeMs: null, ...replyFacts(reply) });
  const { rows: kept, rejected: refused } = consistentPoints(answer);
  if (kept.length === 0 && refused.every(({ timeMs }) => timeMs === undefined))
    throw unusable(reply, 'the file has no row of the requested time');
  const missing = kept.length === 0 ? [] : missingIn(query, kept, refused);
  const known = { untilMs: Number.POSITIVE_INFINITY, missing };
  return { ...answer, rows: kept, rejected: refused, isWhole: true, known, ...ownPart(query, kept.timesMs, form) };
}

/** What the file lacks: periods without a valid row; of events the refused ones, and those due after its last one. */
function missingIn(query: PointsQuery, rows: PointLines, rejected: readonly RejectedRow[]): Range[] {
  const { dataset, interval, endMs } = query;
  const lengthMs = intervalMs[interval];
  const lastMs = Math.max(...rows.timesMs);
  const last = pointAt(rows, rows.timesMs.indexOf(lastMs));
  const dueMs = proofOf(query).dueAfter(linkedPoint(last, dataset));
  if (dueMs === null) return periodsWithout(query, rows.timesMs, lengthMs);
  const refused = rejected.flatMap(({ timeMs }) =>
    timeMs == null ? [] : { startMs: timeMs, endMs: timeMs + lengthMs },
  );
  return dueMs < endMs ? [...refused, { startMs: dueMs, endMs }] : refused;
}

/** Without the first time of the next day, where that is in the file of its own day. */
function ownPart(
  { startMs, endMs }: PointsQuery,
  timesMs: readonly EpochMs[],
  form: Form,
): Pick<PointsAnswer, 'endsMs'> {
  const nextMs = periodStart(startMs, 'd1') + dayMs;
  return form.spills === true && endMs > nextMs && !timesMs.includes(nextMs) ? { endsMs: nextMs } : {};
}
