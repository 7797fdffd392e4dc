/** Periods for which the source gave only invalid rows: nothing is known of them, and no function says otherwise. */

import { beforeAll, expect, it } from 'vitest';
import { hourMs } from '../../../model/intervals.ts';
import { timestamp } from '../../../store/db/values.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 2, 10);
const hours = 12;
/** The source has no candle at 2, and an impossible one at 5. */
const prices = Array.from({ length: hours }, (_, hour) => ([2, 5].includes(hour) ? null : `${100 + hour}`));

const store = useStore();
const rows = rowsIn(store);
const ids: number[] = [];
beforeAll(async () => {
  const asset = { dataset: 'asset_history', assetId: 'a', interval: 'h1' } as const;
  for (const key of [market('a', 'h1'), asset]) {
    const id = await storeLine(store.database, { key, startMs, endMs: startMs + hours * hourMs, prices });
    ids.push(id);
    await reject(id, key.dataset, startMs + 5 * hourMs);
  }
});
const reject = (id: number, dataset: string, timeMs: number | null) =>
  store.database.pool.query(
    `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw, time)
     values (now(), $1, $2, tstzrange($3, $4), 'high is below low', coalesce($5::text, 'no time'), $5::timestamptz)`,
    [
      ...[dataset, id, timestamp(startMs), timestamp(startMs + hours * hourMs)],
      timeMs === null ? null : timestamp(timeMs),
    ],
  );
const named = `'x', 'a', 'tether'`;
const hour = `to_char(time, 'HH24')`;

it.each([
  ['ohlcv', `${named}, 'h1'`, 'close'],
  ['prices', `'a', 'h1'`, 'price'],
  ['price_history', `'a', 'h1'`, 'price_usd'],
])('%s(%s) has a row of nulls, and fills nothing after it', async (name, call, price) => {
  expect(await rows(`select ${hour}, ${price}, coverage from ${name}(${call}) limit 5 offset 3`)).toEqual([
    '04 | 104 | 1',
    '05 | - | 0',
    '06 | 106 | 1',
    '07 | 107 | 1',
    '08 | 108 | 1',
  ]);
  expect(
    await rows(
      `select ${hour}, ${price}, filled, coverage from ${name}(${call}, '2024-03-10 01:00', '2024-03-10 07:00', true)`,
    ),
  ).toEqual([
    '01 | 101 | f | 1',
    '02 | 101 | t | 1',
    '03 | 103 | f | 1',
    '04 | 104 | f | 1',
    '05 | - | f | 0',
    '06 | 106 | f | 1',
  ]);
});

it.each([
  ['ohlcv', `${named}, 'h4'`],
  ['ohlcv_by', `${named}, '4 hours'`],
  ['vwap', `${named}, 'h4'`],
  ['candles_as_known_at', `${named}, 'h4', now()`],
])('%s(%s) counts it as not covered', async (name, call) => {
  expect(await rows(`select ${hour}, coverage from ${name}(${call})`)).toEqual(['00 | 1', '04 | 0.75', '08 | 1']);
});

it('counts it as not covered in shares, and says where the row is', async () => {
  expect(await rows(`select coverage_share('x a/tether', 'h1'), coverage_share('a', 'h1')`)).toEqual([
    '0.916666 | 0.916666',
  ]);
  const { notices } = await ask(store.url, `select * from ohlcv(${named}, 'h1')`);
  expect(notices).toEqual([
    `91.66 % of 2024-03-10 00:00 to 2024-03-10 12:00 is covered; select * from tidemark.quarantine where series_id = ${ids[0]} lists rows that were rejected`,
  ]);
  // Requested and answered, so that it is no gap; the view names it apart.
  expect(await rows('select share, gaps, rejected from coverage')).toEqual(
    ids.map(() => '1 | 0 | {["2024-03-10 05:00:00+00","2024-03-10 06:00:00+00")}'),
  );
});

it('takes every period without a point for unknown after a row without a time, until a point comes', async () => {
  const [id = 0] = ids;
  await reject(id, 'candles', null);
  const unknown = `select ${hour} from ohlcv(${named}, 'h1') where coverage < 1`;
  expect(await rows(unknown)).toEqual(['02', '05']);
  await store.database.pool.query(
    `insert into tidemark.candle_points values ($1, $2, 1, 1, 1, 1, 1), ($1, $3, 1, 1, 1, 1, 1)`,
    [id, timestamp(startMs + 2 * hourMs), timestamp(startMs + 5 * hourMs)],
  );
  expect(await rows(unknown)).toEqual([]);
  expect(await rows(`select rejected from coverage where series_id = ${id}`)).toEqual(['{}']);
});

it('lists no gap among the rejected periods', async () => {
  const key = market('b', 'h1');
  const covered = [
    [0, 5],
    [6, hours],
  ] as const;
  const id = await storeLine(store.database, { key, startMs, endMs: startMs + hours * hourMs, prices, covered });
  await reject(id, 'candles', startMs + 5 * hourMs);
  expect(await rows(`select gaps, rejected from coverage where series_id = ${id}`)).toEqual(['1 | {}']);
});
