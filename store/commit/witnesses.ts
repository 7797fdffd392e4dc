/**
 * Witnesses: the points of the periods beside a window, which its request includes (model/request-range.ts).
 *
 * In a covered time they are stored like any other point. A new one there shows that an earlier answer lacked it,
 * because that answer was truncated or falsely empty, or because the point came late at the source. The whole silence
 * around it becomes a gap again, up to the nearest stored points, except for the part that the answer itself proves.
 *
 * In an uncovered time they are left to the window that will request them: a stored point would keep that
 * window from being written by COPY.
 */

import type pg from 'pg';
import { byDataset, type DatasetName } from '../../model/datasets/index.ts';
import { type EpochMs, intervalMs, periodStart } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { bool, int4, nullable, range, statement, time } from '../db/statement.ts';
import { lockSeriesOf } from '../series/lock.ts';
import type { EvaluatedWindow } from './evaluate-answers.ts';
import type { PreparedWindow, WitnessPoints } from './prepare-window.ts';
import { mergePoints, type PointChanges } from './write-points.ts';

/**
 * @returns the witnesses that were stored or compared, and their changes; null when another transaction stored one of
 * the points meanwhile, as {@link mergePoints} does.
 */
export async function mergeWitnesses(client: pg.PoolClient, { window: { seriesId }, beside, nowMs }: PreparedWindow) {
  const merged: WitnessPoints[] = [];
  const changes: PointChanges[] = [];
  for (const side of beside) {
    if (!(await isCovered(client, seriesId, side))) continue;
    const change = await mergePoints(client, { window: { seriesId, ...side.range }, points: side.points }, nowMs);
    if (change === null) return null;
    merged.push(side);
    // An unchanged witness says nothing about the window.
    changes.push({ ...change, unchanged: 0 });
  }
  return { beside: merged, changes };
}

async function isCovered(client: pg.PoolClient, seriesId: number, side: WitnessPoints): Promise<boolean> {
  const [found] = await covers.on(client, { seriesId, range: side.range });
  return found?.isCovered === true;
}

const covers = statement({
  name: 'is-covered',
  text: 'select covered @> $range as "isCovered" from tidemark.series where id = $seriesId',
  parameters: { seriesId: int4, range },
  row: { isCovered: bool },
});

export interface ReopenedWindow extends EvaluatedWindow {
  /** Ranges that are no longer covered, unless the answer itself covers them. */
  readonly reopened: readonly Range[];
}

/** Reopens silences that new points refute. If there are any, the series of all windows are locked from here on. */
export async function reopenSilences(
  client: pg.PoolClient,
  windows: readonly EvaluatedWindow[],
): Promise<ReopenedWindow[]> {
  if (windows.every(({ changes }) => changes.unexpected == null))
    return windows.map((window) => ({ ...window, reopened: [] }));
  await lockSeriesOf(
    client,
    windows.map(({ window }) => window),
  );
  const reopening: ReopenedWindow[] = [];
  for (const window of windows) reopening.push({ ...window, reopened: await findSilences(client, window) });
  return reopening;
}

async function findSilences(client: pg.PoolClient, window: EvaluatedWindow): Promise<Range[]> {
  const { unexpected } = window.changes;
  const { span } = window.seen;
  if (unexpected == null || span === null) return [];
  const { seriesId, series } = window.window;
  const { firstMs, lastMs } = unexpected;
  const around = await findNeighbours(client, { seriesId, dataset: series.dataset, firstMs, lastMs });
  const length = intervalMs[series.interval];
  const start = (timeMs: EpochMs) => periodStart(timeMs, series.interval);
  const silences: Range[] = [];
  // No point is missing between two rows of one answer.
  if (firstMs <= span.firstMs) {
    const { beforeMs, coveredFromMs } = around;
    silences.push({ startMs: beforeMs === null ? coveredFromMs : start(beforeMs) + length, endMs: start(firstMs) });
  }
  if (lastMs >= span.lastMs) {
    const { afterMs, coveredToMs } = around;
    silences.push({ startMs: start(lastMs) + length, endMs: afterMs === null ? coveredToMs : start(afterMs) });
  }
  return silences.filter(({ startMs, endMs }) => startMs < endMs);
}

/** The nearest stored points within the same covered range, if any, and the bounds of that range. */
async function findNeighbours(
  client: pg.PoolClient,
  at: { readonly seriesId: number; readonly dataset: DatasetName; readonly firstMs: EpochMs; readonly lastMs: EpochMs },
) {
  const { seriesId, dataset, firstMs, lastMs } = at;
  const [bounds] = await coveredAround.on(client, { seriesId, first: firstMs, last: lastMs });
  const coveredFromMs = bounds?.from ?? firstMs;
  const coveredToMs = bounds?.to ?? lastMs;
  const between = { seriesId, from: coveredFromMs, first: firstMs, last: lastMs, to: coveredToMs };
  return { ...(await neighbours[dataset].one(client, between)), coveredFromMs, coveredToMs };
}

const neighbours = byDataset(({ table }, dataset) => {
  const points = `select time from tidemark.${table} where series_id = $seriesId`;
  return statement({
    name: `neighbours-${dataset}`,
    isPlannedAnew: true,
    text: `select (${points} and time >= $from and time < $first order by time desc limit 1) as "beforeMs",
                  (${points} and time > $last and time < $to order by time limit 1) as "afterMs"`,
    parameters: { seriesId: int4, from: time, first: time, last: time, to: time },
    row: { beforeMs: nullable(time), afterMs: nullable(time) },
  });
});

const coveredAround = statement({
  name: 'covered-around',
  text: `
    select (select lower(r) from unnest(covered) r where r @> $first) as from,
           (select upper(r) from unnest(covered) r where r @> $last) as to
    from tidemark.series where id = $seriesId`,
  parameters: { seriesId: int4, first: time, last: time },
  row: { from: nullable(time), to: nullable(time) },
});
