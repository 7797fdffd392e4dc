/** Readers of single rows, one for each resource, by the schemas of v2/resources.ts. */

import type { z } from 'zod';
import { areTextComparable, compareDecimals, type DecimalText, decimalText, isDecimalText } from '../model/decimal.ts';
import { type EpochMs, type Interval, isOnGrid, latestMs } from '../model/intervals.ts';
import type { Candle, HistoryPoint } from '../v2/resources.ts';
import * as resources from '../v2/resources.ts';

/** Returns the row, or the reason why the value is invalid. */
export type RowReader<Row extends object> = (value: unknown) => Row | string;

export const readAsset = bySchema(resources.asset);
export const readAssetMarket = bySchema(resources.assetMarket);
export const readMarket = bySchema(resources.market);
export const readExchange = bySchema(resources.exchange);
export const readRate = bySchema(resources.rate);
const candleBySchema = bySchema(resources.candle);
const historyPointBySchema = bySchema(resources.historyPoint);

// Points come in thousands, so the fast path is tried first.
export const readHistoryPoint: RowReader<HistoryPoint> = (value) =>
  plainHistoryPoint(value) ?? historyPointBySchema(value);

export function candleReader(interval: Interval): RowReader<resources.Candle> {
  return (value) => {
    const row = plainCandle(value) ?? candleBySchema(value);
    return typeof row === 'string' ? row : (impossible(row, interval) ?? row);
  };
}

function bySchema<Row extends object>(schema: z.ZodType<Row>): RowReader<Row> {
  return (value) => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    if (issue === undefined) return 'not of the expected shape';
    const field = issue.path.join('.');
    return field === '' ? issue.message : `${field}: ${issue.message}`;
  };
}

/*
 * Fast path for points whose decimals are text. The schema reads them the same, and any other form, but creates about
 * twenty objects a row, which is a large part of a busy worker's time.
 */

export function plainCandle(value: unknown): Candle | null {
  if (!isObject(value)) return null;
  const { open, high, low, close, volume, period } = value;
  const isPlain =
    isDecimal(open) && isDecimal(high) && isDecimal(low) && isDecimal(close) && isDecimal(volume) && isTime(period);
  return isPlain ? { open, high, low, close, volume, period } : null;
}

export function plainHistoryPoint(value: unknown): HistoryPoint | null {
  if (!isObject(value)) return null;
  const { priceUsd, time } = value;
  return isDecimal(priceUsd) && isTime(time) ? { priceUsd, time } : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isDecimal(value: unknown): value is DecimalText {
  return typeof value === 'string' && isDecimalText(value);
}

function isTime(value: unknown): value is EpochMs {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= latestMs;
}

const zero = decimalText('0');

/** Why `candle` is impossible for `interval`, whatever the market did; null: it is possible. */
export function impossible(candle: Candle, interval: Interval): string | null {
  const { open, high, low, close, volume, period } = candle;
  if (!isOnGridOf(period, interval)) return `does not start a period of ${interval}`;
  if (isPlainlyPossible(candle)) return null;
  if (compareDecimals(high, low) < 0) return 'high is below low';
  if (compareDecimals(open, low) < 0) return 'open is below low';
  if (compareDecimals(open, high) > 0) return 'open is above high';
  if (compareDecimals(close, low) < 0) return 'close is below low';
  if (compareDecimals(close, high) > 0) return 'close is above high';
  if (volume.startsWith('-') && compareDecimals(volume, zero) < 0) return 'volume is negative';
  return null;
}

/** Whether a period of the interval starts at a time. The interface does not state on which day a week begins. */
export function isOnGridOf(timeMs: EpochMs, interval: Interval): boolean {
  return isOnGrid(timeMs, interval === 'w1' ? 'd1' : interval);
}

/** Fast path: compares as text, in a fifth of the time. False decides nothing. */
function isPlainlyPossible({ open, high, low, close, volume }: Candle): boolean {
  return (
    low <= open &&
    open <= high &&
    low <= close &&
    close <= high &&
    !volume.startsWith('-') &&
    areTextComparable([low, open, close, high])
  );
}
