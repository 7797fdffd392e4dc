/**
 * The levels of rollups: which there are, which finer level each is made of, and which stored intervals it answers.
 *
 * The tree is shallow, because a query that is answered up to the present goes down it: every level adds a part to
 * its plan. See docs/rollups.md.
 */

import { type CandleInterval, candleIntervals, gridOriginMs, intervalMs } from '../../contract/intervals.ts';

export type RollupInterval = Exclude<CandleInterval, 'm1'>;

export interface RollupLevel {
  readonly interval: RollupInterval;
  /** Its relation, with the schema. */
  readonly name: `tidemark.rollup_${RollupInterval}`;
  /** The level it is made of; null: the points themselves. */
  readonly from: RollupInterval | null;
  readonly periodMs: number;
  /** Intervals of candles that make up whole periods of this one. */
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

/** Every level, each after the one it is made of. */
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

/** A moment that every period of every level is a whole number of lengths away from, as an SQL literal. */
export const gridOrigin = `timestamptz '${new Date(gridOriginMs).toISOString()}'`;

/** The length of a level's period, as an SQL literal. */
export function periodLiteral(level: RollupLevel): string {
  return `interval '${level.periodMs / 1000} seconds'`;
}
