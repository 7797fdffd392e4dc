/**
 * Reads candles in the form in which sources of the interface send them: its fields in order, without white space, decimals as
 * text. Reading and checking their bytes takes a third of the time of parsing the JSON alone, which would be a large part of a
 * busy worker's time. Any other form is left to JSON and the schema.
 */

import type { CandleLines } from '../model/candle-lines.ts';
import type { CandleInterval, EpochMs } from '../model/intervals.ts';
import type { Candle } from '../v2/resources.ts';
import { endOf, isPossible, newPlaces, type Places, scanDecimal, startOf } from './plain-decimals.ts';
import { impossible, isOnGridOf } from './rows.ts';

const head = Buffer.from('{"data":[');
/** What stands before each decimal. */
const keys = ['{"open":"', '","high":"', '","low":"', '","close":"', '","volume":"'].map((key) => Buffer.from(key));
const periodKey = Buffer.from('","period":');
const tail = /^,"timestamp":(0|[1-9]\d{0,14})\}[ \t\r\n]*$/;
const [comma, zero, nine, bracket, brace] = [44, 48, 57, 93, 125] as const;
/** A time as text is a safe integer. */
const longestTime = 15;

export interface ScannedCandles {
  readonly rows: CandleLines;
  /** Candles that no market can have, with the reason. */
  readonly impossible: ReadonlyArray<{ readonly candle: Candle; readonly reason: string }>;
  readonly sourceTimeMs: EpochMs;
}

/** @returns null if the body has another form. It may still be valid. */
export function scanCandles(body: Buffer, interval: CandleInterval): ScannedCandles | null {
  if (!startsAt(body, 0, head)) return null;
  const timesMs: EpochMs[] = [];
  const starts: number[] = [];
  const row = newPlaces();
  const keep = (timeMs: EpochMs) => {
    timesMs.push(timeMs);
    starts.push(startOf(row, 0));
  };
  const refused: Array<ScannedCandles['impossible'][number]> = [];
  let at = head.length;
  for (;;) {
    for (const [column, key] of keys.entries()) {
      if (!startsAt(body, at, key)) return null;
      at = scanDecimal(body, at + key.length, row, column);
      if (at < 0) return null;
    }
    if (!startsAt(body, at, periodKey)) return null;
    at += periodKey.length;
    const start = at;
    let timeMs = 0;
    for (let byte = body[at] ?? 0; byte >= zero && byte <= nine; byte = body[++at] ?? 0)
      timeMs = timeMs * 10 + byte - zero;
    const digits = at - start;
    const isTime = digits > 0 && digits <= longestTime && (digits === 1 || body[start] !== zero);
    if (!isTime || body[at] !== brace) return null;
    if (isOnGridOf(timeMs, interval) && isPossible(body, row)) keep(timeMs);
    else {
      const candle = candleAt(body, row, timeMs);
      const reason = impossible(candle, interval);
      if (reason === null) keep(timeMs);
      else refused.push({ candle, reason });
    }
    const end = body[at + 1];
    at += 2;
    if (end === bracket) break;
    if (end !== comma) return null;
  }
  const timestamp = tail.exec(body.toString('latin1', at))?.[1];
  return timestamp === undefined
    ? null
    : {
        rows: { length: timesMs.length, timesMs, starts, text: body },
        impossible: refused,
        sourceTimeMs: Number(timestamp),
      };
}

/** The candle whose decimals were scanned. */
function candleAt(body: Buffer, row: Places, period: EpochMs): Candle {
  const decimal = (column: number) =>
    body.toString('latin1', startOf(row, column), endOf(row, column)) as Candle['open'];
  return {
    open: decimal(0),
    high: decimal(1),
    low: decimal(2),
    close: decimal(3),
    volume: decimal(4),
    period,
  };
}

function startsAt(bytes: Buffer, at: number, key: Buffer): boolean {
  for (let place = 0; place < key.length; place += 1) if (bytes[at + place] !== key[place]) return false;
  return true;
}
