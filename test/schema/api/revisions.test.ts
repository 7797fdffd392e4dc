import { beforeAll, expect, it } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { hourMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import type { WindowCommit } from '../../../store/commit/prepare-window.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { commitWindow, pointAnswerOf } from '../../store/committing.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, rowsIn } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const day = (date: number) => Date.UTC(2024, 1, date);
const window = { startMs, endMs: startMs + 4 * hourMs };
/** First seen on the 1st of February; hour 1 changes on the 5th and the 9th, hour 2 on the 9th. */
const seen: readonly (readonly [number, readonly string[]])[] = [
  [1, ['1.10', '2.20', '3.30', '4.40']],
  [5, ['1.10', '2.250', '3.30', '4.40']],
  [9, ['1.10', '2.3', '3.35', '4.40']],
];

const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  const history: SeriesKey = { dataset: 'asset_history', assetId: 'coin', interval: 'h1' };
  for (const series of [market('a', 'h1'), history]) {
    const { seriesId } = await trackSeries(store.database, series, window.startMs, window.endMs);
    await store.database.pool.query('update tidemark.series set created_at = $2 where id = $1', [
      ...[seriesId, timestamp(day(1))],
    ]);
    for (const [date, values] of seen) {
      const points = values.map((text, hour) => {
        const [value, time] = [decimalText(text), startMs + hour * hourMs];
        const same = { open: value, high: value, low: value, close: value };
        return series.dataset === 'candles'
          ? { ...same, volume: decimalText('1.0'), period: time }
          : { priceUsd: value, time };
      });
      await commitWindow(store.database, {
        window: fillOf({ seriesId, series, ...window }),
        ...{
          attempt: 1,
          answer: pointAnswerOf(series.dataset, points, day(date)),
          nowMs: day(date),
          rules: rulesOf(hourMs),
        },
      } as WindowCommit);
    }
  }
});

/** Rows of the market, which are those of the asset too, and the notices. */
async function known(at: string, more = '') {
  const of = (call: string, price: string) =>
    ask(store.url, `select ${price}, to_char(changed_at, 'DD'), coverage from ${call}, '${at}'${more})`, 'UTC');
  const ofMarket = await of(`candles_as_known_at('x', 'a', 'tether', 'h1'`, 'close');
  expect((await of(`history_as_known_at('coin', 'h1'`, 'price_usd')).rows).toEqual(ofMarket.rows);
  return ofMarket;
}

it('returns each value as it was, digit by digit, and when it changed next', async () => {
  const then = async (at: string) => (await known(at)).rows;
  expect(await then('2024-02-03Z')).toEqual(['1.10 | - | 1', '2.20 | 05 | 1', '3.30 | 09 | 1', '4.40 | - | 1']);
  // A change is known from the time of its observation.
  for (const at of ['2024-02-05Z', '2024-02-07Z'])
    expect(await then(at)).toEqual(['1.10 | - | 1', '2.250 | 09 | 1', '3.30 | 09 | 1', '4.40 | - | 1']);
  expect(await then('2024-02-20Z')).toEqual(['1.10 | - | 1', '2.3 | - | 1', '3.35 | - | 1', '4.40 | - | 1']);
});

it('leaves out periods that had not ended, and reports when nothing was stored yet', async () => {
  const early = await known('2024-01-01 02:30Z');
  expect(early.rows).toEqual(['1.10 | - | 1', '2.20 | 05 | 1']);
  expect(early.notices[0]).toMatch(
    /^nothing of the series was stored at 2024-01-01 02:30:00\+00: it is tracked since 2024-02-01/,
  );
  expect((await known('2024-01-01 00:30Z')).rows).toEqual([]);
  expect((await known('2023-01-01Z')).rows).toEqual([]);
  expect((await known('infinity')).rows).toHaveLength(4);
  await expect(rows(`select * from history_as_known_at('coin', 'h1', null)`)).rejects.toThrow(/must be given/);
  const from = async (hour: number) =>
    (await known('2024-02-03Z', `, '2024-01-01 0${hour}:00Z', '2024-01-01 0${hour + 2}:00Z'`)).rows;
  expect(await from(1)).toEqual(['2.20 | 05 | 1', '3.30 | 09 | 1']);
  expect(await from(3)).toEqual(['4.40 | - | 1', '- | - | 0']);
});

it.each([
  ['2024-02-07Z', '2.250', '09', '3.30', '09'],
  ['2024-02-20Z', '2.3', '-', '3.35', '-'],
])('derives two hours from the values of %s', async (at, first, firstChange, second, change) => {
  expect(
    await rows(
      `select open, high, low, close, volume, to_char(changed_at, 'DD'), coverage
       from candles_as_known_at('x', 'a', 'tether', 'h2', '${at}')`,
    ),
  ).toEqual([
    `1.10 | ${first} | 1.10 | ${first} | 2.0 | ${firstChange} | 1`,
    `${second} | 4.40 | ${second} | 4.40 | 2.0 | ${change} | 1`,
  ]);
  const prices = `history_as_known_at('coin', 'h2', '${at}')`;
  expect(await rows(`select price_usd, to_char(changed_at, 'DD'), coverage from ${prices}`)).toEqual([
    '1.10 | - | 1',
    `${second} | ${change} | 1`,
  ]);
});

it('shows each change with names, before and after', async () => {
  const shown = await rows(
    `select dataset, exchange, base, asset, interval, to_char(time, 'HH24'), to_char(seen_at, 'DD'),
            coalesce(before ->> 'close', before ->> 'price_usd'), coalesce(after ->> 'close', after ->> 'price_usd')
     from revisions order by dataset, time, seen_at`,
  );
  const changes = ['01 | 05 | 2.20 | 2.250', '01 | 09 | 2.250 | 2.3', '02 | 09 | 3.30 | 3.35'];
  expect(shown).toEqual([
    ...changes.map((change) => `asset_history | - | - | coin | h1 | ${change}`),
    ...changes.map((change) => `candles | x | a | - | h1 | ${change}`),
  ]);
});
