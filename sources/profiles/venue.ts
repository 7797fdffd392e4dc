/** What the profiles of exchanges share: candles as arrays, errors in a 200, and markets. */

import { isDecimalText } from '../../model/decimal.ts';
import type { CandleInterval, EpochMs } from '../../model/intervals.ts';
import { mayBeName } from '../../model/names.ts';
import type { SourceMarket } from '../../model/sources.ts';
import { isExchanged, turnoverProblem } from '../../model/turnover.ts';
import { type Candle, wholeNumber } from '../../v2/resources.ts';
import { isObject, parsedBody, rowsAnswer } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { kindOfReply, replyError, retryAt } from '../refusal.ts';
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
  /** The volume in the quote asset; absent: it is not given. */
  readonly turnover?: number | string;
  /** Whether the candle is closed, as the source says; absent: it does not. */
  readonly isClosed?: (row: Readonly<Record<number | string, unknown>>) => boolean;
}

/** Reads candles whose values stand at fixed places. */
export interface PlacedCandles {
  readonly read: RowReader<Candle>;
  /** The time of a row, which may be invalid otherwise. */
  readonly timeOf: (row: unknown) => EpochMs | null;
  /** Whether the source says that the candle is open. */
  readonly isOpen: (row: unknown) => boolean;
}

/** Reads candles whose values stand at `places`: as text, or as JSON numbers, whose digits are kept. */
export function placedCandle(interval: CandleInterval, places: Places, timeUnitMs: 1 | 1000): PlacedCandles {
  const readCandle = candleReader(interval);
  const at = (row: unknown, place: number | string): unknown =>
    typeof row === 'object' && row !== null ? (row as Record<number | string, unknown>)[place] : undefined;
  const timeAt = (row: unknown) => wholeMs(at(row, places.time), timeUnitMs);
  const decimal = (row: unknown, place: number | string) => {
    const value = at(row, place);
    return typeof value === 'number' && isDecimalText(String(value)) ? String(value) : value;
  };
  const read: RowReader<Candle> = (row) => {
    if (typeof row !== 'object' || row === null) return 'not a candle';
    const candle = readCandle({
      open: decimal(row, places.open),
      high: decimal(row, places.high),
      low: decimal(row, places.low),
      close: decimal(row, places.close),
      volume: decimal(row, places.volume),
      period: timeAt(row),
    });
    if (typeof candle === 'string' || places.turnover === undefined) return candle;
    const turnover = decimal(row, places.turnover);
    // One that agrees in neither order may be of another unit, such as contracts: it says nothing of the volume.
    const traded = typeof turnover === 'string' && isDecimalText(turnover) ? { ...candle, turnover } : null;
    return traded !== null && isExchanged(traded)
      ? `${turnoverProblem(traded)}; the two columns seem exchanged`
      : candle;
  };
  const timeOf = (row: unknown) => {
    const time = timeAt(row);
    return typeof time === 'number' ? time : null;
  };
  const isOpen = (row: unknown) =>
    isObject(row) || Array.isArray(row)
      ? places.isClosed?.(row as Readonly<Record<number | string, unknown>>) === false
      : false;
  return { read, timeOf, isOpen };
}

/** A time as a JSON integer or as digits, in milliseconds; any other value as it is, to be rejected. */
function wholeMs(written: unknown, unitMs: number): unknown {
  const time = wholeNumber(written);
  if (typeof time === 'number') return time * unitMs;
  return typeof time === 'string' && /^\d{1,15}$/.test(time) ? Number(time) * unitMs : time;
}

/** The answer of a list of candles. From a candle on that the source says is open, it states nothing. */
export function candlesAnswer(
  reply: Reply,
  rows: unknown,
  { read, timeOf, isOpen }: PlacedCandles,
): Resources['candles']['answer'] {
  const list = listOf(reply, rows);
  const openMs = list.filter(isOpen).flatMap((row) => timeOf(row) ?? []);
  return {
    ...rowsAnswer(reply, list, read, null, timeOf),
    known: openMs.length === 0 ? null : { untilMs: Math.min(...openMs), missing: [] },
  };
}

/** @throws SourceError `unexpected` when an answer names another market than the one that was asked for. */
export function assertMarket(reply: Reply, asked: string, isAsked: boolean, named: unknown): void {
  if (isAsked) return;
  const said = `candles of another market: ${JSON.stringify(named)?.slice(0, 100)} instead of ${asked}`;
  throw replyError(reply, { kind: 'unexpected', said });
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
  ) => Omit<SourceMarket, 'symbol' | 'base' | 'quote'> & Readonly<Record<'symbol' | 'base' | 'quote', unknown>>,
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
  /** When it accepts requests again; absent: by the headers. */
  readonly retryAtMs?: EpochMs | undefined;
}

/**
 * The error of a response, by its status and what the source states. Only a statement makes an id unknown: during an
 * outage valid paths answer 404 too.
 */
export function refusalOf(reply: Reply, stated: Stated, nowMs: EpochMs, longestPauseMs: number): SourceError {
  const kind = stated.kind ?? kindOfReply(reply);
  const statedMs = stated.retryAtMs ?? retryAt(reply, nowMs, longestPauseMs);
  const retryAtMs = statedMs === null ? null : Math.min(statedMs, nowMs + longestPauseMs);
  const unknownId = stated.kind === 'not_found';
  return replyError(reply, { kind, said: stated.said, retryAtMs, unknownId });
}
