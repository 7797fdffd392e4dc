/** The invariants of the store, which hold after every command. */

import { expect } from 'vitest';
import type { EpochMs } from '../../model/intervals.ts';
import { lengthMs, normalize, overlaps, type Range, subtract } from '../../model/ranges.ts';
import type { Database } from '../../store/db/database.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { plannedAll } from './planned.ts';
import { readStore, type StoredSeries } from './read-store.ts';
import { graceMs, type SeriesModel } from './series-model.ts';

export async function checkInvariants(
  database: Database,
  models: readonly SeriesModel[],
  nowMs: EpochMs,
): Promise<void> {
  const ids = models.map(({ seriesId }) => seriesId);
  const [store, gaps] = await Promise.all([
    readStore(database, ids),
    listGaps(database, { nowMs, graceMs, seriesIds: ids }),
  ]);
  for (const model of models) {
    const stored = store.get(model.seriesId);
    if (stored === undefined) throw new Error(`series ${model.seriesId} is gone`);
    checkPoints(stored, model);
    checkCoverage(stored, model, nowMs);
    const mine = gaps.filter(({ seriesId }) => seriesId === model.seriesId);
    checkGaps(mine, stored, model, nowMs);
    model.covered = new Set(model.periodsIn(stored.covered));
  }
  await checkPlan(database, models, store, nowMs);
  await checkRollups(database, ids);
}

/** Rollups that differ from the aggregates of the points, refreshed or not. */
async function checkRollups(database: Database, ids: readonly number[]): Promise<void> {
  const columns = 'series_id, time, open::text, high::text, low::text, close::text, volume::text, points';
  const differing = await database.pool.query(
    `with rolled_up as (
       select 'd1' as level, ${columns} from tidemark.rollup_d1 where series_id = any ($1)
       union all select 'h4', ${columns} from tidemark.rollup_h4 where series_id = any ($1)
     ), derived as (
       select level, ${columns} from (
         select level, series_id, date_bin(length, time, timestamptz 'epoch') as time,
                (array_agg(open order by time))[1] as open, (array_agg(high order by high desc, scale(high) desc))[1] as high,
                (array_agg(low order by low, scale(low) desc))[1] as low,
                (array_agg(close order by time desc))[1] as close, sum(volume) as volume, count(*) as points
         from tidemark.candle_points, (values ('d1', interval '24 hours'), ('h4', interval '4 hours')) l (level, length)
         where series_id in (select id from tidemark.series where id = any ($1) and interval = 'h1')
         group by 1, 2, 3
       ) of_points
     )
     (table rolled_up except all table derived) union all (table derived except all table rolled_up)`,
    [ids],
  );
  expect(differing.rows, 'rollups that differ from their points').toEqual([]);
}

/** Compares as text first, which is fast: all comparisons but at most one succeed. */
function expectSame(actual: unknown, expected: unknown, what: string): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual, what).toEqual(expected);
}

function checkPoints(stored: StoredSeries, model: SeriesModel): void {
  const sorted = [...model.points].sort(([a], [b]) => a - b);
  expectSame([...stored.points], sorted, 'points, as text');
  expectSame(stored.pointCount, sorted.length, 'count of points');
  expectSame(stored.earliestMs, sorted[0]?.[0] ?? null, 'earliest');
  expectSame(stored.newestMs, sorted.at(-1)?.[0] ?? null, 'newest');
  for (const [key, before] of model.perhapsRevisions) {
    if (stored.revisions.has(key)) model.revisions.set(key, before);
  }
  model.perhapsRevisions.clear();
  expectSame([...stored.revisions].sort(), [...model.revisions].sort(), 'revisions');
  expectSame(stored.requests, model.requests, 'rows of the ledger');
  expectSame(stored.quarantined, [...model.quarantined].sort(), 'quarantine');
}

function checkCoverage(stored: StoredSeries, model: SeriesModel, nowMs: EpochMs): void {
  const covered = model.periodsIn(stored.covered);
  expectSame(
    covered.filter((timeMs) => !model.mayCover.has(timeMs)),
    [],
    'covered without an answer',
  );
  const coveredSet = new Set(covered);
  expectSame(
    [...model.mustCover].filter((timeMs) => !coveredSet.has(timeMs)),
    [],
    'answered and committed, but not covered',
  );
  const end = stored.covered.at(-1)?.endMs ?? 0;
  expect(end, 'covered past the last closed period').toBeLessThanOrEqual(model.closedUpToMs(nowMs));

  expectSame(subtract(stored.confirmedEmpty, stored.covered), [], 'confirmed empty but not covered');
  const within = (ranges: readonly Range[]) => (timeMs: EpochMs) =>
    ranges.some(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs);
  expectSame([...stored.points.keys()].filter(within(stored.confirmedEmpty)), [], 'points in emptiness');
  const outside = [...stored.points.keys()].filter((timeMs) => !within(stored.covered)(timeMs));
  expectSame(
    outside.filter((timeMs) => !within(stored.uncoveredPoints)(timeMs)),
    [],
    'points outside coverage that are not in uncovered_points',
  );
  expectSame(
    stored.pending.filter(({ range }) => subtract([range], stored.covered).length === 0),
    [],
    'pending windows in coverage',
  );
}

function checkGaps(listed: readonly Range[], stored: StoredSeries, model: SeriesModel, nowMs: EpochMs): void {
  expectSame(stored.isTracked, model.tracked !== null, 'tracked');
  if (model.tracked !== null) {
    expectSame({ startMs: stored.trackedFromMs, endMs: stored.trackedToMs }, model.tracked, 'tracked range');
  }
  const pieces = listed.map(({ startMs, endMs }) => ({ startMs, endMs }));
  // Where two deferred windows overlap, the piece is listed with both reasons.
  expectSame(normalize(pieces), gapsOf(stored, model, nowMs), 'gaps');
}

/** Tracked range, up to the last closed period, minus coverage, computed naively. */
function gapsOf(stored: StoredSeries, model: SeriesModel, nowMs: EpochMs): Range[] {
  if (model.tracked === null) return [];
  const closedMs = model.closedUpToMs(nowMs);
  const wanted = { startMs: model.tracked.startMs, endMs: Math.min(closedMs, model.tracked.endMs ?? closedMs) };
  return subtract([wanted], stored.covered);
}

async function checkPlan(
  database: Database,
  models: readonly SeriesModel[],
  store: ReadonlyMap<number, StoredSeries>,
  nowMs: EpochMs,
): Promise<void> {
  const { read, plan, spanOf, endOf } = await plannedAll(database, models, nowMs);
  for (const model of models) {
    const gaps = read.find(({ seriesId }) => seriesId === model.seriesId)?.gaps ?? [];
    const windows = plan.windows.filter(({ seriesId }) => seriesId === model.seriesId);
    if (model.tracked === null || model.blockedUntilMs > nowMs) {
      expectSame(windows, [], 'windows of a series that is not due');
      continue;
    }
    const stored = store.get(model.seriesId);
    if (stored === undefined) continue;
    const waiting = stored.pending.filter(({ retryAtMs }) => retryAtMs > nowMs).map(({ range }) => range);
    expectSame(gaps, subtract(gapsOf(stored, model, nowMs), waiting), 'gaps to request');
    const span = spanOf(model);
    const backfill = windows.filter(({ lane }) => lane === 'backfill');
    for (const window of windows) {
      expect(window.endMs - window.startMs, 'length of a window').toBeLessThanOrEqual(span);
      expectSame(
        model.claimed.filter((claim) => overlaps(claim, window)),
        [],
        'planned although claimed',
      );
    }
    expectSame(subtract(backfill, gaps), [], 'planned although not missing');
    expectSame(lengthMs(normalize(windows)), lengthMs(windows), 'windows that overlap');
    // The newest gap waits while a part of its next request is claimed.
    const tail = { startMs: endOf(model) - span, endMs: endOf(model) };
    const waits = model.claimed.some((claim) => overlaps(claim, tail));
    const left = subtract(gaps, [...windows, ...model.claimed, ...(waits ? [tail] : [])]);
    expectSame(left, [], 'missing, and neither planned nor on its way');
  }
}
