/** How judged answers move the coverage of their series, within the commit's transaction. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import { timeRange, timestamp } from './database.ts';
import { recordEmpty } from './empty.ts';
import type { Judged } from './judged.ts';
import { type LedgerEntry, ledgerInsert, ledgerValues, recordFetch } from './ledger.ts';
import { settleCovered } from './pending.ts';
import { ofLateMs } from './standing.ts';
import { putWaitingAside } from './waiting.ts';
import type { WindowResult } from './windows.ts';

type Outcome = Pick<WindowResult, 'verdict' | 'covered'>;

/**
 * Moves the coverage of the windows' series as the verdicts allow, and adds the ledger's rows: in one statement for all
 * that had points, as a backfill commits thousands of windows. What was pending of them is settled by a statement that
 * begins when their series are locked: before, it could miss what another commit is about to put aside.
 *
 * @returns the windows with what became of each, in the same order.
 */
export async function recordCoverage(
  client: pg.PoolClient,
  windows: readonly Judged[],
): Promise<Array<Judged & Outcome>> {
  const answered = windows.filter(({ judgement }) => judgement.verdict !== 'empty');
  if (answered.length > 0) {
    await moveCoverage(client, answered);
    await settleCovered(
      client,
      answered.map(({ seriesId }) => seriesId),
    );
  }
  // The series are locked from here on: what is put aside is not covered by another meanwhile.
  for (const window of windows) await putWaitingAside(client, window);
  const recorded: Array<Judged & Outcome> = [];
  for (const window of windows) recorded.push({ ...window, ...(await outcomeOf(client, window)) });
  return recorded;
}

async function outcomeOf(client: pg.PoolClient, window: Judged): Promise<Outcome> {
  const { judgement } = window;
  if (judgement.verdict === 'empty') {
    const outcome = await recordEmpty(client, window, judgement.covered);
    await recordFetch(client, ledgerEntry(window, outcome.verdict));
    return outcome;
  }
  let outcome: Outcome = { verdict: judgement.verdict, covered: judgement.covered };
  if (!isSilentAgain(window)) return outcome;
  for (const range of judgement.rest) outcome = await recordEmpty(client, window, range);
  return outcome;
}

/**
 * Whether asking again for what a cut leaves would only bring the same. A tail that holds no more than the points it
 * reached back to says that the market is quiet, or that the source is not well: a second answer has to tell. So does
 * the single point beside a silence.
 */
function isSilentAgain({ lane, changes, points }: Judged): boolean {
  return changes.fresh === 0 && (lane === 'refresh' || points.timesMs.length === 1);
}

async function moveCoverage(client: pg.PoolClient, windows: readonly Judged[]): Promise<void> {
  await client.query({
    name: 'move-coverage',
    text: `with moved as (
             select * from unnest($1::int[], $2::timestamptz[], $3::tstzrange[], $4::tstzrange[], $5::int[],
                                  $6::timestamptz[], $7::timestamptz[], $8::boolean[], $9::int[])
               as m (series_id, at, covered, held, fresh, earliest, newest, refreshed, most_rows)
           ), asked as (${ledgerInsert(11)}), total as (
             select series_id, coalesce(range_agg(covered), '{}') as covered, coalesce(range_agg(held), '{}') as held,
                    sum(fresh) as fresh, min(earliest) as earliest, max(newest) as newest,
                    max(at) filter (where refreshed) as refreshed_at, max(most_rows) as most_rows, max(at) as at
             from moved group by series_id
           ), locked as materialized (  -- in order: two of these statements then never wait for each other
             select s.id, s.most_rows > t.most_rows and s.most_rows_at > t.at - make_interval(secs => $10) as was_more,
                    case when t.earliest is not null and s.before_beginning && tstzrange(t.earliest, t.newest, '[]')
                         then s.before_beginning else '{}' end as overturned
             from tidemark.series s join total t on t.series_id = s.id order by s.id for no key update of s
           )
           update tidemark.series s
              set covered = s.covered - l.overturned + t.covered,
                  confirmed_empty = s.confirmed_empty - l.overturned - t.held,
                  before_beginning = s.before_beginning - l.overturned - t.held,
                  begins = case when isempty(l.overturned) then s.begins end,
                  uncovered_points = s.uncovered_points + t.held - (s.covered + t.covered),
                  points = s.points + t.fresh,
                  earliest = least(s.earliest, t.earliest), newest = greatest(s.newest, t.newest),
                  refreshed_at = greatest(s.refreshed_at, t.refreshed_at),
                  most_rows = case when l.was_more then s.most_rows else t.most_rows end,
                  most_rows_at = case when l.was_more then s.most_rows_at else t.at end
             from total t join locked l on l.id = t.series_id
            where s.id = t.series_id`,
    values: [
      windows.map(({ seriesId }) => seriesId),
      windows.map(({ nowMs }) => timestamp(nowMs)),
      windows.map(({ judgement: { covered } }) => covered && timeRange(covered.startMs, covered.endMs)),
      windows.map(({ window, points }) =>
        points.timesMs.length === 0 ? null : timeRange(window.startMs, window.endMs),
      ),
      windows.map(({ changes }) => changes.fresh),
      windows.map(({ points }) => momentOf(points.timesMs[0])),
      windows.map(({ points }) => momentOf(points.timesMs.at(-1))),
      windows.map(({ lane }) => lane === 'refresh'),
      windows.map(({ rows }) => rows),
      ofLateMs / 1000,
      ...ledgerValues(windows.map((window) => ledgerEntry(window, window.judgement.verdict))),
    ],
  });
}

function ledgerEntry(judged: Judged, verdict: WindowResult['verdict']): LedgerEntry {
  const { answer, changes } = judged;
  return {
    timeMs: judged.nowMs,
    dataset: judged.series.dataset,
    seriesId: judged.seriesId,
    range: judged.window,
    lane: judged.lane,
    attempt: judged.attempt,
    verdict,
    status: answer.status,
    ...changes,
    rejected: answer.rejected.length,
    bytes: answer.bytes,
    durationMs: answer.durationMs,
    error: null,
  };
}

function momentOf(timeMs: EpochMs | undefined): string | null {
  return timeMs === undefined ? null : timestamp(timeMs);
}
