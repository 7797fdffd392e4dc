/**
 * The rollup levels: the source of each, the intervals it can be built from, and how it is refreshed.
 *
 * The tree is shallow, because a query up to the present descends it: every level adds a part to its plan.
 * See docs/rollups.md.
 */

import {
  type CandleInterval,
  candleIntervals,
  dayMs,
  gridOriginMs,
  intervalMs,
} from '../../contract/intervals.ts';

export type RollupInterval = Exclude<CandleInterval, 'm1'>;

export interface RollupLevel {
  readonly interval: RollupInterval;
  /** Its relation, with the schema. */
  readonly name: `tidemark.rollup_${RollupInterval}`;
  /** Its source level; null: the points. */
  readonly from: RollupInterval | null;
  readonly periodMs: number;
  /** Intervals of candles whose periods divide this one. */
  readonly finer: readonly CandleInterval[];
}

const madeOf: Readonly<Record<RollupInterval, RollupInterval | null>> = {
  m5: null,
  m15: 'm5',
  m30: 'm5',
  h1: 'm5',
  h2: 'h1',
  h4: 'h1',
  h8: 'h1',
  h12: 'h1',
  d1: 'h1',
  w1: 'd1',
};

/** Every level, each after its source. */
export const rollupLevels: readonly RollupLevel[] = Object.freeze(
  (Object.keys(madeOf) as RollupInterval[]).map((interval) =>
    Object.freeze({
      interval,
      name: `tidemark.rollup_${interval}` as const,
      from: madeOf[interval],
      periodMs: intervalMs[interval],
      finer: candleIntervals.filter(
        (finer) => intervalMs[finer] < intervalMs[interval] && intervalMs[interval] % intervalMs[finer] === 0,
      ),
    }),
  ),
);

/** Origin of every level's grid, as an SQL literal. */
export const gridOrigin = `timestamptz '${new Date(gridOriginMs).toISOString()}'`;

/** The length of a level's period, as an SQL literal. */
export function periodLiteral(level: RollupLevel): string {
  return `interval '${level.periodMs / 1000} seconds'`;
}

/**
 * How far behind the present a level is materialised. Newer periods are read from the points, so they are
 * never late, and changes of recent candles cause no refresh. The finest level lags a day, and each level
 * above one day more: changes below the watermark are logged only where the source has been materialised too.
 */
export function lagMs(level: RollupLevel): number {
  return depth(level) * dayMs;
}

function depth(level: RollupLevel): number {
  const from = rollupLevels.find(({ interval }) => interval === level.from);
  return from === undefined ? 1 : depth(from) + 1;
}

/**
 * Options of a refresh, manual or by policy. The oldest buckets come first: the watermark then never passes a
 * range that is not materialised, which answers would lack.
 */
export function batchOptions({ periodMs }: RollupLevel) {
  // Each batch is a transaction of its own: thirty days, which is a chunk of points; ten years for coarse levels.
  // (TimescaleDB's default of ten buckets took thirty times as long over eleven years of minutes.)
  const buckets = Math.max(500, Math.round((30 * dayMs) / periodMs));
  return { buckets_per_batch: buckets, refresh_newest_first: false };
}
