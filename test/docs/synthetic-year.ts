/**
 * The data behind docs/sql.md and docs/cookbook.md: the simulator's year 2024, of a fixed seed, committed as workers
 * commit it, with a week that could not be fetched and an hour that the service changed afterwards.
 */

import type { MarketDataset } from '../../model/datasets/index.ts';
import { decimalText } from '../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs } from '../../model/intervals.ts';
import type { ListRow, PolledList } from '../../model/lists/index.ts';
import type { Range } from '../../model/ranges.ts';
import type { CandleSeries, HistorySeries, SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { deferWindow } from '../../store/commit/deferred-windows.ts';
import type { Database } from '../../store/db/database.ts';
import { trackList, untrackList } from '../../store/lists/lists.ts';
import { trackSeries } from '../../store/series/series.ts';
import type { Candle } from '../../v2/resources.ts';
import { pointLinesOf } from '../parts/points.ts';
import { fillOf, rulesOf } from '../parts/windows.ts';
import { commitRates, commitWindow } from '../store/committing.ts';
import { poll as pollList } from '../store/lists/polling.ts';

const day = (year: number, month: number, date: number) => Date.UTC(year, month - 1, date);
const year: Range = { startMs: day(2024, 1, 1), endMs: day(2025, 1, 1) };
const december: Range = { startMs: day(2024, 12, 1), endMs: year.endMs };
const fetchedMs = day(2025, 1, 2);
/** The time when the change was seen, and its extent. */
const changed = { hourMs: day(2024, 6, 1) + 12 * hourMs, seenMs: day(2025, 1, 10) };
const truth = createSimulator({ seed: 'docs', clock: { now: () => fetchedMs } }).truth;

const candles = (
  exchange: string,
  baseId: string,
  quoteId: string,
  interval: CandleSeries['interval'],
): CandleSeries => ({ dataset: 'candles', exchange, baseId, quoteId, interval });
const history = (assetId: string, interval: HistorySeries['interval']): HistorySeries => ({
  dataset: 'asset_history',
  assetId,
  interval,
});

const bitcoin = candles('binance', 'bitcoin', 'tether', 'h1');
const ethereum = candles('binance', 'ethereum', 'tether', 'h1');
/** A week of ethereum that the service refused on every attempt. */
const outage: Range = { startMs: day(2024, 8, 5), endMs: day(2024, 8, 12) };

const series: readonly { key: SeriesKey; range: Range; without?: Range }[] = [
  { key: bitcoin, range: year },
  { key: ethereum, range: year, without: outage },
  { key: candles('kraken', 'bitcoin', 'euro', 'h1'), range: year },
  { key: candles('binance', 'bitcoin', 'tether', 'm1'), range: december },
  { key: candles('binance', 'galleon', 'tether', 'm1'), range: { startMs: day(2024, 12, 30), endMs: year.endMs } },
  { key: history('bitcoin', 'd1'), range: year },
  { key: history('ethereum', 'd1'), range: year },
  { key: history('bitcoin', 'h1'), range: december },
];

/** Of the perpetual of bitcoin, whose prices follow the spot market at a distance of some dollars. */
const perpetual = { exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether:tether', interval: 'h1' } as const;

/** By the hour of December. It swings over days, mostly above. */
const distance = (hour: number) => Math.round(12 + 22 * Math.sin(hour / 41) + 10 * Math.sin(hour / 9));
const share = (dollars: number) => (dollars / 40_000).toFixed(6);
/** Follows the mean distance of the eight hours before. */
const fundingAt = (hour: number) =>
  share([1, 2, 3, 4, 5, 6, 7, 8].reduce((sum, before) => sum + distance(hour - before), 0) / 8);

function above({ period, open, high, low, close }: Candle, dollars: number) {
  const moved = (price: string) => price.replace(/^\d+/, (whole) => String(Number(whole) + dollars));
  return { period, open: moved(open), high: moved(high), low: moved(low), close: moved(close) };
}

/** Points of the perpetual's datasets: exact decimals that follow from the hour. */
function pointsOfPerpetual(): ReadonlyMap<MarketDataset, readonly object[]> {
  const spot = truth.candles(bitcoin, december, fetchedMs);
  const times = spot.map(({ period }) => period);
  return new Map<MarketDataset, readonly object[]>([
    [
      'candles',
      spot.map((row, hour) => ({ ...above(row, distance(hour)), volume: `${(row.period / hourMs) % 90}.5` })),
    ],
    ['mark_candles', spot],
    ['index_candles', spot],
    [
      'premium_candles',
      times.map((period, hour) => {
        const dollars = [distance(hour - 1), distance(hour)] as const;
        const [high, low] = [Math.max(...dollars) + 1, Math.min(...dollars) - 1];
        return { period, open: share(dollars[0]), high: share(high), low: share(low), close: share(dollars[1]) };
      }),
    ],
    [
      'funding_rates',
      spot.flatMap(({ period, open }, hour) =>
        hour % 8 === 0
          ? { time: period, rate: fundingAt(hour), intervalHours: '8', markPrice: open, delayMs: String(hour % 3) }
          : [],
      ),
    ],
    [
      'open_interest',
      times.map((time, hour) => ({ time, amount: `${80_000 + ((hour * 37) % 900)}.125`, value: null })),
    ],
    [
      'long_short_ratios',
      times.map((time, hour) => {
        const long = 50 + (hour % 15);
        const shares = { longShare: `0.${long}`, shortShare: `0.${100 - long}` };
        return { time, ratio: (long / (100 - long)).toFixed(4), ...shares };
      }),
    ],
  ]);
}

/**
 * Assets every Monday at noon, and the other lists on the last day: before, during and after some entries are missing.
 */
const polled: ReadonlyArray<{
  list: PolledList;
  timesMs: readonly EpochMs[];
  rows(timeMs: EpochMs): readonly ListRow[];
}> = [
  {
    list: { dataset: 'assets', asset: null },
    timesMs: Array.from({ length: 53 }, (_, week) => day(2024, 1, 1) + week * 7 * dayMs + 12 * hourMs),
    rows: (timeMs) => truth.assets(timeMs),
  },
  {
    list: { dataset: 'exchanges', asset: null },
    timesMs: [0, 6, 9].map((hour) => day(2024, 12, 31) + hour * hourMs),
    rows: (timeMs) => truth.exchanges(timeMs),
  },
  {
    list: { dataset: 'markets', asset: null },
    timesMs: [0, 6, 9].map((hour) => day(2024, 12, 31) + hour * hourMs),
    rows: (timeMs) => truth.markets(timeMs),
  },
  {
    list: { dataset: 'asset_markets', asset: 'xrp' },
    timesMs: [0, 6, 9, 12].map((hour) => day(2024, 12, 31) + hour * hourMs),
    rows: (timeMs) => truth.assetMarkets('xrp', timeMs),
  },
];

/** Fills an empty, migrated database with the same rows on every run. */
export async function loadSyntheticYear(database: Database): Promise<void> {
  for (const { key, range, without } of series) {
    const seriesId = await track(database, key, range);
    const windows =
      without === undefined
        ? [range]
        : [
            { startMs: range.startMs, endMs: without.startMs },
            { startMs: without.endMs, endMs: range.endMs },
          ];
    for (const window of windows) await commit(database, seriesId, key, window, fetchedMs);
    if (without === undefined) continue;
    await deferWindow(database.pool, {
      seriesId,
      window: without,
      source: defaultSource,
      reason: 'failed',
      message: 'the source answered 503',
      attempts: 5,
      nowMs: fetchedMs,
      retryAtMs: fetchedMs + hourMs,
    });
  }
  for (const [dataset, rows] of pointsOfPerpetual()) {
    const key = { ...perpetual, dataset } as SeriesKey;
    const seriesId = await track(database, key, december);
    await commit(database, seriesId, key, december, fetchedMs, rows);
  }
  await revise(database);
  for (let timeMs = year.startMs; timeMs < year.endMs; timeMs += dayMs) await poll(database, timeMs + 12 * hourMs);
  for (const { list, timesMs, rows } of polled) {
    await trackList(database, list, hourMs);
    for (const timeMs of timesMs) await pollList(database, timeMs, rows(timeMs));
    // The next list is then polled alone.
    await untrackList(database, list, fetchedMs);
  }
  await database.pool.query('update tidemark.lists set untracked_at = null');
}

async function track(database: Database, key: SeriesKey, { startMs, endMs }: Range): Promise<number> {
  const { seriesId } = await trackSeries(database, key, startMs, endMs);
  const createdAt = new Date(fetchedMs).toISOString();
  await database.pool.query('update tidemark.series set created_at = $2 where id = $1', [seriesId, createdAt]);
  return seriesId;
}

/** The service changes the close and volume of one closed hour. */
async function revise(database: Database): Promise<void> {
  const { seriesId } = await trackSeries(database, bitcoin, year.startMs, year.endMs);
  const window = { startMs: changed.hourMs, endMs: changed.hourMs + hourMs };
  const [row] = truth.candles(bitcoin, window, fetchedMs);
  if (row === undefined) throw new Error('the simulated hour has no candle');
  const rows = [{ ...row, close: row.high, volume: decimalText(`${row.volume}5`) }];
  await commit(database, seriesId, bitcoin, window, changed.seenMs, rows);
}

async function commit(
  database: Database,
  seriesId: number,
  key: SeriesKey,
  window: Range,
  nowMs: EpochMs,
  rows: readonly object[] = truth.points(key, window, fetchedMs),
): Promise<void> {
  const result = await commitWindow(database, {
    window: fillOf({ seriesId, series: key, ...window }),
    attempt: 1,
    answer: {
      rows: pointLinesOf(key.dataset, rows),
      rejected: [],
      sourceTimeMs: nowMs,
      status: 200,
      bytes: 0,
      durationMs: 0,
    },
    nowMs,
    rules: rulesOf(hourMs),
  } as Parameters<typeof commitWindow>[1]);
  if (result.covered?.endMs !== window.endMs) throw new Error(`not covered to its end: ${JSON.stringify(key)}`);
}

async function poll(database: Database, timeMs: EpochMs): Promise<void> {
  const answer = {
    rows: truth.rates(timeMs),
    rejected: [],
    sourceTimeMs: timeMs,
    status: 200,
    bytes: 0,
    durationMs: 0,
  };
  await commitRates(database, { answer, nowMs: timeMs });
}
