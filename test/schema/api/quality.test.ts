/** The report of quality, computed again from the points in another way; and points that are wrong on purpose. */

import { beforeAll, expect, it } from 'vitest';
import { type EpochMs, hourMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { useStore } from '../../store/open-store.ts';
import { market, put, type StoredCandle } from './candles.ts';
import { perpetuals, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const columns = [
  ...['inconsistent', 'spikes', 'largest_spike', 'largest_spike_time', 'unchanged', 'longest_unchanged'],
  ...['longest_unchanged_from', 'zero_volume', 'empty'],
];

const at = (timeMs: EpochMs) =>
  timestamp(timeMs)
    .replace('T', ' ')
    .replace(/(\.000)?Z$/, '+00');
const share = (part: number, whole: number) => String(Number((part / whole).toFixed(6)));

/** The same figures from the points, with sorted lists in place of windows. */
function figuresOf(points: readonly StoredCandle[], periods: number): string {
  const prices = points.map(({ close }) => Number(close));
  const isWrong = ({ open, high, low, close, volume }: StoredCandle) => {
    const [o, h, l, c] = [open, high, low, close].map(Number) as [number, number, number, number];
    return h !== Math.max(o, h, l, c) || l !== Math.min(o, h, l, c) || Math.min(o, h, l, c) <= 0 || Number(volume) < 0;
  };
  const moves = prices
    .flatMap((price, place) => {
      const before = prices[place - 1];
      return before === undefined || before === price ? [] : [Math.abs(price / before - 1)];
    })
    .sort((one, other) => one - other);
  const usual = moves[Math.ceil(moves.length / 2) - 1] ?? 0;
  const spikes = prices.flatMap((price, place) => {
    const three = prices.slice(place - 1, place + 2);
    const median = [...three].sort((one, other) => one - other)[1];
    if (place === 0 || three.length < 3 || median === undefined) return [];
    const size = Math.abs(price / median - 1);
    return size > 20 * usual ? [{ size, place }] : [];
  });
  const [largest] = [...spikes].sort((one, other) => other.size - one.size);
  const runs: { first: number; points: number }[] = [];
  for (const [place, price] of prices.entries()) {
    const run = runs.at(-1);
    if (run !== undefined && price === prices[place - 1]) run.points += 1;
    else runs.push({ first: place, points: 1 });
  }
  const [longest] = [...runs].sort((one, other) => other.points - one.points);
  const timeOf = (place: number | undefined) => (place === undefined ? '-' : at(points[place]?.timeMs ?? 0));
  return [
    points.filter(isWrong).length,
    spikes.length,
    largest === undefined ? '-' : share(largest.size, 1),
    timeOf(largest?.place),
    share(points.length - runs.length, points.length - 1),
    longest?.points,
    timeOf(longest?.first),
    share(points.filter(({ volume }) => Number(volume) === 0).length, points.length),
    share(periods - points.length, periods),
  ].join(' | ');
}

/** A walk with pauses, jumps that last, single prices far off, hours without trades, and candles that are wrong. */
function walk(seed: number, hours: number): StoredCandle[] {
  let drawn = seed * 1_000_003;
  const draw = () => {
    drawn = (drawn * 48_271) % 2_147_483_647;
    return drawn / 2_147_483_647;
  };
  let price = 1000;
  return Array.from({ length: hours }, (_, hour) => {
    if (draw() < 0.6) price = Math.round(price * (1 + (draw() - 0.5) / 200) * 100) / 100;
    if (hour === 70) price *= 2;
    const isOff = hour % 97 === 50;
    const close = isOff ? Math.round(price * (hour % 2 ? 1.2 : 0.7) * 100) / 100 : price;
    const isHighLow = hour % 41 === 7;
    return {
      timeMs: startMs + hour * hourMs,
      open: String(price),
      high: String(isHighLow ? close - 1 : Math.max(close, price) + 1),
      low: String(Math.min(close, price) - 1),
      close: String(close),
      volume: draw() < 0.2 ? '0' : '1.5',
    };
  }).filter((_, hour) => hour % 13 !== 5);
}

const store = useStore();
const rows = rowsIn(store);
const storeCandles = async (base: string, hours: number, candles: readonly StoredCandle[]) => {
  const { seriesId } = await trackSeries(store.database, market(base, 'h1'), startMs, startMs + hours * hourMs);
  await put(store.database, seriesId, candles);
  await store.database.pool.query(
    `update tidemark.series set covered = tstzmultirange(tracked), points = $2, earliest = $3, newest = $4 where id = $1`,
    [seriesId, candles.length, ...[candles[0], candles.at(-1)].map((one) => timestamp(one?.timeMs ?? startMs))],
  );
  return seriesId;
};
const walks = [1, 2, 3].map((seed) => ({ base: `walk${seed}`, candles: walk(seed, 600) }));
beforeAll(async () => {
  for (const { base, candles } of walks) await storeCandles(base, 600, candles);
});

it.each(walks)('of $base is as its points are', async ({ base, candles }) => {
  const periods = ((candles.at(-1)?.timeMs ?? 0) - (candles[0]?.timeMs ?? 0)) / hourMs + 1;
  const expected = figuresOf(candles, periods);
  expect(expected).toMatch(/^1\d \| [4-7] \| /);
  expect(await rows(`select ${columns} from quality where base = '${base}'`)).toEqual([expected]);
});

it('finds one wrong price, and no step', async () => {
  const candle = (hour: number, price: string, volume = '1'): StoredCandle => ({
    ...{ timeMs: startMs + hour * hourMs, open: price, high: price, low: price, close: price, volume },
  });
  const prices = ['100', '101', '102', '101', '9', '102', '103', '204', '205', '205', '205', '204.0', '204'];
  const seriesId = await storeCandles(
    'wrong',
    prices.length,
    prices.map((price, hour) => candle(hour, price)),
  );
  expect(await rows(`select ${columns} from quality where series_id = ${seriesId}`)).toEqual([
    '0 | 1 | 0.910891 | 2024-01-01 04:00:00+00 | 0.25 | 3 | 2024-01-01 08:00:00+00 | 0 | 0',
  ]);
});

it('has the counts of the views beside it', async () => {
  const { pool } = store.database;
  const key = { dataset: 'asset_history', assetId: 'counted', interval: 'h1' } as const;
  const covered = [
    [0, 4],
    [6, 10],
  ] as const;
  const prices = ['1', '2', '3', '4', null, null, '7', '8', '9', '10'];
  const id = await storeLine(store.database, { key, startMs, endMs: startMs + 10 * hourMs, prices, covered });
  await pool.query(`
      update tidemark.series set points = 8, earliest = '2024-01-01Z', newest = '2024-01-01 09:00Z', revised = 2
      where id = ${id};
      insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw)
      select now(), 'asset_history', ${id}, 'no price', g::text from generate_series(1, 3) g`);
  const figures = 'points, share, gaps, silences, revisions, quarantined, inconsistent, spikes, zero_volume, empty';
  expect(await rows(`select ${figures} from quality where asset = 'counted'`)).toEqual([
    '8 | 0.8 | 1 | 0 | 2 | 3 | 0 | 0 | - | 0',
  ]);
});

it('has a row for every series, also of datasets without prices', async () => {
  for (const key of perpetuals)
    await storeLine(store.database, { key, startMs, endMs: startMs + 3 * hourMs, prices: ['1', '2', '2'] });
  await store.database.pool.query(`update tidemark.series set points = 3, earliest = '2024-01-01Z',
      newest = '2024-01-01 02:00Z' where quote_id = 'tether:tether'`);
  const known = await rows(`select dataset, unchanged from quality where quote = 'tether:tether' order by dataset`);
  expect(known).toEqual(
    perpetuals
      .map(({ dataset }) => `${dataset} | ${['mark_candles', 'index_candles'].includes(dataset) ? '0.5' : '-'}`)
      .sort(),
  );
  expect(await rows('select count(*) from quality')).toEqual(await rows('select count(*) from tidemark.series'));
});
