/** `ohlcv_in` beside its definition in whole numbers, over a year with gaps, ties, zeros, and values of any size. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { compareDecimals, decimalText } from '../../../contract/decimal.ts';
import { dayMs, type EpochMs, hourMs } from '../../../contract/intervals.ts';
import { timestamp } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { openTestStore, type TestStore } from '../open-store.ts';
import { market, put, type StoredCandle } from './candles.ts';
import { ask } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const days = 366;
/** Polls every seven hours, so that some fall on the beginning of a day; with an outage of ten days. */
const pollMs = 7 * hourMs;

function valueAt(place: number): string {
  if (place % 331 === 5) return '0';
  if (place % 337 === 5) return `0.${'0'.repeat(29)}1`;
  if (place % 347 === 5) return `1${'0'.repeat(42)}`;
  return `${100 + (Math.imul(place, 2654435761) >>> 28)}${['', '.0', '.50', '.12345678901234567'][place % 4]}`;
}

const ascending = (one: string, other: string) => compareDecimals(decimalText(one), decimalText(other));

const candles: readonly StoredCandle[] = Array.from({ length: days }, (_, day) => {
  const [low = '', open = '', close = '', high = ''] = [0, 1, 2, 3]
    .map((nth) => valueAt(day * 4 + nth))
    .sort(ascending);
  // Up on one day and down on the next.
  const [first, last] = day % 2 === 0 ? [open, close] : [close, open];
  return { timeMs: startMs + day * dayMs, open: first, high, low, close: last, volume: '1' };
}).filter((_, day) => day % 41 !== 7);

interface Rates {
  readonly timeMs: EpochMs;
  readonly tether: string;
  readonly euro: string;
}

const polls: readonly Rates[] = Array.from({ length: Math.ceil((days * dayMs) / pollMs) + 2 }, (_, poll) => ({
  timeMs: startMs - 12 * hourMs + poll * pollMs,
  tether: ['1', '0.9998', '1.00021', '0.5'][poll % 4] ?? '1',
  euro: poll % 401 === 9 ? '0' : poll % 211 === 9 ? valueAt(5) : `1.0${poll % 97}7`,
})).filter(({ timeMs }) => timeMs < Date.UTC(2024, 6, 1) || timeMs > Date.UTC(2024, 6, 11));

/** An exact fraction. */
type Fraction = readonly [top: bigint, bottom: bigint];

function fractionOf(text: string): Fraction {
  const [whole = '', decimals = ''] = text.split('.');
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
}
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];
const over = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d, b * c];
const isMore = ([a, b]: Fraction, [c, d]: Fraction) => a * d > c * b;

/** The price in euro by the last rate at or before the time; null: there is none, or it is older than a day. */
function converted(price: string, timeMs: EpochMs): Fraction | null {
  const last = polls.findLast((rates) => rates.timeMs <= timeMs);
  if (last === undefined || timeMs - last.timeMs > dayMs || Number(last.euro) === 0) return null;
  return over(times(fractionOf(price), fractionOf(last.tether)), fractionOf(last.euro));
}

/** @returns whether the text is the fraction to sixteen figures, or null alike. */
function isNear(text: string, wanted: Fraction | null): boolean {
  if (wanted === null || text === '-') return wanted === null && text === '-';
  const [top, bottom] = over(fractionOf(text), [1n, 1n]);
  const distance = top * wanted[1] - wanted[0] * bottom;
  return (distance < 0n ? -distance : distance) * 10n ** 16n <= wanted[0] * bottom;
}

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
  const { database } = store;
  const { seriesId } = await trackSeries(database, market('year', 'd1'), startMs, startMs + days * dayMs);
  await put(database, seriesId, candles);
  await database.pool.query(
    `with added as (
       insert into tidemark.currencies (currency, symbol, type)
       values ('tether', 'USDT', 'crypto'), ('euro', 'EUR', 'fiat') returning id, currency
     )
     insert into tidemark.rate_points
     select id, time, case currency when 'tether' then tether else euro end
     from added, unnest($1::timestamptz[], $2::numeric[], $3::numeric[]) as polls (time, tether, euro)`,
    [
      polls.map(({ timeMs }) => timestamp(timeMs)),
      polls.map(({ tether }) => tether),
      polls.map(({ euro }) => euro),
    ],
  );
});
afterAll(() => store.close());

it('converts each candle by the rates at its start and at its end', async () => {
  const { rows } = await ask(
    store.url,
    `select (extract(epoch from time) * 1000)::bigint, open, high, low, close
     from ohlcv_in('x', 'year', 'tether', 'euro', 'd1')
     where volume is not null`,
  );
  expect(rows.length).toBe(candles.length);
  let nulls = 0;
  for (const [place, candle] of candles.entries()) {
    const [time, open = '', high = '', low = '', close = ''] = (rows[place] ?? '').split(' | ');
    expect(Number(time)).toBe(candle.timeMs);
    const endMs = candle.timeMs + dayMs;
    const both = (price: string) => [converted(price, candle.timeMs), converted(price, endMs)] as const;
    const outer = (price: string, wantsMore: boolean) => {
      const [one, other] = both(price);
      if (one === null || other === null) return null;
      return isMore(one, other) === wantsMore ? one : other;
    };
    const wanted = {
      open: converted(candle.open, candle.timeMs),
      high: outer(candle.high, true),
      low: outer(candle.low, false),
      close: converted(candle.close, endMs),
    };
    const given = { open, high, low, close };
    for (const name of ['open', 'high', 'low', 'close'] as const) {
      expect([rows[place], name, isNear(given[name], wanted[name])]).toEqual([rows[place], name, true]);
      if (wanted[name] === null) nulls += 1;
    }
  }
  // Of the outage, and of rates of zero.
  expect(nulls).toBeGreaterThan(30);
});
