/** What the profiles of exchanges share: candles as arrays, errors in a 200, and markets. */

import { isDecimalText } from '../../contract/decimal.ts';
import type { CandleInterval, EpochMs } from '../../contract/intervals.ts';
import { mayBeName } from '../../contract/names.ts';
import type { Candle } from '../../contract/resources.ts';
import type { SourceMarket } from '../../contract/sources.ts';
import { isObject, parsedBody, rowsAnswer } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { kindOfStatus, replyError, retryAt } from '../refusal.ts';
import { candleReader, type RowReader } from '../rows.ts';
import { SourceError, type SourceErrorKind } from '../source-error.ts';
import type { CandlesQuery, Resources } from './profile.ts';

/** Range of a request. The pipeline always states it. */
export function rangeOf({ start = 0, end = 0 }: CandlesQuery): { startMs: EpochMs; endMs: EpochMs } {
  return { startMs: start, endMs: end };
}

/** The market of a request, as the source names it. @throws SourceError `refused` without one: names are not guessed. */
export function symbolOf({ symbol, baseId, quoteId }: CandlesQuery): string {
  if (symbol !== undefined) return symbol;
  const message = `the market ${baseId}/${quoteId} has no symbol at this source any more`;
  throw new SourceError({ kind: 'refused', message });
}

/**
 * What the source calls the interval of a request.
 *
 * @throws SourceError `refused` for an interval that it lacks: without the parameter it would answer with its default.
 */
export function intervalName<Name>(
  intervals: Partial<Readonly<Record<CandleInterval, Name>>>,
  { interval }: CandlesQuery,
): Name {
  const name = intervals[interval];
  if (name !== undefined) return name;
  throw new SourceError({ kind: 'refused', message: `the source has no candles of ${interval}` });
}

/** Where each value stands in a candle that is an array. */
export interface Places {
  readonly time: number | string;
  readonly open: number | string;
  readonly high: number | string;
  readonly low: number | string;
  readonly close: number | string;
  readonly volume: number | string;
}

/** Reads candles whose values stand at fixed places. */
export interface PlacedCandles {
  readonly read: RowReader<Candle>;
  /** The time of a row, which may be invalid otherwise. */
  readonly timeOf: (row: unknown) => EpochMs | null;
}

/** Reads candles whose values stand at `places`: as text, or as JSON numbers, whose digits are kept. */
export function placedCandle(interval: CandleInterval, places: Places, timeUnitMs: 1 | 1000): PlacedCandles {
  const readCandle = candleReader(interval);
  const at = (row: unknown, place: number | string): unknown =>
    typeof row === 'object' && row !== null ? (row as Record<number | string, unknown>)[place] : undefined;
  const timeAt = (row: unknown) => wholeMs(at(row, places.time), timeUnitMs);
  const read: RowReader<Candle> = (row) => {
    if (typeof row !== 'object' || row === null) return 'not a candle';
    const decimal = (place: number | string) => {
      const value = at(row, place);
      return typeof value === 'number' && isDecimalText(String(value)) ? String(value) : value;
    };
    return readCandle({
      open: decimal(places.open),
      high: decimal(places.high),
      low: decimal(places.low),
      close: decimal(places.close),
      volume: decimal(places.volume),
      period: timeAt(row),
    });
  };
  const timeOf = (row: unknown) => {
    const time = timeAt(row);
    return typeof time === 'number' ? time : null;
  };
  return { read, timeOf };
}

/** A time as a JSON integer or as digits, in milliseconds; any other value as it is, to be rejected. */
function wholeMs(time: unknown, unitMs: number): unknown {
  if (typeof time === 'number') return time * unitMs;
  return typeof time === 'string' && /^\d{1,15}$/.test(time) ? Number(time) * unitMs : time;
}

/** The answer of a list of candles. */
export function candlesAnswer(
  reply: Reply,
  rows: unknown,
  { read, timeOf }: PlacedCandles,
): Resources['candles']['answer'] {
  return { ...rowsAnswer(reply, listOf(reply, rows), read, null, timeOf), known: null };
}

/** @throws SourceError `unexpected` if it is no list. */
export function listOf(reply: Reply, value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw replyError(reply, { kind: 'unexpected', said: 'not the expected shape: no list' });
}

/** The answer of a list of markets. A market without a symbol or an asset is rejected. */
export function symbolsAnswer(
  reply: Reply,
  rows: unknown,
  read: (
    row: Record<string, unknown>,
  ) => Omit<SourceMarket, 'symbol' | 'base' | 'quote'> &
    Readonly<Record<'symbol' | 'base' | 'quote', unknown>>,
): Resources['symbols']['answer'] {
  return rowsAnswer(reply, listOf(reply, rows), (row): SourceMarket | string => {
    if (!isObject(row)) return 'not a market';
    const { symbol, base, quote, ...rest } = read(row);
    if (!isName(symbol) || !isName(base) || !isName(quote)) return 'no symbol, base or quote';
    return { symbol, base, quote, ...rest };
  });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && mayBeName(value);
}

/** The fields of a body that must be a JSON object. @throws SourceError `unexpected` */
export function objectBody(reply: Reply): Record<string, unknown> {
  const value = parsedBody(reply);
  if (isObject(value)) return value;
  throw replyError(reply, { kind: 'unexpected', said: 'not the expected shape: no object' });
}

/** What a source says of an error, in its own words. */
export interface Stated {
  readonly said: string | null;
  /** Absent: by the status. */
  readonly kind?: SourceErrorKind | undefined;
  /** When it accepts requests again; absent: by the headers, else in a minute. */
  readonly retryAtMs?: EpochMs | undefined;
}

/**
 * The error of a response, by its status and what the source states. Only a statement makes an id unknown: during an
 * outage valid paths answer 404 too.
 */
export function refusalOf(reply: Reply, stated: Stated, nowMs: EpochMs, longestPauseMs: number): SourceError {
  const kind = stated.kind ?? kindOfStatus(reply.status);
  const retryAtMs =
    kind === 'rate_limited'
      ? Math.min(stated.retryAtMs ?? retryAt(reply.header, nowMs, longestPauseMs), nowMs + longestPauseMs)
      : null;
  const unknownId = stated.kind === 'not_found';
  return replyError(reply, { kind, said: stated.said, retryAtMs, unknownId });
}
