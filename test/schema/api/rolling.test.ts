/** Figures of moving windows, computed again from the points and the covered periods of each window. */

import { beforeAll, expect, it } from 'vitest';
import { hourMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { useStore } from '../../store/open-store.ts';
import { market, put } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1) + 5 * hourMs;
const hours = 240;
const isGap = (hour: number) => (hour >= 60 && hour < 66) || hour === 130 || hour >= 238;
const isSilent = (hour: number) => hour % 9 === 4 || (hour > 170 && hour < 200);
const fieldsOf = (hour: number) => {
  const close = 100 + ((hour * 37) % 23) + hour / 8;
  return { open: close - 0.5, high: close + ((hour * 5) % 7), low: close - ((hour * 3) % 5), close, volume: hour % 6 };
};
type Field = keyof ReturnType<typeof fieldsOf>;
const all = Array.from({ length: hours }, (_, hour) => hour);
const covered = all.flatMap((hour) => (isGap(hour) ? [] : [[hour, hour + 1] as const]));

interface Asked {
  readonly call: string;
  readonly field?: Field;
  readonly length: number;
  readonly from?: number;
  readonly least?: number;
  readonly isFilled?: true;
}

/** Rows of nulls at gaps, none where nothing was traded; a filled one has the close before, and no volume. */
function rowsOf({ field = 'close', isFilled }: Asked): Map<number, number | null> {
  const values = new Map<number, number | null>();
  let last: number | null = null;
  for (const hour of all) {
    if (isGap(hour)) last = null;
    if (isGap(hour)) values.set(hour, null);
    else if (!isSilent(hour)) {
      values.set(hour, fieldsOf(hour)[field]);
      last = fieldsOf(hour).close;
    } else if (isFilled && last !== null) values.set(hour, field === 'volume' ? 0 : last);
  }
  return values;
}

function expected(asked: Asked): string[] {
  const { length, from = 0, least = 1 } = asked;
  const rows = rowsOf(asked);
  return [...rows].flatMap(([hour, value]) => {
    if (hour < from) return [];
    const window = Array.from({ length }, (_, place) => hour - length + 1 + place);
    const known = window.filter((one) => one >= 0 && !isGap(one)).length / length;
    const values = window.flatMap((one) => rows.get(one) ?? []);
    const sum = values.reduce((total, one) => total + one, 0);
    const mean = sum / values.length;
    const variance = values.reduce((total, one) => total + (one - mean) ** 2, 0) / (values.length - 1);
    const shown = (figure: number, isThere: boolean) =>
      known >= least && isThere ? String(Number(figure.toFixed(6))) : '-';
    const any = values.length > 0;
    return [
      [
        ...[hour, value ?? '-', shown(mean, any), shown(sum, any), shown(Math.sqrt(variance), values.length > 1)],
        ...[shown(Math.min(...values), any), shown(Math.max(...values), any), values.length],
        String(Math.trunc(known * 1e6 + 1e-6) / 1e6),
      ].join(' | '),
    ];
  });
}

const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  const endMs = startMs + hours * hourMs;
  const { seriesId } = await trackSeries(store.database, market('a', 'h1'), startMs, endMs);
  const traded = all.filter((hour) => !isGap(hour) && !isSilent(hour));
  await put(
    store.database,
    seriesId,
    traded.map((hour) => {
      const { open, high, low, close, volume } = fieldsOf(hour);
      const values = { open: String(open), high: String(high), low: String(low), close: String(close) };
      return { timeMs: startMs + hour * hourMs, ...values, volume: String(volume) };
    }),
  );
  const at = (hour: number) => timestamp(startMs + hour * hourMs);
  await store.database.pool.query('update tidemark.series set covered = $2 where id = $1', [
    seriesId,
    `{${covered.map(([from, to]) => `[${at(from)},${at(to)})`).join(',')}}`,
  ]);
  const prices = all.map((hour) => (isGap(hour) || isSilent(hour) ? null : String(fieldsOf(hour).close)));
  const key = { dataset: 'asset_history', assetId: 'a', interval: 'h1' } as const;
  await storeLine(store.database, { key, startMs, endMs, prices, covered });
});

const at = (hour: number) => new Date(startMs + hour * hourMs).toISOString();
it.each<Asked>([
  { call: `'x a/tether'`, length: 24 },
  { call: `'x a/tether', '7 hours'`, length: 7 },
  { call: `'x a/tether', '1 hour'`, length: 1 },
  { call: `'x a/tether', '2 days', minimum_coverage => 0.5`, length: 48, least: 0.5 },
  { call: `'x a/tether', '5 hours', field => 'high', minimum_coverage => 0`, length: 5, least: 0, field: 'high' },
  { call: `'x a/tether', '5 hours', field => 'low'`, length: 5, field: 'low' },
  { call: `'x a/tether', '8 hours', field => 'volume'`, length: 8, field: 'volume' },
  {
    call: `'x a/tether', '8 hours', field => 'volume', gap_fill => true`,
    ...{ length: 8, field: 'volume' as const, isFilled: true as const },
  },
  { call: `'x a/tether', '30 hours', gap_fill => true`, length: 30, isFilled: true },
  { call: `'a', '24 hours'`, length: 24 },
  // The windows of the first rows begin before them.
  { call: `'x a/tether', '24 hours', 'h1', '${at(100)}'`, length: 24, from: 100 },
  { call: `'x a/tether', '24 hours', 'h1', '${at(7)}', minimum_coverage => 0.3`, length: 24, from: 7, least: 0.3 },
])('$call has the figures of each window', async (asked) => {
  const answer = await rows(
    `select (extract(epoch from time) * 1000 - ${startMs})::bigint / ${hourMs}, trim_scale(value),
              trim_scale(round(mean, 6)), trim_scale(sum), trim_scale(round(stddev, 6)), trim_scale(minimum),
              trim_scale(maximum), observations, coverage
       from rolling(${asked.call}) order by time`,
  );
  expect(answer.length).toBeGreaterThan(90);
  expect(answer).toEqual(expected(asked));
});

it.each([
  [`'x a/tether', '90 minutes'`, 'a window of 01:30:00 is no whole number of periods of 01:00:00'],
  [`'x a/tether', '1 month'`, 'a window of 1 mon is no whole number of periods'],
  [`'x a/tether', null`, 'length must be given, and is null'],
  [`'x a/tether', '0'`, 'a window of 00:00:00 is no whole number of periods'],
  [`'a', field => 'volume'`, 'a series of an asset has no field "volume"'],
  [`'x a/tether', field => null`, 'field must be given, and is null'],
  [`'x b/tether'`, 'unknown base "b"'],
  [`'x a/tether', minimum_coverage => 95`, 'minimum_coverage must be from 0 to 1, and is 95'],
])('refuses %s', async (call, message) => {
  await expect(rows(`select * from rolling(${call})`)).rejects.toThrow(message);
});
