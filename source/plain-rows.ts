/**
 * Points in the form in which nearly all of them come: every decimal as text, and nothing to mend. For any other
 * value, and to say what is wrong with it, there is the contract's schema, which reads these the same.
 *
 * The schema makes some twenty objects a row, which costs a worker with many answers under way a good part of its
 * time.
 */

import { type DecimalText, isDecimalText } from '../contract/decimal.ts';
import { type EpochMs, latestMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';

export function plainCandle(value: unknown): Candle | null {
  if (!isObject(value)) return null;
  const { open, high, low, close, volume, period } = value;
  const isPlain =
    isDecimal(open) &&
    isDecimal(high) &&
    isDecimal(low) &&
    isDecimal(close) &&
    isDecimal(volume) &&
    isTime(period);
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
