/** The ways in which a source misbehaves, one function each. */

import { dayMs, type EpochMs, minuteMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Candle } from '../../v2/resources.ts';

type Row = Readonly<Record<keyof Candle, unknown>> | Candle;

export interface Answer {
  /** The correct rows. */
  readonly rows: readonly Candle[];
  readonly range: Range;
  /** The number of this request at this source, from 1. */
  readonly count: number;
  /** Whether no period of the range was in an empty answer before. */
  readonly isNeverEmptied: boolean;
  /** Answers with these rows and status 200. @param timestampMs the source's clock; default: the true time. */
  send(rows: readonly Row[], timestampMs?: EpochMs): void;
}

export interface Misbehaviour {
  readonly answer: (answer: Answer) => void;
  /** Whether `backfill` can complete although the source never answers correctly. */
  readonly completes: boolean;
  /** Whether existing rows are rejected. */
  readonly rejects?: boolean;
}

/** At most this many rows, which may depend on the number of the answer. */
const cap = (most: (answer: Answer) => number, keeps: 'first' | 'last'): Misbehaviour => ({
  answer: (answer) => {
    const rows = Math.max(1, most(answer));
    answer.send(keeps === 'first' ? answer.rows.slice(0, rows) : answer.rows.slice(-rows));
  },
  completes: true,
});
/** No two in a row are equal, and none is predictable from earlier ones. */
const varying = ({ count }: Answer) => 20 + ((count * 7919) % 120);

const shifted = (rows: readonly Candle[], byMs: number) => rows.map((row) => ({ ...row, period: row.period + byMs }));

export const misbehaviours: Readonly<Record<string, Misbehaviour>> = {
  'rows outside the range': {
    answer: ({ rows, send }) =>
      send([...shifted(rows, -10 * dayMs).slice(0, 30), ...rows, ...shifted(rows, 10 * dayMs).slice(0, 30)]),
    // An answer with only out-of-range rows does not mean that the range is empty.
    completes: false,
  },
  'two rows in three off by seconds': {
    answer: ({ rows, send }) =>
      send(rows.map((row, place) => (place % 3 === 0 ? row : { ...row, period: row.period + 7000 }))),
    completes: false,
    rejects: true,
  },
  // An invalid row precedes each row of the last half: the answer has as many rows as the window has periods.
  'the last half of the rows, each after an invalid one': {
    answer: ({ rows, send }) =>
      send(rows.slice(Math.floor(rows.length / 2)).flatMap((row) => [{ ...row, low: '1e9' }, row])),
    completes: false,
    rejects: true,
  },
  'half of the rows, and as many without a time': {
    answer: ({ rows, send }) =>
      send(rows.flatMap((row, place) => (place * 2 < rows.length ? [row, { ...row, period: null }] : []))),
    completes: false,
    rejects: true,
  },
  'impossible candles with a time beside their period': {
    answer: ({ rows, send }) =>
      send(rows.map((row, place) => (place % 10 === 3 ? { time: row.period - minuteMs, ...row, low: '1e9' } : row))),
    completes: false,
    rejects: true,
  },
  'empty answers': {
    answer: ({ count, isNeverEmptied, rows, send }) => send(count % 2 === 1 && isNeverEmptied ? [] : rows),
    completes: true,
  },
  'a cap that varies, first rows': cap(varying, 'first'),
  'a cap that varies, last rows': cap(varying, 'last'),
  'a cap that falls to a few rows': cap(({ count }) => (count <= 20 ? 100 : 18), 'first'),
  'stale copies': {
    // A copy from a time within the range, without later rows.
    answer: ({ count, rows, range, send }) => {
      const asOfMs = range.startMs + 70 * minuteMs;
      if (count % 3 === 1)
        send(
          rows.filter(({ period }) => period < asOfMs),
          asOfMs,
        );
      else send(rows);
    },
    completes: true,
  },
};
