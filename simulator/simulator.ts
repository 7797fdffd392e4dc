/**
 * A synthetic Market Data Service. Its data depends on a seed and the time alone, covers any time since 2010 without
 * storage, and is consistent across intervals.
 */

import { dayMs, type EpochMs } from '../contract/intervals.ts';
import type {
  Asset,
  AssetMarket,
  Candle,
  Exchange,
  HistoryPoint,
  Market,
  Rate,
} from '../contract/resources.ts';
import type { CandleSeries, HistorySeries, TimeRange } from '../contract/series.ts';
import { originMs } from './calendar.ts';
import { untradedAsset } from './catalogue.ts';
import { intermittentAsset, type Revision, Revisions } from './faults/changes.ts';
import { EarlyValues } from './faults/early-values.ts';
import { type Faults, noFaults } from './faults/faults.ts';
import { Figures, type MarketFigures } from './figures.ts';
import { listAssetMarkets, listAssets, listExchanges, listMarkets, listRates } from './listings.ts';
import { createWorld, marketKey } from './world.ts';

export interface SimulatorOptions {
  readonly seed: string | number;
  /** The default `asOfMs` of the truth. */
  readonly now: () => EpochMs;
  /** Default: none. */
  readonly faults?: () => Pick<Faults, 'reviseRate' | 'reviseAfterMs'>;
}

const neverTraded: readonly string[] = [untradedAsset.id, intermittentAsset.id];

/**
 * The correct data without limits and faults. A response with timestamp T is the truth as of T, to the last digit of the
 * open candle. `asOfMs` defaults to the clock's time.
 */
export interface Truth {
  /** Candles whose period starts in `range`. @throws RangeError for an unknown market. */
  candles(series: CandleSeries, range: TimeRange, asOfMs?: EpochMs): Candle[];
  /** @throws RangeError for an unknown asset. */
  history(series: HistorySeries, range: TimeRange, asOfMs?: EpochMs): HistoryPoint[];
  rates(asOfMs?: EpochMs): Rate[];
  assets(asOfMs?: EpochMs): Asset[];
  exchanges(asOfMs?: EpochMs): Exchange[];
  markets(asOfMs?: EpochMs): Market[];
  assetMarkets(assetId: string, asOfMs?: EpochMs): AssetMarket[];
}

export interface Simulator {
  readonly truth: Truth;
  /** The truth, or null for an unknown market. */
  candles(series: CandleSeries, range: TimeRange, asOfMs: EpochMs): Candle[] | null;
  /** The truth, or null for an unknown asset. */
  history(series: HistorySeries, range: TimeRange, asOfMs: EpochMs): HistoryPoint[] | null;
  hasAsset(id: string): boolean;
  /** Changes the truth retroactively. */
  revise(revision: Revision): void;
}

export function createSimulator({ seed, now, faults = () => noFaults }: SimulatorOptions): Simulator {
  const world = createWorld(String(seed));
  const figures = new Figures(world);
  const revisions = new Revisions();
  const early = new EarlyValues(String(seed), faults);

  function candles(series: CandleSeries, range: TimeRange, asOfMs: EpochMs): Candle[] | null {
    const traded = world.markets.get(marketKey(series.exchange, series.baseId, series.quoteId));
    const rows = traded?.candles.rows(series.interval, range, asOfMs) ?? null;
    return rows && early.candles(series, revisions.candles(series, range, rows, asOfMs), asOfMs);
  }

  function history(series: HistorySeries, range: TimeRange, asOfMs: EpochMs): HistoryPoint[] | null {
    if (neverTraded.includes(series.assetId)) return [];
    const rows = world.assets.get(series.assetId)?.history.points(series.interval, range, asOfMs) ?? null;
    return rows && early.history(series, revisions.history(series, range, rows, asOfMs), asOfMs);
  }

  /** Snapshots begin on the second day, because they compare with the previous day. */
  const listed = (asOfMs: EpochMs = now()) => Math.max(asOfMs, originMs + dayMs);
  const snapshot = <Row>(
    list: (figures: readonly MarketFigures[], atMs: EpochMs) => Row[],
    asOfMs: EpochMs | undefined,
  ) => {
    const atMs = listed(asOfMs);
    return list(figures.at(atMs), atMs);
  };
  return {
    candles,
    history,
    hasAsset: (id) => world.assets.has(id) || neverTraded.includes(id),
    truth: {
      candles: (series, range, asOfMs = now()) => known(candles(series, range, asOfMs), series),
      history: (series, range, asOfMs = now()) => known(history(series, range, asOfMs), series),
      rates: (asOfMs) => listRates(world, listed(asOfMs)),
      assets: (asOfMs) => snapshot((at, atMs) => listAssets(world, at, atMs), asOfMs),
      exchanges: (asOfMs) => snapshot(listExchanges, asOfMs),
      markets: (asOfMs) => snapshot(listMarkets, asOfMs),
      assetMarkets: (id, asOfMs) => snapshot((at, atMs) => listAssetMarkets(at, id, atMs), asOfMs),
    },
    revise: (revision) => revisions.add(revision),
  };
}

function known<Value>(value: Value | null, series: CandleSeries | HistorySeries): Value {
  if (value === null) throw new RangeError(`the simulator has no such series: ${JSON.stringify(series)}`);
  return value;
}
