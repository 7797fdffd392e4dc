/**
 * The answer of `/candles`. Sources send candles in one form: the fields of the interface in order, without white space,
 * decimals as text. One regular expression a row reads and checks it in a third of the time of JSON and the schema, which
 * is a large part of a busy worker's time. Any other form falls back to them.
 */

import type { DecimalText } from '../contract/decimal.ts';
import type { CandleInterval, EpochMs } from '../contract/intervals.ts';
import type { Candle } from '../contract/resources.ts';
import { type Answer, listAnswer, type Rejected, replyFacts } from './answer.ts';
import type { Reply } from './attempt.ts';
import { candleReader, impossible } from './rows.ts';

/** @throws SourceError as {@link listAnswer}. */
export function candleAnswer(reply: Reply, interval: CandleInterval): Answer<Candle> {
  const scanned = scanCandles(reply.body);
  if (scanned === null) return listAnswer(reply, candleReader(interval));
  const rows: Candle[] = [];
  const rejected: Rejected[] = [];
  for (const candle of scanned.candles) {
    const reason = impossible(candle, interval);
    if (reason === null) rows.push(candle);
    else rejected.push({ raw: JSON.stringify(candle), reason });
  }
  return { rows, rejected, sourceTimeMs: scanned.sourceTimeMs, ...replyFacts(reply) };
}

const head = '{"data":[';
/** At most 200 characters, like `isDecimalText`. */
const decimal = '"((?:0|[1-9]\\d{0,98})(?:\\.\\d{1,100})?)"';
const time = '(0|[1-9]\\d{0,14})';
const row = new RegExp(
  `\\{"open":${decimal},"high":${decimal},"low":${decimal},"close":${decimal},"volume":${decimal},"period":${time}\\}([,\\]])`,
  'y',
);
const tail = new RegExp(`,"timestamp":${time}\\}[ \\t\\r\\n]*$`, 'y');

export interface ScannedCandles {
  readonly candles: Candle[];
  readonly sourceTimeMs: EpochMs;
}

/** @returns null if the body has another form. It may still be valid. */
export function scanCandles(body: Buffer): ScannedCandles | null {
  // The pattern is ASCII only.
  const text = body.toString('latin1');
  if (!text.startsWith(head)) return null;
  const candles: Candle[] = [];
  row.lastIndex = head.length;
  for (;;) {
    const match = row.exec(text) as Captured | null;
    if (match === null) return null;
    const [, open, high, low, close, volume, period, end] = match;
    candles.push({ open, high, low, close, volume, period: Number(period) });
    if (end === ']') break;
  }
  tail.lastIndex = row.lastIndex;
  const timestamp = tail.exec(text)?.[1];
  return timestamp === undefined ? null : { candles, sourceTimeMs: Number(timestamp) };
}

/** Captures of the row's pattern. */
type Captured = RegExpExecArray &
  readonly [string, DecimalText, DecimalText, DecimalText, DecimalText, DecimalText, string, string];
