/** Volume and dollar bars, computed again from the candles. */

import { beforeAll, expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { useStore } from '../../store/open-store.ts';
import { market, put } from './candles.ts';
import { rowsIn } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const minutes = 600;
const isGap = (minute: number) => minute === 100 || (minute >= 300 && minute < 330);
const isSilent = (minute: number) => minute % 11 === 6;

/** Whole numbers, so that sums are exact here too. */
const candles = Array.from({ length: minutes }, (_, minute) => {
  const close = 50 + ((minute * 7) % 13);
  return {
    ...{ minute, open: close - 2, close, high: close + (minute % 3), low: close - 2 - (minute % 4) },
    volume: (minute * 31) % 9,
  };
});

/** @param amountOf three times what a candle adds: the typical price is a third of a sum. */
function barsOf(amountOf: (candle: (typeof candles)[number]) => number, threshold: number, from = 0): string[] {
  const bars: string[] = [];
  let bar: (typeof candles)[number][] = [];
  const close = (isComplete: boolean) => {
    const [first, last] = [bar[0], bar.at(-1)];
    if (first === undefined || last === undefined) return;
    const sum = (of: (candle: (typeof candles)[number]) => number) => bar.reduce((total, one) => total + of(one), 0);
    const value = sum((one) => (one.high + one.low + one.close) * one.volume) / 3;
    bars.push(
      [
        ...[first.minute, last.minute + 1, first.open, Math.max(...bar.map(({ high }) => high))],
        ...[Math.min(...bar.map(({ low }) => low)), last.close, sum(({ volume }) => volume)],
        ...[String(Number(value.toFixed(6))), bar.length, isComplete ? 't' : 'f'],
      ].join(' | '),
    );
    bar = [];
  };
  for (const candle of candles.slice(from)) {
    if (isGap(candle.minute)) close(false);
    else if (!isSilent(candle.minute)) {
      bar.push(candle);
      if (bar.reduce((total, one) => total + amountOf(one), 0) >= 3 * threshold) close(true);
    }
  }
  close(false);
  return bars;
}
const volume = (candle: (typeof candles)[number]) => 3 * candle.volume;
const value = ({ high, low, close, volume: traded }: (typeof candles)[number]) => (high + low + close) * traded;

const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  const { seriesId } = await trackSeries(store.database, market('a', 'm1'), startMs, startMs + minutes * minuteMs);
  const traded = candles.filter(({ minute }) => !isGap(minute) && !isSilent(minute));
  await put(
    store.database,
    seriesId,
    traded.map(({ minute, ...values }) => ({
      timeMs: startMs + minute * minuteMs,
      open: String(values.open),
      high: String(values.high),
      low: String(values.low),
      close: String(values.close),
      volume: String(values.volume),
    })),
  );
  const at = (minute: number) => timestamp(startMs + minute * minuteMs);
  await store.database.pool.query('update tidemark.series set covered = $2 where id = $1', [
    seriesId,
    `{[${at(0)},${at(100)}),[${at(101)},${at(300)}),[${at(330)},${at(minutes)})}`,
  ]);
});

const found = (call: string) =>
  rows(
    `select (extract(epoch from time) * 1000 - ${startMs})::bigint / ${minuteMs},
              (extract(epoch from ends) * 1000 - ${startMs})::bigint / ${minuteMs}, open, high, low, close, volume,
              trim_scale(round(quote_volume, 6)), candles, complete
       from ${call}`,
  );

it.each([1, 8, 40, 333, 1e6])('closes a volume bar with the candle that brings %d', async (threshold) => {
  const expected = barsOf(volume, threshold);
  expect(expected.length).toBeGreaterThan(2);
  expect(await found(`volume_bars('x', 'a', 'tether', ${threshold})`)).toEqual(expected);
});

it.each([50, 2000, 12345])('closes a dollar bar with the candle that brings %d', async (threshold) => {
  const expected = barsOf(value, threshold);
  expect(expected.some((row) => row.endsWith('f'))).toBe(true);
  expect(await found(`dollar_bars('x', 'a', 'tether', ${threshold})`)).toEqual(expected);
});

it('counts from the beginning of the range', async () => {
  const from = new Date(startMs + 3 * hourMs).toISOString();
  expect(await found(`volume_bars('x', 'a', 'tether', 40, from_time => '${from}')`)).toEqual(barsOf(volume, 40, 180));
});

it('closes with the same candles of a longer interval, of which a partly covered one is a gap', async () => {
  const hourly = await rows(`select time, complete, candles from volume_bars('x', 'a', 'tether', 1, 'h1')`);
  const known = Array.from({ length: 10 }, (_, hour) => hour).filter((hour) => ![1, 5].includes(hour));
  expect(hourly).toEqual(known.map((hour) => `2024-01-01 0${hour}:00:00+00 | t | 1`));
});

it.each(['0', '-1', `'NaN'`, `'infinity'`])('refuses the threshold %s', async (threshold) => {
  await expect(rows(`select * from volume_bars('x', 'a', 'tether', ${threshold})`)).rejects.toThrow(
    'the threshold of a bar is above 0, and not',
  );
});
