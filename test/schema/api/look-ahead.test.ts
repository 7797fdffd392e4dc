import { beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import { apiObjects } from '../../../schema/api.ts';
import type { Database } from '../../../store/db/database.ts';
import { commitRatesOf } from '../../store/committing.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { perpetuals, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const days = 12;
/** What is known when the cut is made: in the middle of a day and of a break between two polls of the rates. */
const cutMs = startMs + 7 * dayMs + 13.5 * hourMs;

/** Prices with gaps, ties, zeros, and values of any size. */
function priceAt(period: number): string | null {
  if (period % 17 === 5) return null;
  if (period === 30) return `0.${'0'.repeat(29)}1`;
  if (period === 60) return `1${'0'.repeat(42)}`;
  return String(100 + Math.round(1000 * Math.sin(period / 3)) / 100 + (period % 4));
}

/** Everything up to a time, and nothing after it. */
async function storeUpTo(database: Database, untilMs: number): Promise<void> {
  const history = (interval: 'h1' | 'd1') => ({ dataset: 'asset_history', assetId: 'a', interval }) as const;
  for (const [key, lengthMs] of [
    [market('a', 'h1'), hourMs],
    [{ ...market('a', 'h1'), quoteId: 'tether:tether' }, hourMs],
    [history('h1'), hourMs],
    [history('d1'), dayMs],
    ...perpetuals.map((key) => [key, hourMs] as const),
  ] as const) {
    // A price of an hour, an event and a statistic are known at their time, a candle and the mean of a day when they
    // have ended.
    const round = key.dataset.endsWith('candles') || lengthMs === dayMs ? Math.floor : Math.ceil;
    const periods = round((Math.min(untilMs, startMs + days * dayMs) - startMs) / lengthMs);
    const prices = Array.from({ length: periods }, (_, period) => priceAt(period));
    await storeLine(database, { key, startMs, endMs: startMs + days * dayMs, prices });
  }
  // Then a mark candle gives the price.
  await database.pool.query(`update tidemark.funding_rate_points set mark_price = null;
    update tidemark.open_interest_points set value = null`);
  const polls = Array.from({ length: 2 * days }, (_, poll) => startMs + poll * 12 * hourMs + 3 * hourMs);
  for (const timeMs of polls.filter((at) => at < untilMs)) {
    const ratio = 1 + ((timeMs - startMs) / dayMs) * 0.01;
    await commitRatesOf(database, timeMs, { euro: ratio.toFixed(8), tether: (2 - ratio).toFixed(8) });
  }
}

const named = `'x', 'a', 'tether'`;
/** How each function that gives rows in time is called. */
const calls: Readonly<Record<string, readonly string[]>> = {
  candles: [`${named}, 'h1'`, `${named}, 'h4'`],
  ohlcv: [`${named}, 'h1'`, `${named}, 'h4'`],
  ohlcv_by: [
    `${named}, '5 hours'`,
    `${named}, '1 day', zone => 'Asia/Tokyo'`,
    `${named}, '4 hours', session_from => '09:00', session_to => '17:00'`,
  ],
  ohlcv_in: [`${named}, 'euro', 'h1', max_age => '30 days'`, `${named}, 'euro', 'h4'`],
  vwap: [`${named}, 'h1'`, `${named}, 'h4'`],
  prices: [`'a', 'h1'`, `'x a/tether', 'h4'`],
  prices_in: [`'a', 'euro', 'h1'`, `'x a/tether', 'euro', 'h1', max_age => '30 days'`, `'a', 'euro'`],
  asof: [
    `'x a/tether', 'a', 'h1'`,
    `'x a/tether', 'a', 'h1', other_interval => 'd1', max_age => '2 days'`,
    `'a', 'x a/tether', 'h1'`,
  ],
  prices_asof: [
    `array['x a/tether', 'a'], array(select * from generate_series('2024-01-01Z'::timestamptz, '2024-01-13Z', '17 minutes')), 'h1'`,
    `array['x a/tether'], array(select * from generate_series('2024-01-01Z'::timestamptz, '2024-01-13Z', '59 minutes')), 'h4', '1 day'`,
  ],
  aligned: [`array['x a/tether', 'a'], 'h1'`, `array['a', 'x a/tether'], 'h1', gap_fill => true`],
  aligned_wide: [`array['x a/tether', 'a'], 'h1'`],
  returns_panel: [`array['x a/tether', 'a'], 'h1'`],
  returns_panel_wide: [`array['x a/tether', 'a'], 'h1'`],
  rolling: [`'a', '5 hours', 'h1'`, `'x a/tether', '1 day', 'h4', field => 'volume', minimum_coverage => 0.5`],
  volume_bars: [`${named}, 3.5, 'h1'`],
  dollar_bars: [`${named}, 500, 'h1'`],
  rolling_correlation: [`'x a/tether', 'a', 'h1'`],
  candles_as_known_at: [`${named}, 'h1', now()`],
  history_as_known_at: [`'a', 'h1', now()`],
  price_history: [`'a', 'h1'`, `'a'`],
  funding: [`'x', 'a', 'tether:tether'`],
  funding_panel: [`array['x a/tether:tether']`],
  funding_panel_wide: [`array['x a/tether:tether']`],
  open_interest_value: [`'x', 'a', 'tether:tether', 'h1', max_age => '5 hours'`],
  basis: [`'x', 'a', 'tether:tether', 'tether', 'h1'`],
  ...Object.fromEntries(perpetuals.map(({ knownAt }) => [knownAt, [`'x', 'a', 'tether:tether', 'h1', now()`]])),
};
const byDefault = [`'a', 'h1'`, `'x a/tether', 'h4'`];
/** Figures of a whole range, which has to end where the caller's knowledge does. */
const ofRanges: Readonly<Record<string, string>> = {
  maximum_drawdown: `'a', 'h1'`,
  correlation: `'x a/tether', 'a', 'h1'`,
  correlations: `array['x a/tether', 'a'], 'h1'`,
  correlation_matrix: `array['x a/tether', 'a'], 'h1'`,
  seasonality_by_hour: `'a', 'h1'`,
  seasonality_by_weekday: `'a', 'h1'`,
  coverage_share: `'a', 'h1'`,
  funding_paid: `'x', 'a', 'tether:tether'`,
};

/** Their rows are known at their time. */
const ofTimes: readonly string[] = [
  'funding',
  'funding_paid',
  'funding_panel',
  'funding_panel_wide',
  'open_interest_value',
  'prices_asof',
];
/** They take no range. */
const ofNoRange: readonly string[] = ['prices_asof'];

const functions = new Set(apiObjects(false).flatMap(({ name }) => /^public\.(\w+)\(text/.exec(name)?.[1] ?? []));

/** They give no values. */
const others: readonly string[] = ['intervals_of', 'chart_interval'];

const [whole, cut] = [useStore(), useStore()];
beforeAll(async () => {
  await storeUpTo(whole.database, Number.POSITIVE_INFINITY);
  await storeUpTo(cut.database, cutMs);
});
const inBoth = (sql: string) => Promise.all([rowsIn(whole)(sql), rowsIn(cut)(sql)]);

/** Rows of both stores whose period had ended when the cut was made. */
function known(call: string, name: string) {
  const hours = ofTimes.includes(name) ? 0 : call.includes(`'h4'`) ? 4 : call.includes(`'h1'`) ? 1 : 24;
  // A bar is closed by what is traded, or not closed yet.
  const end = name.endsWith('_bars') ? 'complete and ends' : `"time" + interval '${hours} hours'`;
  const ended = `${end} <= '${new Date(cutMs).toISOString()}'`;
  return inBoth(`select * from ${name}(${call}) where ${ended}`);
}

it('no row of any function uses what was known only later', async () => {
  for (const name of functions) {
    if (name in ofRanges || others.includes(name)) continue;
    for (const call of calls[name] ?? byDefault) {
      const [later, then] = await known(call, name);
      expect([name, call, then.length]).not.toEqual([name, call, 0]);
      expect([name, call, later]).toEqual([name, call, then]);
    }
  }
  for (const [name, call] of Object.entries(ofRanges)) {
    const ended = new Date(cutMs - (ofTimes.includes(name) ? 0 : cutMs % hourMs)).toISOString();
    const sql = `select * from ${name}(${call}, to_time => '${ended}')`;
    const [later, then] = await inBoth(sql);
    expect([name, later]).toEqual([name, then]);
  }
});

it('the universe at a date has only what was known then', async () => {
  const [later, then] = await inBoth(
    `select u.*, d from generate_series('2024-01-01Z'::timestamptz, '2024-01-08 12:00Z', '12 hours') d
     cross join lateral universe_at(d, days => 5) u`,
  );
  expect(then.length).toBeGreaterThan(10);
  expect(later).toEqual(then);
});

it.each([...functions].filter((name) => !others.includes(name) && !ofNoRange.includes(name)))(
  '%s refuses a range that ends before it begins',
  async (name) => {
    for (const call of name in ofRanges ? [ofRanges[name]] : (calls[name] ?? byDefault)) {
      const sql = `select * from ${name}(${call}, from_time => '2024-01-05', to_time => '2024-01-02')`;
      await expect(rowsIn(whole)(sql), call).rejects.toThrow('ends before that');
    }
  },
);
