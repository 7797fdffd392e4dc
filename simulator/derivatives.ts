/**
 * A synthetic perpetual: its candles, which are those of the spot market at a premium, funding, open interest, ratios
 * and the premium index. All of it follows from hashes of the market and the time.
 */

import type { DecimalText } from '../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, minuteMs, type Range } from '../model/intervals.ts';
import { fixedText } from './digits.ts';
import { hashAt, streamKey } from './hash.ts';

export interface FundingEvent {
  /** A full hour. */
  readonly timeMs: EpochMs;
  /** When the venue says that it was: up to 15 ms later. */
  readonly statedMs: EpochMs;
  readonly intervalHours: 8 | 4 | 1;
  readonly rate: DecimalText;
}

type Prices = Readonly<Record<'open' | 'high' | 'low' | 'close', DecimalText>>;

/** Hours between two events on each day of forty: a venue shortens them in a wild market. */
const cycle: readonly FundingEvent['intervalHours'][] = [
  ...Array<8>(30).fill(8),
  ...Array<4>(5).fill(4),
  ...Array<1>(2).fill(1),
  ...Array<4>(3).fill(4),
];
const hoursOn = (day: number) => cycle[day % cycle.length] ?? 8;

/** The events of a market in the range, ascending. An event states the interval that ends with it. */
export function fundingEvents(market: string, { startMs, endMs }: Range): FundingEvent[] {
  const key = streamKey('funding', market);
  const events: FundingEvent[] = [];
  for (let timeMs = Math.ceil(startMs / hourMs) * hourMs; timeMs < endMs; timeMs += hourMs) {
    // The event at midnight ends the last interval of the day before.
    const intervalHours = hoursOn(Math.floor((timeMs - 1) / dayMs));
    const hour = timeMs / hourMs;
    if (hour % intervalHours !== 0) continue;
    const hash = hashAt(key, hour);
    const rate = fixedText(BigInt(hash % 60_000) - 20_000n, 8);
    events.push({ timeMs, statedMs: timeMs + (hash % 3 === 0 ? hash % 16 : 0), intervalHours, rate });
  }
  return events;
}

/** At each time: open contracts in the base asset, and long accounts of 10,000. */
export function positionsAt(market: string, timeMs: EpochMs) {
  const hash = hashAt(streamKey('positions', market), timeMs / (5 * minuteMs));
  return {
    amount: fixedText(80_000_000n + BigInt(hash % 9_000_000), 3),
    long: fixedText(4000n + BigInt(hash % 3000), 4),
    short: fixedText(6000n - BigInt(hash % 3000), 4),
    ratio: fixedText(5000n + BigInt(hash % 20_000), 4),
  };
}

const one = 100_000_000n;

/** How far a perpetual trades above its spot market, in units of 10^-8: 0.01 to 0.05 %, always the same. */
const premiumOf = (market: string) => 10_000n + BigInt(hashAt(streamKey('premium', market), 0) % 40_000);

/** The candle of a perpetual, and of its mark price, by that of the spot market, which is its index. */
export function perpetualCandle<Row extends Prices>(market: string, { open, high, low, close, ...row }: Row) {
  const factor = one + premiumOf(market);
  // Rounded down: candles of all intervals agree.
  const raised = (price: string) => {
    const digits = price.length - price.indexOf('.') - 1;
    return fixedText((BigInt(price.replace('.', '')) * factor) / one, digits);
  };
  return { ...row, open: raised(open), high: raised(high), low: raised(low), close: raised(close) };
}

/** The premium index of a period, around the premium. It may open outside of its highest and lowest. */
export function premiumAt(market: string, timeMs: EpochMs) {
  const hash = hashAt(streamKey('premium', market), timeMs / minuteMs);
  const least = premiumOf(market) - 40_000n;
  const [open, close] = [least + BigInt(hash % 80_000), least + BigInt((hash >>> 8) % 80_000)];
  const [high, low] = open > close ? [open, close] : [close, open];
  return {
    open: fixedText(open, 8),
    high: fixedText(high, 8),
    low: fixedText(low - 7n, 8),
    close: fixedText(close, 8),
  };
}

/** Dollars of an inverse contract. */
export const contractSizeOf = (base: string) => (base === 'BTC' ? 100 : 10);

/** Inverse contracts that are worth so many dollars. */
export const contractsIn = (value: unknown, base: string) => String(Math.round(Number(value) / contractSizeOf(base)));
