/** How a judged answer moves the coverage of its series, within the commit's transaction. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import type { Judgement } from '../planning/verdict.ts';
import { timeRange, timestamp } from './database.ts';
import { type LedgerEntry, ledgerInsert, ledgerValues, recordFetch } from './ledger.ts';
import { putAside, settleConfirmed } from './pending.ts';
import type { PointChanges, PointColumns } from './points.ts';
import { ofLate } from './standing.ts';
import type { WindowCommit, WindowResult } from './windows.ts';

/** How long a window waits whose answer was made before its periods had closed. */
const staleRetryMs = 60_000;
/** How long one waits of whose answer nothing could be used: something is wrong with the source, or with us. */
const unreadableRetryMs = 600_000;

/**
 * Moves the series' coverage as the verdict allows, settles what was pending of it, and adds the ledger's row.
 * All in one statement where the answer had points: a backfill commits thousands of windows.
 *
 * @param entryOf the ledger's row, given the verdict.
 */
export async function recordCoverage(
  client: pg.PoolClient,
  commit: WindowCommit,
  judgement: Judgement,
  points: PointColumns,
  changes: PointChanges,
  entryOf: (verdict: WindowResult['verdict']) => LedgerEntry,
): Promise<{ verdict: WindowResult['verdict']; covered: Range | null }> {
  const aside = { seriesId: commit.seriesId, attempts: commit.attempt, nowMs: commit.nowMs };
  if (judgement.stale !== null) {
    await putAside(client, {
      ...aside,
      window: judgement.stale,
      verdict: 'stale',
      kind: 'stale',
      message: 'the answer was older than the window',
      retryAtMs: commit.nowMs + staleRetryMs,
    });
  }
  if (judgement.verdict === 'unreadable') {
    await putAside(client, {
      ...aside,
      window: commit.window,
      verdict: 'failed',
      kind: 'unreadable',
      message: 'no row of the answer could be read, or none belonged to the window',
      retryAtMs: commit.nowMs + unreadableRetryMs,
    });
  }
  if (judgement.verdict === 'empty') {
    const recorded = await recordEmpty(client, commit, judgement.covered);
    await recordFetch(client, entryOf(recorded.verdict));
    return recorded;
  }
  const { covered } = judgement;
  await client.query({
    name: 'record-coverage',
    text: `with settled as (
             delete from tidemark.pending_windows where series_id = $1 and range <@ $2::tstzrange
           ), asked as (${ledgerInsert(11)})
           update tidemark.series s
              set covered = s.covered + coalesce(tstzmultirange($2::tstzrange), '{}'),
                  confirmed_empty = s.confirmed_empty - coalesce(tstzmultirange($3::tstzrange), '{}'),
                  points = s.points + $4, earliest = least(s.earliest, $5), newest = greatest(s.newest, $6),
                  refreshed_at = case when $7 then $8 else s.refreshed_at end,
                  most_rows = case when s.most_rows > $9 and s.most_rows_at > $10 then s.most_rows else $9 end,
                  most_rows_at = case when s.most_rows > $9 and s.most_rows_at > $10 then s.most_rows_at else $8 end
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
      commit.answer.rows.length + commit.answer.rejected.length,
      ofLate(commit),
      ...ledgerValues(entryOf(judgement.verdict)),
    ],
  });
  // Asking again from where a cut leads on only if it brought something new. A tail that holds no more than the points
  // it reached back to does not: the market is quiet, or the source is not well, and a second answer has to tell.
  if (judgement.rest !== null && changes.fresh === 0) return recordEmpty(client, commit, judgement.rest);
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
  const result = await client.query<{ some: boolean; whole: boolean }>(
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
     ), held as (
       select coalesce(range_agg(range), '{}') as ranges from tidemark.pending_windows
       where series_id = $1 and verdict = 'empty' and range && $2::tstzrange
     ), waiting as (
       insert into tidemark.pending_windows as p (series_id, range, verdict, kind, message, first_at, retry_at)
       select $1, r, 'empty', 'empty', 'the source answered without points', $4, $5
       from asked, held, unnest(asked.ranges - held.ranges) r
       on conflict (series_id, range) do update
         set verdict = 'empty', kind = 'empty', message = excluded.message, attempts = p.attempts + 1,
             first_at = case when p.verdict = 'empty' then p.first_at else excluded.first_at end,
             retry_at = excluded.retry_at
     )
     select exists (select from confirmed) as some, asked.ranges <@ coalesce(agreed.ranges, '{}') as whole
     from asked left join agreed on true`,
    [
      seriesId,
      range,
      timestamp(nowMs - commit.emptyConfirmMs),
      timestamp(nowMs),
      timestamp(nowMs + commit.emptyConfirmMs),
    ],
  );
  const confirmed = result.rows[0];
  if (confirmed?.some !== true) return { verdict: 'empty', covered: null };
  await settleConfirmed(client, seriesId);
  return confirmed.whole
    ? { verdict: 'confirmed_empty', covered: closed }
    : { verdict: 'empty', covered: null };
}

function momentOf(timeMs: EpochMs | undefined): string | null {
  return timeMs === undefined ? null : timestamp(timeMs);
}
