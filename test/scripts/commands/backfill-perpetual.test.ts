import { expect, it } from 'vitest';
import { datasets, type MarketDataset } from '../../../model/datasets/index.ts';
import { type DecimalText, productOf } from '../../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, type Interval, intervalMs, type Range } from '../../../model/intervals.ts';
import { fundingEvents, perpetualCandle, positionsAt, premiumAt } from '../../../simulator/derivatives.ts';
import { eightDecimals } from '../../../simulator/venues/binance-usdm.ts';
import type { RunningVenueSimulator } from '../../../simulator/venues/start.ts';
import { profiles } from '../../../sources/profiles/profiles.ts';
import type { Candle } from '../../../v2/resources.ts';
import { storedPoints } from '../../pipeline/stored.ts';
import { marksOf, openInterestOf } from './open-interest-truth.ts';
import { openVenues } from './watch-list-parts.ts';

interface Case {
  readonly dataset: MarketDataset;
  readonly source:
    | 'binance-coinm'
    | 'binance-usdm'
    | 'binance-usdm-funding'
    | 'binance-usdm-data'
    | 'bybit-linear'
    | 'okx-swap'
    | 'okx-swap-data';
  /** Default: BTC/USDT:USDT. */
  readonly symbol?: string;
  readonly interval: Interval;
  readonly range: Range;
  /** Windows at least. */
  readonly requests: number;
  readonly truth: (venue: RunningVenueSimulator, range: Range, interval: Interval) => object[];
}

const spring = { startMs: Date.UTC(2024, 2, 1), endMs: Date.UTC(2024, 2, 3) };
/** A range with intervals of 8, 4 and 1 hours. */
const winter = { startMs: Date.UTC(2023, 10, 1), endMs: Date.UTC(2024, 1, 10) };
const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
const lately = { startMs: todayMs - 5 * dayMs, endMs: todayMs - dayMs };

const times = ({ startMs, endMs }: Range, interval: Interval): EpochMs[] =>
  Array.from(
    { length: (endMs - startMs) / intervalMs[interval] },
    (_, place) => startMs + place * intervalMs[interval],
  );
const spot = { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether' } as const;
const ofSpot = (venue: RunningVenueSimulator, range: Range) => venue.truth.candles({ ...spot, interval: 'h1' }, range);
const traded: Case['truth'] = (venue, range) => ofSpot(venue, range).map((row) => perpetualCandle('BTCUSDT', row));
const withoutVolume = ({ volume: _, ...prices }: Candle) => prices;
const indices: Case['truth'] = (venue, range) => ofSpot(venue, range).map(withoutVolume);
const marks: Case['truth'] = (venue, range) =>
  ofSpot(venue, range).map((row) => perpetualCandle('BTCUSDT', withoutVolume(row)));

const premiums: Case['truth'] = (_, range, interval) =>
  times(range, interval).map((period) => ({ period, ...premiumAt('BTCUSDT', period) }));
/** Of venues that state the full hour and no mark price. */
const events: Case['truth'] = (_, range) =>
  fundingEvents('BTCUSDT', range).map(({ timeMs: time, rate }) => ({
    ...{ time, rate, intervalHours: null, delayMs: '0', markPrice: null },
  }));
const amounts: Case['truth'] = (_, range, interval) =>
  times(range, interval).map((time) => ({ time, amount: positionsAt('BTCUSDT', time).amount, value: null }));
const noOthers = { topAccountsRatio: null, topPositionsRatio: null, takerRatio: null };
const coinm = 'BTC/USD:BTC';
const marked: Case['truth'] = (venue, range) => {
  const candles = ofSpot(venue, range).map((row) => perpetualCandle('BTCUSDT', row));
  const opens = new Map(candles.map(({ period, open }) => [period, open]));
  return fundingEvents('BTCUSDT', range).map(({ timeMs, statedMs, rate }) => ({
    ...{ time: timeMs, rate, intervalHours: null, delayMs: String(statedMs - timeMs) },
    markPrice: timeMs < Date.UTC(2023, 9, 31) ? null : eightDecimals(opens.get(timeMs) ?? ''),
  }));
};
/** Of days, 200 are the most that a request may ask for. */
const year = { startMs: Date.UTC(2023, 0, 1), endMs: Date.UTC(2024, 0, 1) };
/** OKX keeps five days: those of the UTC day would be too old in its last minutes. */
const hourStartMs = Math.floor(Date.now() / hourMs) * hourMs;
const newest = { startMs: hourStartMs - 4 * dayMs, endMs: hourStartMs - dayMs };
const recently = { startMs: todayMs - 80 * dayMs, endMs: todayMs - dayMs };

const cases: readonly Case[] = [
  ...(
    [
      { dataset: 'candles', interval: 'h1', range: spring, requests: 1, truth: traded },
      { dataset: 'mark_candles', interval: 'h1', range: spring, requests: 1, truth: marks },
      { dataset: 'index_candles', interval: 'h1', range: spring, requests: 1, truth: indices },
      { dataset: 'premium_candles', interval: 'd1', range: year, requests: 2, truth: premiums },
      { dataset: 'funding_rates', interval: 'h1', range: winter, requests: 1, truth: marked },
      { dataset: 'open_interest', interval: 'm5', range: lately, requests: 3, truth: amounts },
    ] as const
  ).map((one): Case => ({ source: 'binance-coinm', symbol: coinm, ...one })),
  { dataset: 'candles', source: 'binance-usdm', interval: 'h1', range: spring, requests: 1, truth: traded },
  { dataset: 'mark_candles', source: 'binance-usdm', interval: 'h1', range: spring, requests: 1, truth: marks },
  { dataset: 'index_candles', source: 'binance-usdm', interval: 'h1', range: spring, requests: 1, truth: indices },
  {
    ...{ dataset: 'premium_candles', source: 'binance-usdm', interval: 'm1', range: spring, requests: 6 },
    truth: (_, range, interval) =>
      times(range, interval).map((period) => ({ period, ...premiumAt('BTCUSDT', period) })),
  },
  {
    ...{ dataset: 'funding_rates', source: 'binance-usdm-funding', interval: 'h1', range: winter, requests: 1 },
    truth: marked,
  },
  {
    ...{ dataset: 'open_interest', source: 'binance-usdm-data', interval: 'm5', range: lately, requests: 3 },
    truth: (venue, range, interval) => openInterestOf(venue, range, interval),
  },
  {
    ...{ dataset: 'long_short_ratios', source: 'binance-usdm-data', interval: 'm5', range: lately, requests: 3 },
    truth: (_, range, interval) =>
      times(range, interval).map((time) => {
        const { ratio, long, short } = positionsAt('BTCUSDT', time);
        return { time, ratio, longShare: long, shortShare: short, ...noOthers };
      }),
  },
  { dataset: 'candles', source: 'bybit-linear', interval: 'h1', range: spring, requests: 1, truth: traded },
  { dataset: 'mark_candles', source: 'bybit-linear', interval: 'h1', range: spring, requests: 1, truth: marks },
  { dataset: 'index_candles', source: 'bybit-linear', interval: 'h1', range: spring, requests: 1, truth: indices },
  { dataset: 'premium_candles', source: 'bybit-linear', interval: 'm1', range: spring, requests: 3, truth: premiums },
  { dataset: 'funding_rates', source: 'bybit-linear', interval: 'h1', range: winter, requests: 3, truth: events },
  { dataset: 'open_interest', source: 'bybit-linear', interval: 'm5', range: lately, requests: 6, truth: amounts },
  {
    ...{ dataset: 'long_short_ratios', source: 'bybit-linear', interval: 'm5', range: lately, requests: 3 },
    truth: (_, range, interval) =>
      times(range, interval).map((time) => {
        const { long, short } = positionsAt('BTCUSDT', time);
        return { time, ratio: null, longShare: long, shortShare: short, ...noOthers };
      }),
  },
  { dataset: 'candles', source: 'okx-swap', interval: 'h1', range: spring, requests: 1, truth: traded },
  { dataset: 'mark_candles', source: 'okx-swap', interval: 'h1', range: spring, requests: 1, truth: marks },
  { dataset: 'index_candles', source: 'okx-swap', interval: 'h1', range: spring, requests: 1, truth: indices },
  { dataset: 'funding_rates', source: 'okx-swap', interval: 'h1', range: recently, requests: 1, truth: events },
  { dataset: 'open_interest', source: 'okx-swap-data', interval: 'm5', range: newest, requests: 9, truth: amounts },
  {
    ...{ dataset: 'long_short_ratios', source: 'okx-swap-data', interval: 'm5', range: newest, requests: 9 },
    truth: (_, range, interval) =>
      times(range, interval).map((time) => {
        const { ratio } = positionsAt('BTCUSDT', time);
        return { time, ratio, longShare: null, shortShare: null, ...noOthers };
      }),
  },
];

it.each(cases)('$dataset of $source, to the last digit, with the fewest requests', async (one) => {
  const { dataset, source, symbol = 'BTC/USDT:USDT', interval, range } = one;
  // Of a source without its archive, which has another address.
  const { say, run, venues, database } = await openVenues([source]);
  const venue = Object.values(venues)[0] as RunningVenueSimulator;
  const [from, to] = [range.startMs, range.endMs].map((timeMs) => new Date(timeMs).toISOString());
  const words = `backfill ${datasets[dataset].word} --source ${source} --symbol ${symbol} --interval ${interval}`;
  const backfill = async () => JSON.parse(await say(`${words} --from ${from} --to ${to} --json`));
  expect(await backfill()).toMatchObject({ requests: one.requests, windowsLeft: 0 });
  const { total } = venue.requests();
  // One for the list of markets.
  expect(total).toBe(one.requests + 1);
  const exchange = profiles[source]?.exchange;
  const stored = { dataset, exchange, baseId: 'BTC', quoteId: symbol.slice(4), interval } as never;
  const wanted = one.truth(venue, range, interval);
  expect(wanted.length).toBeGreaterThan(40);
  expect(await storedPoints(database, stored)).toEqual(wanted);
  expect(await backfill()).toMatchObject({ requests: 0, points: 0 });
  expect(venue.requests()).toMatchObject({ total, count429: 0 });
  if (dataset === 'candles') return;
  const why = await run(
    `backfill ${datasets[dataset].word} --source binance --symbol BTC/USDT --interval ${interval} --from 1d`,
  );
  expect(why).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(source) });
});

it('why says when the next event is due', async () => {
  const { say, run } = await openVenues(['binance-usdm-funding']);
  const backfill = 'backfill funding --source binance-usdm-funding --symbol BTC/USDT:USDT --from 3d';
  expect(await say(`${backfill} --dry-run`)).toMatch(
    /\nthe interval of funding is not known yet of 1 series: one event in 8 h is assumed, and there may be up to 8 times/,
  );
  await run(backfill);
  // Within seconds of that it is requested at once. A time at midnight has no clock.
  expect(await say('why 1')).toMatch(
    /Next of binance-usdm-funding: refresh of .*, (from 20.* on, when the next event is due|when a worker is connected)\./,
  );
});

it('an inverse swap of OKX, whose contracts are dollars, and in SQL what it pays and is worth', async () => {
  const { say, query, venues, database } = await openVenues(['okx-swap', 'okx-swap-data']);
  const range = { startMs: todayMs - 3 * dayMs, endMs: todayMs - dayMs };
  const [from, to] = [range.startMs, range.endMs].map((timeMs) => new Date(timeMs).toISOString());
  const marked = marksOf(venues['okx-swap'], range, 'BTCUSD');
  const paid = fundingEvents('BTCUSD', range);
  const open = openInterestOf(venues['okx-swap'], range, 'h1', 'BTCUSD');
  const truths = [
    ['okx-swap', 'candles', 'h1', ofSpot(venues['okx-swap'], range).map((row) => perpetualCandle('BTCUSD', row))],
    ['okx-swap', 'mark_candles', 'm5', marked],
    ['okx-swap', 'index_candles', 'h1', indices(venues['okx-swap'], range, 'h1')],
    ['okx-swap', 'funding_rates', 'h1', paid.map(({ timeMs: time, rate }) => ({ time, rate }))],
    ['okx-swap-data', 'open_interest', 'h1', open.map(({ time, amount }) => ({ time, amount, value: null }))],
  ] as const;
  for (const [source, dataset, interval, truth] of truths) {
    const words = `--source ${source} --symbol BTC/USD:BTC --interval ${interval} --from ${from} --to ${to}`;
    await say(`backfill ${datasets[dataset].word} ${words} --json`);
    const stored = { dataset, exchange: 'okx', baseId: 'BTC', quoteId: 'USD:BTC', interval } as never;
    expect(await storedPoints(database, stored)).toMatchObject(truth);
  }
  const [contract] = await query('select distinct kind, settle, contract_size::text as size from coverage');
  expect(contract).toEqual({ kind: 'perpetual', settle: 'BTC', size: '100' });
  const closes = new Map(marked.map(({ period, close }) => [period + intervalMs.m5, close]));
  const named = `'okx', 'BTC', 'USD:BTC'`;
  // Of one dollar, in bitcoin. Before the first event there is no mark price.
  const payments = await query(
    `select round(rate / mark_price, 12) = round(payment, 12) as "isRight", mark_price::text as price
     from funding(${named}) order by time offset 1`,
  );
  expect(payments).toEqual(paid.slice(1).map(({ timeMs }) => ({ isRight: true, price: closes.get(timeMs) })));
  const values = await query(`select value::text, mark_price::text as price
    from open_interest_value(${named}, 'h1', '${from}', '${to}') order by time offset 1`);
  expect(values).toEqual(
    open.slice(1).map(({ time, amount }) => {
      const price = closes.get(time) as DecimalText;
      return { value: productOf(amount, price), price };
    }),
  );
});
