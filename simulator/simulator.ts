/**
 * A synthetic Market Data Service. Its data depends on a seed and the time alone, covers any time since 2010 without
 * storage, and is consistent across intervals.
 */

import type { Clock } from '../clock.ts';
import { dayMs, type EpochMs } from '../model/intervals.ts';
import type { CandleSeries, HistorySeries, SeriesKey, TimeRange } from '../model/series.ts';
import type { Candle, HistoryPoint } from '../v2/resources.ts';
import { originMs } from './calendar.ts';
import { untradedAsset } from './catalogue.ts';
import { intermittentAsset, type Revision, Revisions } from './faults/changes.ts';
import { earlyValues } from './faults/early-values.ts';
import { type Faults, noFaults } from './faults/faults.ts';
import { createFigures, type MarketFigures } from './figures.ts';
import { listAssetMarkets, listAssets, listExchanges, listMarkets, listRates } from './listings.ts';
import { createWorld, marketKey } from './world.ts';

export interface SimulatorOptions {
  readonly seed: string | number;
  /** The default `asOfMs` of the truth. */
  readonly clock: Pick<Clock, 'now'>;
  /** Default: none. */
  readonly faults?: () => Pick<Faults, 'reviseRate' | 'reviseAfterMs'>;
}

const neverTraded: readonly string[] = [untradedAsset.id, intermittentAsset.id];

export type Simulator = ReturnType<typeof createSimulator>;
/** The correct data without limits and faults. */
export type Truth = Simulator['truth'];

export function createSimulator({ seed, clock, faults = () => noFaults }: SimulatorOptions) {
  const world = createWorld(String(seed));
  const figures = createFigures(world);
  const revisions = new Revisions();
  const early = earlyValues(String(seed), faults);

  /** The truth, or null for an unknown market. */
  function candles(series: CandleSeries, range: TimeRange, asOfMs: EpochMs): Candle[] | null {
    const traded = world.markets.get(marketKey(series.exchange, series.baseId, series.quoteId));
    const rows = traded?.candles.rows(series.interval, range, asOfMs) ?? null;
    return rows && early.candles(series, revisions.applyTo(rows, series, range, asOfMs), asOfMs);
  }

  /** The truth, or null for an unknown asset. */
  function history(series: HistorySeries, range: TimeRange, asOfMs: EpochMs): HistoryPoint[] | null {
    if (neverTraded.includes(series.assetId)) return [];
    const rows = world.assets.get(series.assetId)?.history.points(series.interval, range, asOfMs) ?? null;
    return rows && early.history(series, revisions.applyTo(rows, series, range, asOfMs), asOfMs);
  }

  /** Snapshots begin on the second day, because they compare with the previous day. */
  const listed = (asOfMs: EpochMs = clock.now()) => Math.max(asOfMs, originMs + dayMs);
  const snapshot = <Row>(
    list: (figures: readonly MarketFigures[], atMs: EpochMs) => Row[],
    asOfMs: EpochMs | undefined,
  ) => {
    const atMs = listed(asOfMs);
    return list(figures(atMs), atMs);
  };
  return {
    candles,
    history,
    hasAsset: (id: string) => world.assets.has(id) || neverTraded.includes(id),
    /**
     * A response with timestamp T is the truth as of T, to the last digit of the open candle. `asOfMs` defaults to the
     * clock's time. Unknown markets and assets of `candles` and `history` throw a RangeError.
     */
    truth: {
      /** Candles whose period starts in `range`. */
      candles: (series: CandleSeries, range: TimeRange, asOfMs = clock.now()) =>
        known(candles(series, range, asOfMs), series),
      history: (series: HistorySeries, range: TimeRange, asOfMs = clock.now()) =>
        known(history(series, range, asOfMs), series),
      /** Of either. The world has no points of other datasets. */
      points: (series: SeriesKey, range: TimeRange, asOfMs = clock.now()): readonly (Candle | HistoryPoint)[] => {
        if (series.dataset === 'candles') return known(candles(series, range, asOfMs), series);
        return known(series.dataset === 'asset_history' ? history(series, range, asOfMs) : null, series);
      },
      rates: (asOfMs?: EpochMs) => listRates(world, listed(asOfMs)),
      assets: (asOfMs?: EpochMs) => snapshot((at, atMs) => listAssets(world, at, atMs), asOfMs),
      exchanges: (asOfMs?: EpochMs) => snapshot(listExchanges, asOfMs),
      markets: (asOfMs?: EpochMs) => snapshot(listMarkets, asOfMs),
      assetMarkets: (id: string, asOfMs?: EpochMs) => snapshot((at, atMs) => listAssetMarkets(at, id, atMs), asOfMs),
    },
    /** Changes the truth retroactively. */
    revise: (revision: Revision) => revisions.add(revision),
  };
}

function known<Value>(value: Value | null, series: SeriesKey): Value {
  if (value === null) throw new RangeError(`the simulator has no such series: ${JSON.stringify(series)}`);
  return value;
}
