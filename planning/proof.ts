/**
 * What the points of an answer prove about the time between them and beside them, by the density of their dataset.
 *
 *   some     A period may have no point, as one without a trade. Two neighbours of an answer have none between them.
 *            Pauses beside them are judged by the habit of the series (verdict.ts).
 *   every    Each period has a point. The source lacks a period without one, and no silence is a pause.
 *   linked   Each point tells how long ago the one before it was, as a funding rate its interval. That proves the time
 *            back to the earlier one. It is believed of the next point, until that one proves it. A point that does not
 *            tell is as far from the one before it as it seems, if the next one is as far again: one longer distance is
 *            a missing point, two are another interval. None is longer than the longest of the dataset.
 */

import type { TimeRule } from '../model/dataset.ts';
import { type DatasetName, datasetOf } from '../model/datasets/index.ts';
import { type EpochMs, type Interval, intervalMs, periodStart } from '../model/intervals.ts';
import type { Point } from '../model/point-lines.ts';
import type { Range } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';

export interface LinkedPoint {
  readonly timeMs: EpochMs;
  /** How long before it the point before it was; null: it does not tell. */
  readonly linkMs: number | null;
}

/** A point with what its dataset says of the one before it. */
export function linkedPoint({ timeMs, values }: Point, dataset: DatasetName): LinkedPoint {
  const { time, columns } = datasetOf(dataset);
  if (time.density !== 'linked') return { timeMs, linkMs: null };
  const value = values[columns.findIndex(({ name }) => name === time.link.column)] ?? null;
  return { timeMs, linkMs: value === null ? null : Number(value) * time.link.unitMs };
}

export interface Proof {
  /** Whether a silence may be a pause of the series. */
  readonly mayPause: boolean;
  /** The points of an answer, ascending, with the links that follow from their distances. */
  withLinks(points: readonly LinkedPoint[]): readonly LinkedPoint[];
  /** What the source lacks between two neighbours of an answer; null: nothing. */
  missingBetween(before: LinkedPoint, after: LinkedPoint): Range | null;
  /** Whether nothing is missing from there to the first point. */
  provesStart(first: LinkedPoint, startMs: EpochMs): boolean;
  /** Whether no point is due after the last one before then. */
  believesEnd(last: LinkedPoint, endMs: EpochMs): boolean;
  /** No further point is due before; null: each period may have one. */
  dueAfter(last: LinkedPoint): EpochMs | null;
}

export function proofOf({ dataset, interval }: Pick<SeriesKey, 'dataset' | 'interval'>): Proof {
  return proofBy(datasetOf(dataset).time, interval);
}

const ofSome: Proof = Object.freeze({
  mayPause: true,
  withLinks: (points: readonly LinkedPoint[]) => points,
  missingBetween: () => null,
  provesStart: () => false,
  believesEnd: () => false,
  dueAfter: () => null,
});

export function proofBy(rule: TimeRule, interval: Interval): Proof {
  if (rule.density === 'some') return ofSome;
  const between = (before: LinkedPoint, after: LinkedPoint): Range | null => {
    const range = {
      startMs: periodStart(before.timeMs, interval) + intervalMs[interval],
      endMs: periodStart(after.timeMs, interval),
    };
    return range.startMs < range.endMs ? range : null;
  };
  if (rule.density === 'every') return { ...ofSome, mayPause: false, missingBetween: between };
  /** Start of the period of the earlier point. */
  const linked = ({ timeMs, linkMs }: LinkedPoint) => (linkMs === null ? null : periodStart(timeMs - linkMs, interval));
  const distances = (points: readonly LinkedPoint[]) =>
    points.map(({ timeMs }, place) => {
      const before = points[place - 1];
      return before === undefined ? null : periodStart(timeMs, interval) - periodStart(before.timeMs, interval);
    });
  return Object.freeze({
    mayPause: false,
    withLinks(points) {
      const all = distances(points);
      return points.map((point, place) => {
        const own = all[place] ?? null;
        const before = all[place - 1] ?? null;
        const isLonger = own !== null && before !== null && own > before && own > (all[place + 1] ?? 0);
        const link = isLonger ? before : own;
        return point.linkMs !== null || link === null ? point : { ...point, linkMs: Math.min(link, rule.longestMs) };
      });
    },
    missingBetween(before, after) {
      const earlierMs = linked(after);
      return earlierMs === null || earlierMs <= periodStart(before.timeMs, interval) ? null : between(before, after);
    },
    provesStart(first, startMs) {
      const earlierMs = linked(first);
      return earlierMs !== null && earlierMs < startMs;
    },
    believesEnd: ({ timeMs, linkMs }, endMs) => linkMs !== null && endMs <= periodStart(timeMs + linkMs, interval),
    dueAfter: ({ timeMs, linkMs }) => (linkMs === null ? null : periodStart(timeMs + linkMs, interval)),
  } satisfies Proof);
}
