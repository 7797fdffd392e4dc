/** Series that never pause, from a source that truncates answers, or answers empty, for a while. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decimalText } from '../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, intervalMs } from '../../model/intervals.ts';
import { linesOf } from '../../model/point-lines.ts';
import { longestRange } from '../../model/request-range.ts';
import type { MarketSeries } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import type { Window } from '../../model/window.ts';
import { planWindows } from '../../planning/plan.ts';
import type { Database } from '../../store/db/database.ts';
import { listGaps, seriesWithGaps } from '../../store/series/gaps.ts';
import { trackSeries } from '../../store/series/series.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { answerOf, commitWindow } from '../store/committing.ts';
import { openOwnStore } from '../store/open-store.ts';
import { emptyConfirmMs, graceMs } from './run-pipeline.ts';
import { coverageOf } from './stored.ts';

const startMs = Date.UTC(2024, 0, 1);
const beginMs = Date.UTC(2024, 6, 1);
const market = { exchange: 'x', baseId: 'b', quoteId: 'q:q' } as const;
const funding: MarketSeries = { dataset: 'funding_rates', ...market, interval: 'h1' };
const interest: MarketSeries = { dataset: 'open_interest', ...market, interval: 'm5' };

interface Event {
  readonly timeMs: EpochMs;
  /** Hours since the event before; null: it is a point of a grid. */
  readonly hours: number | null;
}

/** Regimes of intervals. A single longer interval cannot be told from a missing event. */
const regimes = fc.array(fc.record({ hours: fc.constantFrom(1, 2, 4, 8), count: fc.integer({ min: 3, max: 40 }) }), {
  minLength: 2,
  maxLength: 8,
});
type Regimes = typeof regimes extends fc.Arbitrary<infer Value> ? Value : never;

function eventsOf(all: Regimes): Event[] {
  let timeMs = startMs;
  return all.flatMap(({ hours, count }) =>
    Array.from({ length: count }, () => {
      timeMs += hours * hourMs;
      return { timeMs, hours };
    }),
  );
}

const gridOf = (all: Regimes): Event[] =>
  Array.from({ length: 40 * all.length }, (_, place) => ({ timeMs: startMs + place * intervalMs.m5, hours: null }));

/** What one answer leaves out of the rows of its range. */
type Fault = { readonly keeps: 'none' } | { readonly keeps: 'oldest' | 'newest'; readonly rows: number };
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constant({ keeps: 'none' as const }),
  fc.record({ keeps: fc.constantFrom('oldest' as const, 'newest' as const), rows: fc.integer({ min: 1, max: 60 }) }),
);

function left(events: readonly Event[], fault: Fault | null | undefined): readonly Event[] {
  if (fault == null) return events;
  if (fault.keeps === 'none') return [];
  return fault.keeps === 'oldest' ? events.slice(0, fault.rows) : events.slice(-fault.rows);
}

describeNeeding('plainPostgres', 'a series that never pauses', () => {
  const cases = fc.record({
    regimes,
    isStated: fc.boolean(),
    spanMs: fc.constantFrom(6 * dayMs, 30 * dayMs),
    faults: fc.array(fc.option(fault, { freq: 2 }), { maxLength: 12 }),
  });

  test.each([
    ['funding', funding, eventsOf],
    ['open interest', interest, gridOf],
  ] as const)('%s: loses nothing inside its coverage, and completes once the source answers wholly', async (...one) => {
    const [, series, truthOf] = one;
    const { database } = await openOwnStore('plain');
    await fc.assert(
      fc.asyncProperty(cases, async ({ regimes, isStated, spanMs, faults }) => {
        await database.pool.query('truncate tidemark.series cascade');
        await database.pool.query('truncate tidemark.funding_rate_points, tidemark.open_interest_points');
        const truth = truthOf(regimes);
        const lastMs = truth.at(-1)?.timeMs ?? startMs;
        const { seriesId } = await trackSeries(database, series, startMs, lastMs + intervalMs[series.interval]);
        const answers = [...faults];
        await fill(database, seriesId, spanMs, async (window, atMs) => {
          const rows = left(
            truth.filter(({ timeMs }) => timeMs >= window.asks.startMs && timeMs < window.asks.endMs),
            answers.shift(),
          ).map(({ timeMs, hours }) => ({
            timeMs,
            values:
              hours === null
                ? [decimalText('1'), null]
                : [decimalText('1'), isStated ? decimalText(String(hours)) : null, null, null],
          }));
          const answer = { ...answerOf([], atMs), rows: linesOf(series.dataset, rows) };
          const rules = { graceMs, emptyConfirmMs };
          await commitWindow(database, { window, attempt: 1, answer, nowMs: atMs, rules });
          await assertWhole(database, series, seriesId, truth);
        });
        // What is before the first stored point two false answers may have confirmed.
        const times = await timesOf(database, series);
        expect(await listGaps(database, { nowMs: beginMs, graceMs, seriesIds: [seriesId] })).toEqual([]);
        expect(times).toEqual(
          truth.map(({ timeMs }) => timeMs).filter((timeMs) => timeMs >= (times[0] ?? Number.POSITIVE_INFINITY)),
        );
      }),
      { numRuns: 25 },
    );
  });
});

/** Plans and commits until nothing is left to request, and moves the clock when only time helps. */
async function fill(
  database: Database,
  seriesId: number,
  spanMs: number,
  answer: (window: Window, atMs: EpochMs) => Promise<void>,
): Promise<void> {
  let requests = 0;
  for (let atMs = beginMs; atMs < beginMs + 12 * dayMs; ) {
    const query = { nowMs: atMs, graceMs, openRefreshMs: null, seriesIds: [seriesId], rangesPerSeries: 50 };
    const { windows } = planWindows({
      source: defaultSource,
      series: await seriesWithGaps(database, query),
      claimed: new Map(),
      nowMs: atMs,
      graceMs,
      longestRangeMs: (series) => Math.min(spanMs, longestRange(series)),
      slots: { total: 4, refresh: 4 },
      cursor: 0,
    });
    for (const window of windows) await answer(window, atMs);
    requests += windows.length;
    if (requests > 500) throw new Error('it never ends');
    if (windows.length === 0) atMs += 6 * emptyConfirmMs;
  }
}

async function timesOf(database: Database, { dataset }: MarketSeries): Promise<EpochMs[]> {
  const table = dataset === 'funding_rates' ? 'funding_rate_points' : 'open_interest_points';
  const { rows } = await database.pool.query<{ ms: number }>(
    `select (extract(epoch from time) * 1000)::double precision as ms from tidemark.${table} order by time`,
  );
  return rows.map(({ ms }) => ms);
}

async function assertWhole(database: Database, series: MarketSeries, seriesId: number, truth: readonly Event[]) {
  const [covered, times] = [await coverageOf(database, seriesId), new Set(await timesOf(database, series))];
  const [firstMs = Number.POSITIVE_INFINITY] = times;
  const lost = truth.filter(
    ({ timeMs }) =>
      timeMs >= firstMs &&
      !times.has(timeMs) &&
      covered.some(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs),
  );
  expect(lost).toEqual([]);
}
