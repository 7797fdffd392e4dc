/** Moves the coverage of series as their evaluated answers allow, within the commit's transaction. */

import type pg from 'pg';
import { type EpochMs, nextPeriodStart, periodStart, type Range } from '../../model/intervals.ts';
import { clip, subtract } from '../../model/ranges.ts';
import { rejectionOf } from '../../planning/answer.ts';
import type { Verdict } from '../../planning/verdict.ts';
import { bool, float8, int4, nullable, type RowOf, range, ranges, rowsOf, statement, time } from '../db/statement.ts';
import { ledgerInsert, ledgerRow, ledgerRows, type NewEntry, recordFetch } from '../ledger/ledger.ts';
import { type ChangedSpan, markChangedMonths } from '../series/changed-months.ts';
import { assertSame } from '../series/lock.ts';
import { neverPauses } from '../series/never-pauses.ts';
import { isAwaiting } from '../series/reason-sets.ts';
import { daysBehind } from '../series/rollups-behind.ts';
import { identity, identityColumns } from '../series/series.ts';
import { deferUnusableRanges, deleteCoveredWindows } from './deferred-windows.ts';
import { isTailWithout, recordEmptyAnswer, recordSilence, recordUnusualSilences } from './empty-answers.ts';
import { type EvaluatedWindow, recentMs } from './evaluate-answers.ts';
import { type GivenRanges, givenRows, moveRanges } from './given-ranges.ts';
import { requestEntry, type WindowResult } from './prepare-window.ts';
import type { ReopenedWindow } from './witnesses.ts';

type Outcome = Pick<WindowResult, 'verdict' | 'covered'>;

/**
 * Moves the coverage of the windows' series, and adds the ledger's rows: in one statement for all windows with points,
 * because a backfill commits thousands of them. A second statement deletes the deferred windows that are covered now.
 * It begins after the series are locked: an earlier one could miss what another commit is about to defer.
 *
 * @returns the windows with the outcome of each, in the same order.
 */
export async function recordCoverage(
  client: pg.PoolClient,
  windows: readonly ReopenedWindow[],
): Promise<Array<ReopenedWindow & Outcome>> {
  const answered = windows.filter(({ evaluation }) => evaluation.verdict !== 'empty');
  if (answered.length > 0) {
    await moveCoverage(client, answered);
    await deleteCoveredWindows.on(client, { seriesIds: answered.map(({ window }) => window.seriesId) });
    await deleteAnswered.on(client, {
      answered: answered.map(({ window, evaluation }) => ({
        ...{ ...window, asked: window, isFilled: evaluation.verdict === 'filled' },
      })),
    });
    await deleteRefutedRanges(client, answered);
  }
  // The series are locked from here on, so another commit cannot cover a range that is deferred here.
  for (const window of windows) {
    await deferUnusableRanges(client, window);
    const { covered, verdict } = window.evaluation;
    if (covered !== null || verdict === 'filled') await recordUnusualSilences(client, window);
  }
  await markChangedMonths(client, windows.flatMap(changedSpan));
  const recorded: Array<ReopenedWindow & Outcome> = [];
  for (const window of windows) recorded.push({ ...window, ...(await recordOutcome(client, window)) });
  return recorded;
}

async function recordOutcome(client: pg.PoolClient, window: EvaluatedWindow): Promise<Outcome> {
  const { evaluation } = window;
  if (evaluation.verdict === 'empty') {
    // Witnesses may have changed.
    const behind = changedDays(window);
    if (behind !== null) await addDaysBehind.on(client, { seriesId: window.window.seriesId, days: behind });
    const outcome = await recordEmptyAnswer(client, window, evaluation.covered);
    await recordFetch(client, ledgerEntry(window, outcome.verdict));
    return outcome;
  }
  let outcome: Outcome = { verdict: statedVerdict(window), covered: evaluation.covered };
  if (evaluation.verdict !== 'cut_short') return outcome;
  const isTail = isTailWithout(window);
  // A tail answer with no new point shows a quiet market, or an answer truncated to the points it reached
  // back to. An answer to a request for the rest alone decides.
  if (isTail && !evaluation.isContradicted)
    for (const range of evaluation.rest)
      outcome = await recordEmptyAnswer(client, window, range, { mayConfirm: false });
  else if (isTail || evaluation.covered === null) await recordSilence(client, window);
  return outcome;
}

/**
 * A failure ends with the answer to its window, and that of an answer without a use with one that is filled, also for
 * the part that closes later: it would be told again when it is long over.
 */
const deleteAnswered = statement({
  name: 'delete-answered',
  text: `delete from tidemark.pending_windows p using $answered
         where p.series_id = answered.series_id and not p.of_covered and p.range <@ answered.asked
           and (p.reason = 'failed' or answered.is_filled and p.reason in ('unreadable', 'not_stored'))`,
  parameters: { answered: rowsOf({ seriesId: int4, asked: range, isFilled: bool }) },
});

/**
 * Deletes the pending empty ranges that overlap these points, or what an answer without proof lacks. The emptiness of
 * the whole range is refuted, so the rest of it becomes a plain gap: a later empty answer is the first one again.
 */
async function deleteRefutedRanges(client: pg.PoolClient, windows: readonly EvaluatedWindow[]): Promise<void> {
  const refuted = windows.flatMap(({ window: { seriesId }, seen: { span }, unproved }) => {
    const shown = span === null ? [] : [{ startMs: span.firstMs, endMs: span.lastMs + 1 }];
    return [...shown, ...(unproved === undefined ? [] : [unproved])].map((points) => ({ seriesId, points }));
  });
  if (refuted.length > 0) await deleteRefuted.on(client, { refuted });
}

const deleteRefuted = statement({
  name: 'delete-refuted',
  text: `delete from tidemark.pending_windows p using $refuted
         where p.series_id = refuted.series_id and ${isAwaiting('p.reason')} and p.range && refuted.points`,
  parameters: { refuted: rowsOf({ seriesId: int4, points: range }) },
});

/**
 * The verdict in the ledger and in metrics. Between witnesses an answer may have nothing of the window but rows of
 * periods that stay uncovered.
 */
function statedVerdict({ window, points, evaluation: { verdict, covered }, lacking, seen }: EvaluatedWindow): Verdict {
  const isWithoutUse = points.timesMs.length === 0 && seen.rejectedWithin > 0;
  if (verdict !== 'filled' || covered === null || !isWithoutUse) return verdict;
  return clip(subtract([covered], lacking.holes), window).length === 0 ? 'unreadable' : verdict;
}

async function moveCoverage(client: pg.PoolClient, windows: readonly ReopenedWindow[]): Promise<void> {
  const found = await moveCoverages.on(client, {
    moved: windows.map(movedRow),
    given: givenBy(windows),
    ledger: windows.map((window) => ledgerRow(ledgerEntry(window, statedVerdict(window)))),
    recentSeconds: recentMs / 1000,
  });
  assertSame(
    found,
    windows.map(({ window }) => window),
  );
}

/** What a window changes in its series; null: nothing. */
const moved = rowsOf({
  seriesId: int4,
  at: time,
  covered: nullable(ranges),
  held: nullable(ranges),
  reopened: nullable(ranges),
  fresh: int4,
  earliest: nullable(time),
  newest: nullable(time),
  newestCovered: nullable(time),
  dueAt: nullable(time),
  rollupsBehind: nullable(range),
  isRefreshed: bool,
  mostRows: int4,
});

function movedRow(window: ReopenedWindow): RowOf<(typeof moved)['columns']> {
  const { evaluation, answer, reopened, lacking, seen } = window;
  const timesMs = storedTimes(window);
  return {
    seriesId: window.window.seriesId,
    at: window.nowMs,
    covered: evaluation.covered && subtract([evaluation.covered], lacking.holes),
    held: heldRanges(window),
    reopened: reopened.length === 0 ? null : reopened,
    fresh: window.changes.fresh,
    earliest: timesMs[0] ?? null,
    newest: timesMs.at(-1) ?? null,
    newestCovered: newestCovered(window) ?? null,
    dueAt: seen.dueMs,
    rollupsBehind: changedDays(window),
    isRefreshed: window.window.lane === 'refresh',
    mostRows: answer.isWhole === true ? 0 : seen.rows,
  };
}

const moveCoverages = statement({
  name: 'move-coverage',
  text: `
    with asked as (${ledgerInsert}), total as (
      select series_id, coalesce(range_agg(covered), '{}') as covered, coalesce(range_agg(held), '{}') as held,
             coalesce(range_agg(reopened), '{}') as reopened,
             coalesce(range_agg(rollups_behind), '{}') as rollups_behind,
             sum(fresh) as fresh, min(earliest) as earliest, max(newest) as newest,
             max(newest_covered) as newest_covered, max(due_at) as due_at,
             max(at) filter (where is_refreshed) as refreshed_at, max(most_rows) as most_rows, max(at) as at
      from $moved group by series_id
    ), locked as materialized (  -- in order, so that two of these statements never deadlock
      select s.id, s.most_rows > t.most_rows and s.most_rows_at > t.at - make_interval(secs => $recentSeconds) as
        was_more,
             case when t.earliest is not null and s.before_beginning && tstzrange(t.earliest, t.newest, '[]')
                  then s.before_beginning else '{}' end
             + s.confirmed_empty * ${neverPauses('least(s.earliest, t.earliest)', 'greatest(s.newest, t.newest)')}
             as overturned
      from tidemark.series s join total t on t.series_id = s.id order by s.id for no key update of s
    ), given_total as (  -- of locked series only: their rows are locked after them
      select given.series_id, given.source, range_agg(given.ranges) as ranges
      from $given join locked l on l.id = given.series_id group by 1, 2
    ), ${moveRanges('given_total')}
    update tidemark.series s
       set covered = s.covered - l.overturned - t.reopened + t.covered,
           confirmed_empty = s.confirmed_empty - l.overturned - t.reopened - t.held - t.covered,
           before_beginning = s.before_beginning - l.overturned - t.reopened - t.held - t.covered,
           begins = case when isempty(l.overturned) then s.begins end,
           uncovered_points = s.uncovered_points + t.held - (s.covered - l.overturned - t.reopened + t.covered),
           rollups_behind = s.rollups_behind + t.rollups_behind,
           points = s.points + t.fresh,
           earliest = least(s.earliest, t.earliest), newest = greatest(s.newest, t.newest),
           newest_covered = greatest(s.newest_covered, t.newest_covered),
           due_at = case when t.newest < s.newest then s.due_at else coalesce(t.due_at, s.due_at) end,
           refreshed_at = greatest(s.refreshed_at, t.refreshed_at),
           most_rows = case when l.was_more then s.most_rows else t.most_rows end,
           most_rows_at = case when l.was_more then s.most_rows_at else t.at end
      from total t join locked l on l.id = t.series_id
     where s.id = t.series_id
    returning ${identityColumns}`,
  parameters: { moved, given: givenRows, ledger: ledgerRows, recentSeconds: float8 },
  row: identity,
});

/** The time of the newest point in the covered part of a window; undefined: it has none. */
function newestCovered(window: ReopenedWindow): EpochMs | undefined {
  const { covered } = window.evaluation;
  return covered === null ? undefined : storedTimes(window).findLast((timeMs) => timeMs < covered.endMs);
}

/** The source that gave the covered part of each window. */
function givenBy(windows: readonly EvaluatedWindow[]): GivenRanges[] {
  return windows.flatMap(({ window: { seriesId, source }, evaluation: { covered }, lacking }) =>
    covered === null ? [] : [{ seriesId, source, ranges: subtract([covered], lacking.holes) }],
  );
}

/** The ledger's row of a window. */
export function ledgerEntry(evaluated: EvaluatedWindow, verdict: string): NewEntry {
  const { answer, changes } = evaluated;
  return {
    ...requestEntry(evaluated, verdict),
    body: verdict === 'filled' && answer.rejected.length === 0 ? null : (answer.body ?? null),
    ...changes,
    ...rejectionOf(answer.rejected),
  };
}

/** Times of the points that were stored or compared, witnesses included, ascending. */
function storedTimes({ points, beside }: EvaluatedWindow): readonly EpochMs[] {
  if (beside.length === 0) return points.timesMs;
  return [...points.timesMs, ...beside.flatMap((side) => side.points.timesMs)].sort((a, b) => a - b);
}

const addDaysBehind = statement({
  name: 'add-days-behind',
  text: `update tidemark.series set rollups_behind = rollups_behind + tstzmultirange($days) where id = $seriesId`,
  parameters: { seriesId: int4, days: range },
});

/** The days of the points, if their rollups differ now. */
function changedDays(window: EvaluatedWindow): Range | null {
  const [span] = changedSpan(window);
  if (span === undefined) return null;
  return daysBehind(window.window.series, { startMs: span.firstMs, endMs: span.lastMs + 1 });
}

/** The span of the stored and compared points, if some of them are new or changed. */
function changedSpan(window: EvaluatedWindow): ChangedSpan[] {
  const {
    changes,
    window: { seriesId },
  } = window;
  if (changes.fresh + changes.changed === 0) return [];
  const timesMs = storedTimes(window);
  const [firstMs] = timesMs;
  return firstMs === undefined ? [] : [{ seriesId, firstMs, lastMs: timesMs.at(-1) ?? firstMs }];
}

/**
 * From the period of the first point to the end of that of the last one, without the silences that are to be confirmed.
 * A part of a period is never empty: it would be told as a silence of 14 min 59 s beside a stored point.
 */
function heldRanges(window: EvaluatedWindow): readonly Range[] | null {
  const timesMs = storedTimes(window);
  const [firstMs] = timesMs;
  if (firstMs === undefined) return null;
  const { interval } = window.window.series;
  const lastMs = timesMs.at(-1) ?? firstMs;
  const span = { startMs: periodStart(firstMs, interval), endMs: nextPeriodStart(lastMs + 1, interval) };
  return subtract([span], window.lacking.silences);
}
