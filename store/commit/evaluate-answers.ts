/** Evaluates what the answers of written windows prove. */

import type pg from 'pg';
import { byDataset, type DatasetName } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { defaultSource } from '../../model/sources.ts';
import type { Window } from '../../model/window.ts';
import { closedUpTo } from '../../planning/periods.ts';
import { proofOf } from '../../planning/proof.ts';
import { type Contradiction, type Evaluation, evaluateAnswer } from '../../planning/verdict.ts';
import { bool, int4, range, rowsOf, statement, text, time } from '../db/statement.ts';
import { lockSeriesOf } from '../series/lock.ts';
import { withOtherSources } from '../series/sources.ts';
import type { PreparedWindow } from './prepare-window.ts';
import type { PointChanges } from './write-points.ts';

export interface WrittenWindow extends PreparedWindow {
  readonly changes: PointChanges;
}

export interface EvaluatedWindow extends WrittenWindow {
  readonly evaluation: Evaluation;
  /** What the source may lack: the answer may be truncated or falsely empty. Absent: nothing. */
  readonly unproved?: Range;
}

const noContradiction: Contradiction = Object.freeze({ atStart: false, atEnd: false });

/**
 * Evaluates the answers. Where one is not plainly `filled`, the largest answers of other windows count too.
 * The series are then locked for the rest of the transaction.
 */
export async function evaluateAnswers(
  client: pg.PoolClient,
  windows: readonly WrittenWindow[],
): Promise<EvaluatedWindow[]> {
  // Without a larger answer to compare with, any answer may be truncated. A window that is filled even so is filled.
  const strict = windows.map((window) => ({
    ...window,
    evaluation: evaluateWindow(window, { maxRows: 0, contradicted: noContradiction }),
  }));
  if (strict.every(({ evaluation }) => evaluation.verdict === 'filled')) return strict;
  const nowMs = Math.max(...windows.map((window) => window.nowMs));
  const most = await readMaxRows(client, windows, nowMs);
  const evaluated: EvaluatedWindow[] = [];
  for (const window of strict) {
    const { verdict } = window.evaluation;
    const mayBeContradicted = verdict === 'cut_short' || verdict === 'empty';
    const contradicted = mayBeContradicted ? await findContradiction(client, window) : noContradiction;
    const maxRows = most.get(capKey(window)) ?? 0;
    evaluated.push({ ...window, evaluation: evaluateWindow(window, { maxRows, contradicted }) });
  }
  return evaluated;
}

function evaluateWindow(
  written: WrittenWindow,
  known: { readonly maxRows: number; readonly contradicted: Contradiction },
): Evaluation {
  const { window, answer, points, nowMs, rules, lacking, seen } = written;
  const { series } = window;
  // An answer without a timestamp knows at most the state at the time of the request.
  const sourceTimeMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
  return evaluateAnswer({
    window,
    interval: series.interval,
    timesMs: points.timesMs,
    proof: proofOf(series),
    shown: seen.span,
    links: seen.links,
    rejected: seen.rejectedWithin,
    rejectedPeriods: seen.rejectedPeriodsMs.length,
    outOfRangeRows: seen.outOfRange,
    rows: seen.rows,
    isWhole: answer.isWhole === true,
    ...known,
    isNewest: window.lane === 'refresh',
    closedUpToMs: closedUpTo(series, nowMs, rules.graceMs),
    answeredUpToMs: closedUpTo(series, Math.min(sourceTimeMs, lacking.knownUntilMs), 0),
  });
}

/**
 * Whether a stored point, covered or not, was requested and lies before the first row of the answer or after its last.
 * For an answer without rows only the witnesses count: a point within the window may have disappeared at the source.
 */
async function findContradiction(
  client: pg.PoolClient,
  { window, seen: { span } }: PreparedWindow,
): Promise<Contradiction> {
  const { seriesId, series, asks } = window;
  const firstMs = span?.firstMs ?? window.startMs;
  const lastMs = span?.lastMs ?? window.endMs - 1;
  const atStart = await hasStoredPoint(client, seriesId, series.dataset, asks.startMs, firstMs);
  const atEnd = await hasStoredPoint(client, seriesId, series.dataset, lastMs + 1, asks.endMs);
  return { atStart, atEnd };
}

/** Whether a point of the range is stored, covered or not. */
export async function hasStoredPoint(
  client: pg.PoolClient,
  seriesId: number,
  dataset: DatasetName,
  startMs: EpochMs,
  endMs: EpochMs,
): Promise<boolean> {
  if (startMs >= endMs) return false;
  return (await anyStored[dataset].on(client, { seriesId, start: startMs, end: endMs })).length > 0;
}

const anyStored = byDataset(({ table }, dataset) =>
  statement({
    name: `is-any-stored-${dataset}`,
    text: `select from tidemark.${table}
           where series_id = $seriesId and time >= $start and time < $end limit 1`,
    parameters: { seriesId: int4, start: time, end: time },
  }),
);

/** An older largest answer no longer counts: a source may introduce a cap. */
export const recentMs = 3_600_000;

/**
 * For each window, whether points of it may be stored, according to the row of its series. Looking for the
 * points themselves would visit every chunk. The answer holds for this moment only: other windows may be
 * committed at the same time.
 */
export async function mayContainPoints(
  client: pg.PoolClient,
  windows: ReadonlyArray<{ readonly window: Range & Pick<Window, 'seriesId'> }>,
): Promise<boolean[]> {
  const asked = windows.map(({ window }, place) => ({ seriesId: window.seriesId, range: window, place }));
  return (await mayContain.on(client, { asked })).map((row) => row.mayContain);
}

const mayContain = statement({
  name: 'may-contain-points',
  text: `select s.covered && asked.range or s.uncovered_points && asked.range as "mayContain"
         from $asked join tidemark.series s on s.id = asked.series_id order by asked.place`,
  parameters: { asked: rowsOf({ seriesId: int4, range, place: int4 }) },
  row: { mayContain: bool },
});

/** Key of the answers that share a cap on rows: a source has one cap for an address and an interval. */
function capKey({ window: { series, source } }: PreparedWindow): string {
  return `${series.dataset} ${series.interval} ${source}`;
}

/**
 * Reads the size of the largest recent answer under each cap, the windows' own included. The series are
 * locked in order: their coverage moves one commit at a time from here on.
 */
async function readMaxRows(
  client: pg.PoolClient,
  windows: readonly PreparedWindow[],
  nowMs: EpochMs,
): Promise<Map<string, number>> {
  await lockSeriesOf(
    client,
    windows.map(({ window }) => window),
  );
  const found = await mostRows.on(client, { since: nowMs - recentMs });
  const most = new Map(found.map((row) => [`${row.dataset} ${row.interval} ${row.source}`, row.rows]));
  for (const window of windows) {
    const cap = capKey(window);
    most.set(cap, Math.max(most.get(cap) ?? 0, window.seen.rows));
  }
  return most;
}

const mostRows = statement({
  name: 'most-rows',
  text: `select dataset, interval, coalesce(source, '${defaultSource}') as source, max(most_rows) as rows
         from tidemark.series
         left join (select distinct on (series_id) series_id, source from tidemark.series_sources
                    where not archive and series_id in ${withOtherSources} order by series_id, rank) x
           on series_id = id
         where most_rows_at > $since group by 1, 2, 3`,
  parameters: { since: time },
  row: { dataset: text, interval: text, source: text, rows: int4 },
});
