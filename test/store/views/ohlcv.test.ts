import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../../config.ts';
import { dayMs, hourMs, periodStart, weekMs } from '../../../contract/intervals.ts';
import { graceMs } from '../../../store/views/ranges.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';
import { market } from './candles.ts';
import { ask, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 2, 10);
const columns = `to_char(time at time zone 'UTC', 'HH24') as hour, close, volume, filled, coverage`;

it('counts a period as closed at the same time as the configuration by default', () => {
  expect(readConfig({}).worker.graceMs).toBe(graceMs);
});

onEachDatabase('ohlcv', (kind) => {
  let store: TestStore;
  let seriesId: number;
  beforeAll(async () => {
    store = await openTestStore(kind);
    // A quiet hour (2), a gap (6 to 8), a quiet hour (9) after it before the next trade, and another (11).
    const prices = Array.from({ length: 24 }, (_, hour) =>
      [2, 6, 7, 8, 9, 11].includes(hour) ? null : `${100 + hour}.50`,
    );
    seriesId = await storeLine(store.database, {
      key: market('a', 'h1'),
      startMs,
      endMs: startMs + dayMs,
      prices,
      volume: '0.250',
      covered: [
        [0, 6],
        [9, 24],
      ],
    });
  });
  afterAll(() => store.close());

  const hours = (range: string, more = '') =>
    ask(store.url, `select ${columns} from ohlcv('x', 'a', 'tether', 'h1', ${range}${more})`);

  it('shows a gap as rows of nulls, and leaves out periods without trades', async () => {
    const { rows } = await hours(`'2024-03-10Z', '2024-03-10 12:00Z'`);
    expect(rows).toEqual([
      '00 | 100.50 | 0.250 | f | 1',
      '01 | 101.50 | 0.250 | f | 1',
      '03 | 103.50 | 0.250 | f | 1',
      '04 | 104.50 | 0.250 | f | 1',
      '05 | 105.50 | 0.250 | f | 1',
      '06 | - | - | f | 0',
      '07 | - | - | f | 0',
      '08 | - | - | f | 0',
      '10 | 110.50 | 0.250 | f | 1',
    ]);
  });

  it('fills periods without trades on request, and nothing after a gap', async () => {
    const { rows } = await hours(`'2024-03-10 01:00Z', '2024-03-10 12:00Z'`, ', gap_fill => true');
    expect(rows).toEqual([
      '01 | 101.50 | 0.250 | f | 1',
      '02 | 101.50 | 0 | t | 1',
      '03 | 103.50 | 0.250 | f | 1',
      '04 | 104.50 | 0.250 | f | 1',
      '05 | 105.50 | 0.250 | f | 1',
      '06 | - | - | f | 0',
      '07 | - | - | f | 0',
      '08 | - | - | f | 0',
      '09 | - | 0 | t | 1',
      '10 | 110.50 | 0.250 | f | 1',
      '11 | 110.50 | 0 | t | 1',
    ]);
  });

  it('uses the last close before the range, unless there is a gap between', async () => {
    const filled = async (from: string, to: string) =>
      (await hours(`'2024-03-10 ${from}Z', '2024-03-10 ${to}Z'`, ', gap_fill => true')).rows;
    expect(await filled('02:00', '03:00')).toEqual(['02 | 101.50 | 0 | t | 1']);
    expect(await filled('09:00', '10:00')).toEqual(['09 | - | 0 | t | 1']);
    expect(await filled('01:30', '02:30')).toEqual(['02 | 101.50 | 0 | t | 1']);
  });

  it('carries no close of a period whose end is not known', async () => {
    await storeLine(store.database, {
      key: market('p', 'h1'),
      startMs,
      endMs: startMs + 12 * hourMs,
      prices: ['1', '2', null, null, null, null, null, null, '3', null, null, null],
      covered: [
        [0, 2],
        [4, 12],
      ],
    });
    const { rows } = await ask(
      store.url,
      `select close, volume, filled, coverage from ohlcv('x', 'p', 'tether', 'h4', gap_fill => true)`,
    );
    expect(rows).toEqual(['2 | 2 | f | 0.5', '- | 0 | t | 1', '3 | 1 | f | 1']);
  });

  it('reports the covered share, and where the gaps are listed', async () => {
    const { notices } = await hours(`'2024-03-10Z', '2024-03-10 12:00Z'`);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/^75 % of 2024-03-10 00:00 to 2024-03-10 12:00 is covered; /);
    expect(notices[0]).toContain(`select * from gaps where series_id = ${seriesId}`);
    expect((await hours(`'2024-03-10 09:00Z', '2024-03-10 12:00Z'`)).notices).toEqual([]);
  });

  it('answers an interval that follows from a finer one as candles does, with the share that is covered', async () => {
    for (const interval of ['h2', 'h4', 'h8', 'h12', 'd1', 'w1']) {
      const { rows } = await ask(
        store.url,
        `select time, open, high, low, close, volume, derived_from
           from ohlcv('x', 'a', 'tether', '${interval}') where open is not null`,
      );
      const seen = await ask(
        store.url,
        `select time, open, high, low, close, volume, derived_from from candles
           where exchange = 'x' and base = 'a' and interval = '${interval}' order by time`,
      );
      // The week began before the tracked range.
      expect(rows).toEqual(interval === 'w1' ? [] : seen.rows);
      expect(seen.rows.length).toBeGreaterThan(0);
    }
    const { rows } = await ask(
      store.url,
      `select time at time zone 'UTC', open, close, volume, derived_from, coverage
         from ohlcv('x', 'a', 'tether', 'd1', '2024-03-09Z', '2024-03-12Z')`,
    );
    expect(rows).toEqual([
      '2024-03-09 00:00:00 | - | - | - | h1 | 0',
      '2024-03-10 00:00:00 | 100.50 | 123.50 | 4.500 | h1 | 0.875',
      '2024-03-11 00:00:00 | - | - | - | h1 | 0',
    ]);
  });

  it('has the same periods in a time zone that loses an hour on that day', async () => {
    const sql = `select time at time zone 'UTC', close, coverage from ohlcv('x', 'a', 'tether', 'h4', '2024-03-10Z', '2024-03-11Z', true)`;
    const { rows } = await ask(store.url, sql, 'America/New_York');
    expect(rows).toHaveLength(6);
    expect((await ask(store.url, sql, 'UTC')).rows).toEqual(rows);
  });

  it('returns an open candle with its covered share, and no row for a period that has not ended', async () => {
    const thisWeekMs = periodStart(Date.now(), 'w1');
    await storeLine(store.database, {
      key: market('open', 'w1'),
      startMs: thisWeekMs - 2 * weekMs,
      endMs: null,
      prices: ['1', '2', '3'],
      covered: [[0, 2]],
    });
    await storeLine(store.database, {
      key: market('unread', 'w1'),
      startMs: thisWeekMs - 2 * weekMs,
      endMs: null,
      prices: ['1', '2'],
      covered: [[0, 2]],
    });
    for (const fill of ['false', 'true']) {
      const of = (base: string) =>
        ask(
          store.url,
          `select close, filled, coverage from ohlcv('x', '${base}', 'tether', 'w1', gap_fill => ${fill})`,
        );
      expect(await of('open')).toEqual({ rows: ['1 | f | 1', '2 | f | 1', '3 | f | 0'], notices: [] });
      expect(await of('unread')).toEqual({ rows: ['1 | f | 1', '2 | f | 1'], notices: [] });
    }
  });

  it('shows periods outside the tracked range as not covered', async () => {
    const { rows, notices } = await hours(`'2024-03-09 22:00Z', '2024-03-10 01:00Z'`, ', gap_fill => true');
    expect(rows).toEqual(['22 | - | - | f | 0', '23 | - | - | f | 0', '00 | 100.50 | 0.250 | f | 1']);
    expect(notices[0]).toMatch(/^33.33 % of /);
  });

  it('refuses a range that ends before it begins, and one beyond all bounds', async () => {
    await expect(hours(`'2024-03-11Z', '2024-03-10Z'`)).rejects.toThrow(/ends before/);
    await expect(hours(`'0001-01-01Z', '9999-01-01Z'`)).rejects.toThrow(/million periods/);
    await expect(hours(`'infinity', null`)).rejects.toThrow(/no period is between infinity and infinity/);
    await expect(hours(`null, '-infinity'`)).rejects.toThrow(/no period is between -infinity and -infinity/);
    expect((await hours(`'-infinity', 'infinity'`)).rows).toEqual((await hours('null, null')).rows);
    expect((await hours(`'2024-03-10 01:15Z', '2024-03-10 01:45Z'`)).rows).toEqual([]);
  });

  it('fills prices of assets too, and returns prices of markets and assets alike', async () => {
    await storeLine(store.database, {
      key: { dataset: 'asset_history', assetId: 'coin', interval: 'h1' },
      startMs,
      endMs: startMs + 4 * hourMs,
      prices: ['1.10', null, '3', null],
      covered: [[0, 3]],
    });
    const of = async (call: string) => (await ask(store.url, `select * from ${call}`, 'UTC')).rows;
    const filled = [
      '2024-03-10 00:00:00+00 | 1.10 | f | 1',
      '2024-03-10 01:00:00+00 | 1.10 | t | 1',
      '2024-03-10 02:00:00+00 | 3 | f | 1',
      '2024-03-10 03:00:00+00 | - | f | 0',
    ];
    expect(await of(`price_history('coin', 'h1', gap_fill => true)`)).toEqual(filled);
    expect(await of(`prices('coin', 'h1', gap_fill => true)`)).toEqual(filled);
    expect(await of(`price_history('coin', 'h1')`)).toEqual(filled.filter((row) => !row.includes('| t |')));
    expect(await of(`prices('x a/tether', 'h1', '2024-03-10Z', '2024-03-10 01:00Z')`)).toEqual([
      '2024-03-10 00:00:00+00 | 100.50 | f | 1',
    ]);
    expect(await of(`coverage_share('coin', 'h1')`)).toEqual(['0.75']);
  });
});
