/** The rollup levels: what each is derived from, and the intervals that it can be derived from. See docs/rollups.md. */

import { type CandleInterval, candleIntervals } from './datasets/candles.ts';
import { dayMs, gridOriginMs, hourMs, intervalMs } from './intervals.ts';

/** `h6` is an interval of histories: no source gives candles of it, and they can be derived all the same. */
type RollupInterval = Exclude<CandleInterval, 'm1'> | 'h6';

/** Rollups that are stored, for series of shorter intervals. Other levels are derived from them. */
export interface StoredRollup {
  readonly table: 'tidemark.rollup_hours' | 'tidemark.rollup_days';
  readonly periodMs: number;
}

export interface RollupLevel {
  readonly interval: RollupInterval;
  /** Its view, with the schema. */
  readonly name: `tidemark.rollup_${RollupInterval}`;
  /** What it is derived from for series that are finer than the stored rollup; null: the points. */
  readonly from: StoredRollup | null;
  readonly periodMs: number;
  /** Intervals of candles whose periods divide this one. */
  readonly finer: readonly CandleInterval[];
}

export const hours: StoredRollup = Object.freeze({ table: 'tidemark.rollup_hours', periodMs: hourMs });
export const days: StoredRollup = Object.freeze({ table: 'tidemark.rollup_days', periodMs: dayMs });

const derivedFrom: Readonly<Record<RollupInterval, StoredRollup | null>> = {
  m5: null,
  m15: null,
  m30: null,
  h1: hours,
  h2: hours,
  h4: hours,
  h6: hours,
  h8: hours,
  h12: hours,
  d1: days,
  w1: days,
};

/** Every level, from the finest. */
export const rollupLevels: readonly RollupLevel[] = Object.freeze(
  (Object.keys(derivedFrom) as RollupInterval[]).map((interval) =>
    Object.freeze({
      interval,
      name: `tidemark.rollup_${interval}` as const,
      from: derivedFrom[interval],
      periodMs: intervalMs[interval],
      finer: candleIntervals.filter(
        (finer) => intervalMs[finer] < intervalMs[interval] && intervalMs[interval] % intervalMs[finer] === 0,
      ),
    }),
  ),
);

/** Origin of every level's grid, as an SQL literal. */
export const gridOrigin = `timestamptz '${new Date(gridOriginMs).toISOString()}'`;

/** The length of a period, as an SQL literal. */
export function periodLiteral({ periodMs }: Pick<RollupLevel, 'periodMs'>): string {
  return `interval '${periodMs / 1000} seconds'`;
}
