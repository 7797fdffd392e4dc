/**
 * The profile of an exchange with a REST interface: its offers, and its list of markets, from what is stated of them.
 */

import { type DatasetName, datasets, datasetText } from '../model/datasets/index.ts';
import { isDecimalText } from '../model/decimal.ts';
import { type EpochMs, hourMs, type Interval, intervalMs, latestMs } from '../model/intervals.ts';
import { type MarketKind, quoteText } from '../model/market.ts';
import { mayBeName } from '../model/names.ts';
import type { Point } from '../model/point-lines.ts';
import type { SeriesKey } from '../model/series.ts';
import type { Depth, Limit, SourceMarket } from '../model/sources.ts';
import { isExchanged, tradedOf, turnoverProblem } from '../model/turnover.ts';
import { wholeNumber } from '../v2/resources.ts';
import { inLines, isObject, parsedBody, rowsAnswer } from './answer.ts';
import type { Reply } from './attempt.ts';
import { jsonOrNull, kindOfReply, replyError, retryAt } from './error-response.ts';
import { intervalName, type Lists, type Offer, type Profile, rangesOf, symbolOf } from './profiles/profile.ts';
import { eventTime, pointReader, type RowReader } from './rows.ts';
import type { SourceError, SourceErrorKind } from './source-error.ts';

/** The fields of an object in an answer. */
type Fields = Readonly<Record<string | number, unknown>>;

/** Where a value stands in a row: its index in a list, or its name in an object. */
type Place = number | string;

/** A request, in the words of the exchange. */
interface Asked {
  readonly symbol: string;
  readonly interval: string | number;
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
}

/** How an exchange gives one dataset. */
export interface RestOffer {
  readonly dataset: DatasetName;
  /** Of these markets; absent: of all. */
  readonly kinds?: readonly MarketKind[];
  /** What the exchange calls each interval that it gives. */
  readonly intervals: Partial<Readonly<Record<Interval, string | number>>>;
  /** Rows of an answer at most. */
  readonly maxRows: number;
  /** Time between two rows, where they are usually further apart than the interval. */
  readonly usualMs?: number;
  /** Of a request, where fewer rows than it may have fill it. */
  readonly longestMs?: number;
  /** Absent: it keeps all. */
  readonly depth?: Depth;
  /** Since when it gives a value that the files of its archive lack; absent: it gives none. */
  readonly addsSinceMs?: EpochMs;
  /** Of a request; default 1. */
  readonly cost?: number;
  /** Path and query of a request. The range is half-open, and that of the exchange may be another one. */
  readonly path: (asked: Asked) => string;
  /** The rows in the result; absent: it is the rows. */
  readonly rows?: (result: Fields) => unknown;
  /** The market that the result names where it is another one than the requested; absent: it names none. */
  readonly otherMarket?: (result: Fields, symbol: string) => unknown;
  readonly time: Place;
  /** Unit of the time; default 1. */
  readonly timeUnitMs?: 1000;
  /** Of each column that it gives. */
  readonly values: Readonly<Record<string, Place>>;
  /** Why a row is none of the dataset's; null: it is one. Absent: all are. */
  readonly refuses?: (row: Fields) => string | null;
  /** The volume of a candle in the quote asset; absent: it is not given. */
  readonly turnover?: Place;
  /** Whether a row is of a closed period, as the exchange says; absent: it does not. */
  readonly isClosed?: (row: Fields, result: Fields) => boolean;
}

/** The list of markets of an exchange. */
interface RestMarkets {
  readonly path: string;
  readonly cost?: number;
  readonly rows?: (result: Fields) => unknown;
  readonly read: (row: Fields) => StatedMarket;
}

/** A market in a list. */
interface StatedMarket
  extends Readonly<Record<'symbol' | 'base' | 'quote', unknown>>,
    Partial<Readonly<Record<'settle' | 'listedMs', unknown>>>,
    Pick<SourceMarket, 'isTrading'> {
  /** Of a future: the time of its delivery. Absent: a perpetual, or without `settle` a spot market. */
  readonly expiryMs?: unknown;
  readonly contract?: Readonly<Record<'size' | 'asset', unknown>>;
}

/** What an exchange says of an error, in its own words. */
interface Stated {
  readonly said: string | null;
  /** Absent: by the status. */
  readonly kind?: SourceErrorKind | undefined;
  /** When it accepts requests again; absent: by the headers. */
  readonly retryAtMs?: EpochMs | undefined;
}

export interface RestExchange
  extends Partial<Pick<Profile, 'otherUrls' | 'archive' | 'keyHeaders' | 'symbolOf' | 'used'>> {
  readonly name: string;
  /** The exchange whose markets it gives; default its own name. */
  readonly exchange?: string;
  /** Of these markets; default spot markets. */
  readonly kinds?: readonly MarketKind[];
  readonly url: string;
  readonly limits: readonly Limit[];
  /** Default an hour. */
  readonly longestPauseMs?: number;
  /** The result in the JSON of an answer with status 200; undefined: it is an error. Absent: the JSON is the result. */
  readonly result?: (body: Fields) => unknown;
  /** @param body JSON of an answer; null: it is not JSON. */
  readonly states: (body: unknown, reply: Reply, nowMs: EpochMs) => Stated;
  readonly offers: readonly RestOffer[];
  readonly markets: RestMarkets;
}

export function restExchange(stated: RestExchange): Profile {
  const { name, exchange = name, kinds = ['spot'], limits, longestPauseMs = hourMs } = stated;
  const { result, states, offers, markets, ...rest } = stated;
  const refusal = (reply: Reply, nowMs: EpochMs) =>
    refusalOf(reply, states(jsonOrNull(reply.body.toString('utf8')), reply, nowMs), nowMs, longestPauseMs);
  const resultOf: ResultOf = (reply, nowMs) => {
    const body = parsedBody(reply);
    if (result === undefined) return body;
    if (!isObject(body)) throw replyError(reply, { kind: 'unexpected', said: 'not the expected shape: no object' });
    const found = result(body);
    if (found === undefined) throw refusal(reply, nowMs);
    return found;
  };
  return {
    keyHeaders: () => ({}),
    ...rest,
    ...{ exchange, kinds, limits: () => limits, files: null, longestPauseMs, refusal },
    offers: offers.map((offer) => offerOf(offer, resultOf)),
    lists: { symbols: symbolsOf(markets, resultOf) },
  };
}

/** @throws SourceError for an error, or for another form. */
type ResultOf = (reply: Reply, nowMs: EpochMs) => unknown;

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

function offerOf(offer: RestOffer, resultOf: ResultOf): Offer {
  const {
    dataset,
    kinds,
    intervals,
    maxRows,
    longestMs = Number.POSITIVE_INFINITY,
    depth = null,
    cost = 1,
    otherMarket,
  } = offer;
  const usualMs = (interval: Interval) => offer.usualMs ?? intervalMs[interval];
  return {
    ...{ dataset, kinds, depth, cost, absence: 'unknown', addsSinceMs: offer.addsSinceMs },
    longestRangeMs: rangesOf(1, intervals, (interval) => {
      return usualMs(interval) * Math.min(maxRows, Math.floor(longestMs / usualMs(interval)));
    }),
    path(query) {
      const { startMs, endMs } = query;
      return offer.path({ symbol: symbolOf(query), interval: intervalName(intervals, query), startMs, endMs });
    },
    read(reply, query, nowMs) {
      const result = resultOf(reply, nowMs);
      const fields = fieldsOf(result);
      const asked = symbolOf(query);
      const other = otherMarket?.(fields, asked);
      if (other !== undefined) {
        const said =
          `${datasetText(dataset)} of another market: ${JSON.stringify(other).slice(0, 100)} instead of ` + `${asked}`;
        throw replyError(reply, { kind: 'unexpected', said });
      }
      const rows = listOf(reply, offer.rows === undefined ? result : offer.rows(fields));
      const timeOf = (row: unknown) => {
        const time = timeAt(row, offer);
        return typeof time === 'number' ? time : null;
      };
      // From a row on that the exchange says is open, the answer states nothing.
      const openMs = rows
        .filter((row) => offer.isClosed?.(fieldsOf(row), fields) === false)
        .flatMap((row) => timeOf(row) ?? []);
      return {
        ...inLines(dataset, rowsAnswer(reply, rows, placedPoint(query, offer), null, timeOf)),
        known: openMs.length === 0 ? null : { untilMs: Math.min(...openMs), missing: [] },
      };
    },
  };
}

/** A time as a JSON integer or as digits, in milliseconds; any other value as it is, to be rejected. */
function timeAt(row: unknown, { time: place, timeUnitMs }: RestOffer): unknown {
  const unitMs = timeUnitMs ?? 1;
  const time = wholeNumber(fieldsOf(row)[place]);
  if (typeof time === 'number') return time * unitMs;
  return typeof time === 'string' && /^\d{1,15}$/.test(time) ? Number(time) * unitMs : time;
}

/** A value as text, or as a JSON number, whose digits are kept; undefined: none, or an empty text. */
function decimalAt(row: unknown, place: Place | undefined): unknown {
  const value = place === undefined ? undefined : fieldsOf(row)[place];
  if (value === '') return undefined;
  return typeof value === 'number' && isDecimalText(String(value)) ? String(value) : value;
}

/** Reads points whose values stand at fixed places. */
function placedPoint({ dataset, interval }: SeriesKey, offer: RestOffer): RowReader<Point> {
  const readPoint = pointReader(dataset, interval);
  const { columns, timeField } = datasets[dataset];
  const places = columns.map(({ name, json }) => [name, json, offer.values[name]] as const);
  return (row) => {
    if (typeof row !== 'object' || row === null) return 'not a row';
    const refusal = offer.refuses?.(fieldsOf(row)) ?? null;
    if (refusal !== null) return refusal;
    const stated = timeAt(row, offer);
    const { timeMs, delay } =
      typeof stated === 'number' ? eventTime(dataset, interval, stated) : { timeMs: stated, delay: undefined };
    const fields: Record<string, unknown> = { [timeField]: timeMs };
    for (const [column, name, place] of places) fields[name] = delay?.[column] ?? decimalAt(row, place);
    const point = readPoint(fields);
    if (typeof point === 'string' || offer.turnover === undefined) return point;
    // One that agrees in neither order may be of another unit, such as contracts: it says nothing of the volume.
    const traded = tradedOf(point, decimalAt(row, offer.turnover));
    return traded !== null && isExchanged(traded)
      ? `${turnoverProblem(traded)}; the two columns seem exchanged`
      : point;
  };
}

/** @throws SourceError `unexpected` if it is no list. */
function listOf(reply: Reply, value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw replyError(reply, { kind: 'unexpected', said: 'not the expected shape: no list' });
}

/** A market without a symbol or an asset is rejected. */
function symbolsOf({ path, cost = 1, rows, read }: RestMarkets, resultOf: ResultOf): NonNullable<Lists['symbols']> {
  return {
    cost,
    path: () => path,
    read(reply, _, nowMs) {
      const result = resultOf(reply, nowMs);
      const markets = listOf(reply, rows === undefined ? result : rows(fieldsOf(result)));
      return rowsAnswer(reply, markets, (row): SourceMarket | string => {
        if (!isObject(row)) return 'not a market';
        const stated = read(row);
        const { symbol, base, quote, settle, expiryMs, isTrading, contract } = stated;
        const listedMs = timeOf(stated.listedMs);
        if (!isName(symbol) || !isName(base) || !isName(quote)) return 'no symbol, base or quote';
        if (!('settle' in stated)) return { symbol, base, quote, listedMs, isTrading, contract: null };
        const expiry = 'expiryMs' in stated ? expiryOf(expiryMs) : null;
        if (!isName(settle) || expiry === undefined) return 'no currency of settlement, or no time of delivery';
        const market = { symbol, base, quote: quoteText({ asset: quote, settle, expiry }), listedMs, isTrading };
        if (contract === undefined) return { ...market, contract: null };
        const { size, asset } = contract;
        if (typeof size !== 'string' || !isDecimalText(size) || !isName(asset)) return 'no size of a contract';
        return { ...market, contract: { size, asset } };
      });
    },
  };
}

/** Null: it is no time. */
function timeOf(stated: unknown): EpochMs | null {
  const timeMs = Number(stated);
  return Number.isSafeInteger(timeMs) && timeMs > 0 && timeMs <= latestMs ? timeMs : null;
}

/** YYMMDD; undefined: it is no time. */
function expiryOf(stated: unknown): string | undefined {
  const timeMs = timeOf(stated);
  return timeMs === null ? undefined : new Date(timeMs).toISOString().slice(2, 10).replaceAll('-', '');
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && mayBeName(value);
}

/**
 * The error of a response, by its status and what the source states. Only a statement makes an id unknown: during an
 * outage valid paths answer 404 too.
 */
function refusalOf(reply: Reply, stated: Stated, nowMs: EpochMs, longestPauseMs: number): SourceError {
  const kind = stated.kind ?? kindOfReply(reply);
  const statedMs = stated.retryAtMs ?? retryAt(reply, nowMs, longestPauseMs);
  const retryAtMs = statedMs === null ? null : Math.min(statedMs, nowMs + longestPauseMs);
  const unknownId = stated.kind === 'not_found';
  return replyError(reply, { kind, said: stated.said, retryAtMs, unknownId });
}
