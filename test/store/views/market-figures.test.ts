import { afterAll, beforeAll, expect, it } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { commitRates } from '../../../store/lists/rates.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { queries, writtenOut } from '../../deploy/grafana.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';
import { candles, market, put } from './candles.ts';
import { ask, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);

/** USD for one unit, polled at two times. */
const polls = [
  { timeMs: startMs + 6 * hourMs, euro: '1.25', peso: '0.05' },
  { timeMs: startMs + 12 * hourMs, euro: '1.60', peso: '0.04' },
];

onEachDatabase('figures of markets', (kind) => {
  let store: TestStore;
  beforeAll(async () => {
    store = await openTestStore(kind);
    for (const { timeMs, euro, peso } of polls) {
      const rate = (id: string, symbol: string, rateUsd: string) => ({
        id,
        symbol,
        currencySymbol: null,
        type: 'fiat',
        rateUsd: decimalText(rateUsd),
      });
      const rows = [
        rate('euro', 'EUR', euro),
        rate('mexican-peso', 'MXN', peso),
        rate('one-coin', 'TWO', '2'),
        rate('other-coin', 'TWO', '3'),
        rate('united-states-dollar', 'USD', '1'),
        rate('worthless', 'WRT', '0'),
      ];
      await commitRates(store.database, {
        answer: { rows, rejected: [], sourceTimeMs: timeMs, status: 200, bytes: 0, durationMs: 0 },
        attempt: 1,
        nowMs: timeMs,
      });
    }
  });
  afterAll(() => store.close());
  const rows = async (sql: string) => (await ask(store.url, sql, 'UTC')).rows;

  it('weighs typical prices by volume, by period and since the start of the session', async () => {
    const { seriesId } = await trackSeries(store.database, market('v', 'm1'), startMs, startMs + 2 * dayMs);
    const minutes = candles(startMs, 7 * minuteMs, 400);
    await put(store.database, seriesId, minutes);
    await store.database.pool.query(
      'update tidemark.series set covered = tstzmultirange(tracked) where id = $1',
      [seriesId],
    );
    const mean = (fromMs: number, toMs: number) => {
      const within = minutes.filter(({ timeMs }) => timeMs >= fromMs && timeMs < toMs);
      const volume = within.reduce((sum, candle) => sum + Number(candle.volume), 0);
      const turnover = within.reduce(
        (sum, { high, low, close, volume: traded }) =>
          sum + ((Number(high) + Number(low) + Number(close)) / 3) * Number(traded),
        0,
      );
      return { vwap: turnover / volume, candles: within.length };
    };
    const answer = await rows(
      `select extract(epoch from time) * 1000, vwap, session_vwap, candles, derived_from, coverage
         from vwap('x', 'v', 'tether', 'h4')`,
    );
    expect(answer).toHaveLength(12);
    for (const row of answer) {
      const [time, vwap, session, count, from, coverage] = row.split(' | ');
      const timeMs = Number(time);
      const expected = mean(timeMs, timeMs + 4 * hourMs);
      expect(Number(vwap)).toBeCloseTo(expected.vwap, 9);
      expect(Number(session)).toBeCloseTo(mean(timeMs - (timeMs % dayMs), timeMs + 4 * hourMs).vwap, 9);
      expect([count, from, coverage]).toEqual([String(expected.candles), 'm1', '1']);
    }
    // A session as long as the period equals the period.
    expect(
      await rows(
        `select count(*) from vwap('x', 'v', 'tether', 'h4', session => 'h4') where vwap <> session_vwap`,
      ),
    ).toEqual(['0']);
    await expect(rows(`select * from vwap('x', 'v', 'tether', 'h4', session => 'h1')`)).rejects.toThrow(
      /whole number of periods of h4/,
    );
  });

  it.each([
    ['h4', 'h6'],
    ['h8', 'h12'],
    ['h6', 'h8'],
  ])('refuses a vwap of %s in sessions of %s, which a period crosses', async (interval, session) => {
    await storeLine(store.database, {
      key: market(`v-${interval}`, 'h1'),
      startMs,
      endMs: startMs + dayMs,
      prices: Array.from({ length: 24 }, () => '1'),
    });
    const call = `vwap('x', 'v-${interval}', 'tether', '${interval}', session => '${session}')`;
    await expect(rows(`select * from ${call}`)).rejects.toThrow(`whole number of periods of ${interval}`);
  });

  it('has a vwap of nulls where a period is not covered', async () => {
    await storeLine(store.database, {
      key: market('n', 'h1'),
      startMs,
      endMs: startMs + 4 * hourMs,
      prices: ['1', null, null, '4'],
      covered: [
        [0, 1],
        [3, 4],
      ],
    });
    expect(
      await rows(
        `select vwap::float, volume, session_vwap::float, candles, coverage from vwap('x', 'n', 'tether', 'h1')`,
      ),
    ).toEqual(['1 | 1 | 1 | 1 | 1', '- | - | - | - | 0', '- | - | - | - | 0', '4 | 1 | 2.5 | 1 | 1']);
  });

  it('weighs by the series that covers the range, not by a finer one that does not', async () => {
    const hours = Array.from({ length: 48 }, (_, hour) => String(100 + hour));
    await storeLine(store.database, {
      key: market('w', 'h1'),
      startMs,
      endMs: startMs + 2 * dayMs,
      prices: hours,
    });
    await storeLine(store.database, {
      key: market('w', 'm1'),
      startMs: startMs + dayMs,
      endMs: startMs + 2 * dayMs,
      prices: Array.from({ length: 1440 }, () => '7'),
    });
    const of = (range: string) =>
      rows(
        `select vwap::float, candles, derived_from, coverage from vwap('x', 'w', 'tether', 'd1', ${range})`,
      );
    expect(await of(`'2024-01-01Z', '2024-01-03Z'`)).toEqual(['111.5 | 24 | h1 | 1', '135.5 | 24 | h1 | 1']);
    expect(await of(`'2024-01-02Z', '2024-01-03Z'`)).toEqual(['7 | 1440 | m1 | 1']);
    expect(await of(`'2024-01-02Z', '2024-01-04Z'`)).toEqual(['7 | 1440 | m1 | 1', '- | - | m1 | 0']);
  });

  it('converts through the last known rate, and shows its time; a later one only when asked', async () => {
    const key = { dataset: 'asset_history', assetId: 'coin', interval: 'h1' } as const;
    const prices = Array.from({ length: 24 }, () => '10');
    await storeLine(store.database, { key, startMs, endMs: startMs + dayMs, prices });
    const at = (options: string) =>
      rows(
        `select to_char(time, 'HH24'), price::float, to_char(rate_time, 'HH24'), rate_age
           from prices_in('coin', 'EUR', 'h1'${options}) where extract(hour from time) in (0, 6, 9, 10, 12, 23)`,
      );
    expect(await at('')).toEqual([
      '00 | - | - | -',
      '06 | 8 | 06 | 00:00:00',
      // Known, and older than an hour.
      '09 | - | 06 | 03:00:00',
      '10 | - | 06 | 04:00:00',
      '12 | 6.25 | 12 | 00:00:00',
      '23 | - | 12 | 11:00:00',
    ]);
    expect(await at(`, max_age => '4 hours'`)).toEqual([
      '00 | - | - | -',
      '06 | 8 | 06 | 00:00:00',
      '09 | 8 | 06 | 03:00:00',
      '10 | 8 | 06 | 04:00:00',
      '12 | 6.25 | 12 | 00:00:00',
      '23 | - | 12 | 11:00:00',
    ]);
    await expect(at(`, max_age => '-1 hour'`)).rejects.toThrow('cannot be negative');
    expect(await at(`, max_age => '12 hours', look_ahead => true`)).toEqual([
      '00 | 8 | 06 | -06:00:00',
      '06 | 8 | 06 | 00:00:00',
      // Equally near to both: the earlier one.
      '09 | 8 | 06 | 03:00:00',
      '10 | 6.25 | 12 | -02:00:00',
      '12 | 6.25 | 12 | 00:00:00',
      '23 | 6.25 | 12 | 11:00:00',
    ]);
    // A range without a rate of its own uses those on either side.
    expect(
      await rows(
        `select price::float, to_char(rate_time, 'HH24')
           from prices_in('coin', 'euro', 'h1', '2024-01-01 08:00Z', '2024-01-01 09:00Z', '2 hours')`,
      ),
    ).toEqual(['8 | 06']);
  });

  it('converts a market from its quote, at the end of its periods, through both rates of one poll', async () => {
    const key = {
      dataset: 'candles',
      exchange: 'x',
      baseId: 'coin',
      quoteId: 'mexican-peso',
      interval: 'h1',
    } as const;
    await storeLine(store.database, {
      key,
      startMs,
      endMs: startMs + dayMs,
      prices: Array.from({ length: 24 }, () => '100'),
    });
    const answer = await rows(
      `select to_char(time, 'HH24'), price::float, source_price, source_currency, to_char(rate_time, 'HH24'), rate_age
         from prices_in('x coin/mexican-peso', 'euro', 'h1') where extract(hour from time) in (5, 11)`,
    );
    expect(answer).toEqual([
      '05 | 4 | 100 | mexican-peso | 06 | 00:00:00',
      '11 | 2.5 | 100 | mexican-peso | 12 | 00:00:00',
    ]);
    expect(
      await rows(
        `select distinct price = source_price from prices_in('x coin/mexican-peso', 'MXN', 'h1') where price is not null`,
      ),
    ).toEqual(['t']);
  });

  it('takes the middle of the day as the moment of a daily mean', async () => {
    const key = { dataset: 'asset_history', assetId: 'coin', interval: 'd1' } as const;
    await storeLine(store.database, { key, startMs, endMs: startMs + dayMs, prices: ['10'] });
    expect(await rows(`select price::float, rate_age from prices_in('coin', 'EUR')`)).toEqual([
      '6.25 | 00:00:00',
    ]);
  });

  it('shows in Grafana the prices of a derived interval, and none through a rate of 0', async () => {
    const key = { dataset: 'asset_history', assetId: 'panel', interval: 'h1' } as const;
    const prices = Array.from({ length: 24 }, (_, hour) => String(10 + hour));
    await storeLine(store.database, { key, startMs, endMs: startMs + dayMs, prices });
    const panel = queries('rawSql').find(({ title }) => title.startsWith('Price of'))?.query ?? '';
    const shown = (currency: string) =>
      rows(
        `select to_char(time, 'HH24'), trim_scale(price) from (${writtenOut(
          panel,
          { asset: 'panel', asset_interval: 'h6', currency },
          { fromMs: startMs + 2 * hourMs, toMs: startMs + dayMs, points: 1000 },
        )}) panel`,
      );
    expect(await shown('united-states-dollar')).toEqual(['06 | 16', '12 | 22', '18 | 28']);
    expect(await shown('worthless')).toEqual(['06 | -', '12 | -', '18 | -']);
  });

  it('refuses an unknown currency, and a symbol of several currencies', async () => {
    await expect(rows(`select * from prices_in('coin', 'eruo')`)).rejects.toMatchObject({
      message: 'unknown currency "eruo"',
      hint: 'did you mean "euro"?',
    });
    await expect(rows(`select * from prices_in('coin', 'TWO')`)).rejects.toMatchObject({
      message: 'the currency "TWO" is ambiguous',
      hint: 'say which: "one-coin" or "other-coin"',
    });
  });

  it('counts a return in the hour and on the day in which it happened', async () => {
    // From 100 to 110 between 05:00 and 06:00 of each day, back between 17:00 and 18:00.
    const prices = Array.from({ length: 72 }, (_, hour) => (hour % 24 > 5 && hour % 24 < 18 ? '110' : '100'));
    await storeLine(store.database, {
      key: { dataset: 'asset_history', assetId: 'tide', interval: 'h1' },
      startMs,
      endMs: startMs + 3 * dayMs,
      prices,
    });
    // A close of 110 is the price at the end of the hour.
    await storeLine(store.database, {
      key: market('tide', 'h1'),
      startMs,
      endMs: startMs + 3 * dayMs,
      prices: [...prices.slice(1), '100'],
    });
    const moved = (series: string) =>
      rows(
        `select hour, observations, mean_return::float, deviation::float, share_up::float from seasonality_by_hour('${series}') where mean_return <> 0`,
      );
    const expected = ['5 | 3 | 0.1 | 0 | 1', '17 | 3 | -0.0909090909090909 | 0 | 0'];
    expect(await moved('tide')).toEqual(expected);
    expect(await moved('x tide/tether')).toEqual(expected);
    expect(
      await rows(`select sum(observations), count(*), min(coverage) from seasonality_by_hour('tide')`),
    ).toEqual(['71 | 24 | 1']);
    // From 07:00 to 10:00 no price is known to exist: the return ends at 10:00.
    await storeLine(store.database, {
      key: { dataset: 'asset_history', assetId: 'thin', interval: 'h1' },
      startMs,
      endMs: startMs + dayMs,
      prices: Array.from({ length: 24 }, (_, hour) => ({ 7: '100', 10: '110' })[hour] ?? null),
    });
    expect(await rows(`select hour, mean_return::float from seasonality_by_hour('thin')`)).toEqual([
      '9 | 0.1',
    ]);
    // The 1st of January 2024 was a Monday.
    await storeLine(store.database, {
      key: { dataset: 'asset_history', assetId: 'tide', interval: 'd1' },
      startMs,
      endMs: startMs + 3 * dayMs,
      prices: ['100', '110', '99'],
    });
    expect(
      await rows(
        `select weekday, name, observations, mean_return::float, share_up::float from seasonality_by_weekday('tide')`,
      ),
    ).toEqual(['2 | Tuesday | 1 | 0.1 | 1', '3 | Wednesday | 1 | -0.1 | 0']);
  });
});
