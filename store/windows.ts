/**
 * The commit of a window: points, revisions, quarantine, ledger and coverage in one transaction. After a crash at
 * any instant the window is either wholly there or still a gap.
 */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { CandleSeries, HistorySeries, SeriesKey } from '../contract/series.ts';
import { closedUpTo } from '../planning/closed.ts';
import type { Range } from '../planning/ranges.ts';
import { type Judgement, judge, type Verdict } from '../planning/verdict.ts';
import type { Lane } from '../planning/windows.ts';
import { type Database, inTransaction, timeRange, timestamp } from './database.ts';
import { recordFetch } from './ledger.ts';
import {
  candleColumns,
  historyColumns,
  type PointChanges,
  type PointColumns,
  writePoints,
} from './points.ts';
import { quarantineRows, type RejectedRow } from './quarantine.ts';

/** A 200 answer as the source's client read it. */
export interface WindowAnswer<Row> {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
  /** The answer's `timestamp`; null when it had none. */
  readonly sourceTimeMs: EpochMs | null;
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
}

interface Commit<Key extends SeriesKey, Row> {
  readonly seriesId: number;
  readonly series: Key;
  readonly window: Range;
  readonly lane: Lane;
  readonly attempt: number;
  readonly answer: WindowAnswer<Row>;
  readonly nowMs: EpochMs;
  readonly graceMs: number;
  /** Time between two empty answers that agree, for the window to be taken as empty. */
  readonly emptyConfirmMs: number;
}

export type WindowCommit = Commit<CandleSeries, Candle> | Commit<HistorySeries, HistoryPoint>;

export interface WindowResult extends PointChanges {
  readonly verdict: Verdict | 'confirmed_empty';
  readonly covered: Range | null;
  /** Points of the answer outside the window or given twice, which were dropped. */
  readonly dropped: number;
}

/** How long a window waits whose answer was made before its periods had closed. */
const staleRetryMs = 60_000;

/** Commits what one request of a window brought. */
export async function commitWindow(database: Database, commit: WindowCommit): Promise<WindowResult> {
  const { window, answer, nowMs } = commit;
  const points = pointsOf(commit);
  const dropped = answer.rows.length - points.timesMs.length;
  const judgement = judge({
    window,
    interval: commit.series.interval,
    timesMs: points.timesMs,
    rejected: answer.rejected.length,
    closedUpToMs: closedUpTo(commit.series, nowMs, commit.graceMs),
    answeredUpToMs: closedUpTo(commit.series, Math.min(nowMs, answer.sourceTimeMs ?? nowMs), 0),
  });
  for (;;) {
    const attempt = inTransaction(database, async (client): Promise<WindowResult> => {
      const changes = await writePoints(client, commit.seriesId, window, points, nowMs);
      if (changes === null) throw new LostRace();
      await quarantineRows(client, {
        ...commit,
        dataset: commit.series.dataset,
        rows: answer.rejected,
        seenAtMs: nowMs,
      });
      const { verdict, covered } = await recordCoverage(client, commit, judgement, points, changes);
      await recordFetch(client, {
        timeMs: nowMs,
        dataset: commit.series.dataset,
        seriesId: commit.seriesId,
        range: window,
        lane: commit.lane,
        attempt: commit.attempt,
        verdict,
        status: answer.status,
        ...changes,
        rejected: answer.rejected.length,
        bytes: answer.bytes,
        durationMs: answer.durationMs,
        error: null,
      });
      return { ...changes, verdict, covered, dropped };
    });
    try {
      return await attempt;
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
  }
}

/** Another transaction stored some of the same points meanwhile; the next attempt sees them. */
class LostRace extends Error {}

/** The answer's points within the window, ascending, the last of a duplicate winning, as columns. */
function pointsOf(commit: WindowCommit): PointColumns {
  const { window } = commit;
  return commit.series.dataset === 'candles'
    ? candleColumns(
        inOrder((commit as Commit<CandleSeries, Candle>).answer.rows, (row) => row.period, window),
      )
    : historyColumns(
        inOrder((commit as Commit<HistorySeries, HistoryPoint>).answer.rows, (row) => row.time, window),
      );
}

function inOrder<Row>(rows: readonly Row[], timeOf: (row: Row) => EpochMs, window: Range): readonly Row[] {
  let previous = Number.NEGATIVE_INFINITY;
  const ascending = rows.every((row) => {
    const ordered = timeOf(row) > previous;
    previous = timeOf(row);
    return ordered && previous >= window.startMs && previous < window.endMs;
  });
  if (ascending) return rows;
  const byTime = new Map<EpochMs, Row>();
  for (const row of rows) {
    if (timeOf(row) >= window.startMs && timeOf(row) < window.endMs) byTime.set(timeOf(row), row);
  }
  return [...byTime.values()].sort((a, b) => timeOf(a) - timeOf(b));
}

/** Moves the series' coverage as the verdict allows, and settles what was pending of it. */
async function recordCoverage(
  client: pg.PoolClient,
  commit: WindowCommit,
  judgement: Judgement,
  points: PointColumns,
  changes: PointChanges,
): Promise<{ verdict: WindowResult['verdict']; covered: Range | null }> {
  if (judgement.verdict === 'empty') return recordEmpty(client, commit, judgement.covered);
  if (judgement.verdict === 'stale') {
    await putAside(client, {
      seriesId: commit.seriesId,
      window: commit.window,
      verdict: 'stale',
      kind: 'stale',
      message: 'the answer was older than the window',
      attempts: commit.attempt,
      nowMs: commit.nowMs,
      retryAtMs: commit.nowMs + staleRetryMs,
    });
  }
  const { covered } = judgement;
  await client.query({
    name: 'record-coverage',
    text: `update tidemark.series s
              set covered = s.covered + coalesce(tstzmultirange($2::tstzrange), '{}'),
                  confirmed_empty = s.confirmed_empty - coalesce(tstzmultirange($3::tstzrange), '{}'),
                  points = s.points + $4, earliest = least(s.earliest, $5), newest = greatest(s.newest, $6),
                  refreshed_at = case when $7 then $8 else s.refreshed_at end
            where s.id = $1`,
    values: [
      commit.seriesId,
      covered === null ? null : timeRange(covered.startMs, covered.endMs),
      points.timesMs.length === 0 ? null : timeRange(commit.window.startMs, commit.window.endMs),
      changes.fresh,
      momentOf(points.timesMs[0]),
      momentOf(points.timesMs.at(-1)),
      commit.lane === 'refresh',
      timestamp(commit.nowMs),
    ],
  });
  if (covered !== null) await settlePending(client, commit.seriesId, covered);
  return { verdict: judgement.verdict, covered };
}

/**
 * An empty answer is no verdict until a second one, asked for after `emptyConfirmMs`, agrees. What an earlier
 * empty answer held too is covered now; the rest awaits its own second answer.
 */
async function recordEmpty(
  client: pg.PoolClient,
  commit: WindowCommit,
  closed: Range | null,
): Promise<{ verdict: WindowResult['verdict']; covered: Range | null }> {
  const { seriesId, nowMs } = commit;
  if (commit.lane === 'refresh') {
    await client.query('update tidemark.series set refreshed_at = $2 where id = $1', [
      seriesId,
      timestamp(nowMs),
    ]);
  }
  if (closed === null) return { verdict: 'empty', covered: null };
  const range = timeRange(closed.startMs, closed.endMs);
  const earlier = await client.query<{ confirmed: boolean }>(
    `with agreed as (
       select range_agg(range) * tstzmultirange($2::tstzrange) as ranges from tidemark.pending_windows
       where series_id = $1 and verdict = 'empty' and range && $2::tstzrange and first_at <= $3
     ), asked as (
       select tstzmultirange($2::tstzrange) - s.covered as ranges from tidemark.series s where s.id = $1
     ), confirmed as (
       update tidemark.series s
          set covered = s.covered + agreed.ranges, confirmed_empty = s.confirmed_empty + (agreed.ranges - s.covered)
         from agreed where s.id = $1 and not isempty(agreed.ranges)
       returning 1
     ), waiting as (
       insert into tidemark.pending_windows as p (series_id, range, verdict, kind, message, first_at, retry_at)
       select $1, r, 'empty', 'empty', 'the source answered without points', $4, $5
       from asked left join agreed on true, unnest(asked.ranges - coalesce(agreed.ranges, '{}')) r
       on conflict (series_id, range) do update
         set verdict = 'empty', kind = 'empty', message = excluded.message, attempts = p.attempts + 1,
             first_at = case when p.verdict = 'empty' then p.first_at else excluded.first_at end,
             retry_at = excluded.retry_at
       returning 1
     )
     select exists (select from confirmed) and not exists (select from waiting) as confirmed`,
    [
      seriesId,
      range,
      timestamp(nowMs - commit.emptyConfirmMs),
      timestamp(nowMs),
      timestamp(nowMs + commit.emptyConfirmMs),
    ],
  );
  if (earlier.rows[0]?.confirmed !== true) return { verdict: 'empty', covered: null };
  await settlePending(client, seriesId, closed);
  return { verdict: 'confirmed_empty', covered: closed };
}

/** Forgets what was pending within a range that is now covered. */
async function settlePending(client: pg.PoolClient, seriesId: number, covered: Range): Promise<void> {
  await client.query({
    name: 'settle-pending',
    text: 'delete from tidemark.pending_windows where series_id = $1 and range <@ $2::tstzrange',
    values: [seriesId, timeRange(covered.startMs, covered.endMs)],
  });
}

interface Aside {
  readonly seriesId: number;
  readonly window: Range;
  readonly verdict: 'failed' | 'stale';
  readonly kind: string;
  readonly message: string;
  readonly attempts: number;
  readonly nowMs: EpochMs;
  readonly retryAtMs: EpochMs;
}

/** Puts a window aside that is out of attempts or was refused. It stays a gap and is shown with its reason. */
export async function deferWindow(database: Database, window: Omit<Aside, 'verdict'>): Promise<void> {
  await putAside(database.pool, { ...window, verdict: 'failed' });
}

async function putAside(client: pg.Pool | pg.PoolClient, aside: Aside): Promise<void> {
  await client.query(
    `insert into tidemark.pending_windows as p
       (series_id, range, verdict, kind, message, attempts, first_at, retry_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (series_id, range) do update
       set verdict = excluded.verdict, kind = excluded.kind, message = excluded.message,
           attempts = p.attempts + excluded.attempts, retry_at = excluded.retry_at`,
    [
      aside.seriesId,
      timeRange(aside.window.startMs, aside.window.endMs),
      aside.verdict,
      aside.kind,
      aside.message.slice(0, 1000),
      aside.attempts,
      timestamp(aside.nowMs),
      timestamp(aside.retryAtMs),
    ],
  );
}

function momentOf(timeMs: EpochMs | undefined): string | null {
  return timeMs === undefined ? null : timestamp(timeMs);
}
