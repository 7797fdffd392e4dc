/** What probes find out about where a series begins: kept with its coverage, and committed like it. */

import type pg from 'pg';
import { dayMs, type EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { judgeProbe, probedSeries } from '../planning/beginning.ts';
import { closedUpTo } from '../planning/closed.ts';
import type { Range } from '../planning/ranges.ts';
import type { Window } from '../planning/windows.ts';
import { tellRun } from './asked.ts';
import { noteEmpty } from './confirmed-empty.ts';
import { type Database, inTransaction, timeRange, timestamp } from './database.ts';
import { recordEmpty } from './empty.ts';
import { recordFetch } from './ledger.ts';
import type { WindowAnswer } from './windows.ts';

export interface ProbeCommit {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly window: Range & Pick<Window, 'lane' | 'run' | 'askedEndMs'>;
  readonly attempt: number;
  /** Times of the days that came. */
  readonly timesMs: readonly EpochMs[];
  readonly answer: Omit<WindowAnswer<never>, 'rows'>;
  readonly nowMs: EpochMs;
  readonly graceMs: number;
  readonly emptyConfirmMs: number;
}

export interface ProbeResult {
  readonly beginsMs: EpochMs | null;
  /** What is confirmed to be empty with this answer, or awaits a second one. */
  readonly empty: Range | null;
  /** Why the answer is not to be trusted: nothing was stored. */
  readonly doubt: string | null;
}

/** The kind of what awaits a second probe. */
const probeKind = 'probe';

export async function commitProbe(database: Database, probe: ProbeCommit): Promise<ProbeResult> {
  return inTransaction(database, async (client) => {
    const { seriesId, answer, window, nowMs } = probe;
    const shown = judgeProbe({
      window,
      timesMs: probe.timesMs,
      rejected: answer.rejected.length,
      knownMs: await lockedBeginning(client, seriesId),
      closedDaysMs: closedDays(probe),
    });
    if (shown.doubt !== null) return { beginsMs: null, empty: null, doubt: shown.doubt };
    const { beginsMs, empty } = shown;
    const isOverturned = beginsMs !== null && (await beginAt(client, seriesId, beginsMs));
    const isConfirmed = empty !== null && (await holdEmpty(client, probe, empty));
    await tell(client, probe, shown, isOverturned);
    await recordFetch(client, {
      timeMs: nowMs,
      dataset: probe.series.dataset,
      seriesId,
      range: window,
      lane: window.lane,
      attempt: probe.attempt,
      verdict: beginsMs !== null ? 'begins' : isConfirmed ? 'confirmed_empty' : 'empty',
      ...{ status: answer.status, fresh: 0, changed: 0, unchanged: 0, rejected: 0 },
      ...{ bytes: answer.bytes, durationMs: answer.durationMs, error: null },
    });
    return { beginsMs, empty, doubt: null };
  });
}

/** Holds nothing of the series back until then: a probe does not help. */
export async function postponeProbe(database: Database, seriesId: number, untilMs: EpochMs): Promise<void> {
  await database.pool.query('update tidemark.series set probe_after = $2 where id = $1', [
    seriesId,
    timestamp(untilMs),
  ]);
}

/** The earliest moment from which there is a point. Its series is locked from here on. */
async function lockedBeginning(client: pg.PoolClient, seriesId: number): Promise<EpochMs | null> {
  const result = await client.query<{ known: EpochMs | null }>(
    'select least(earliest, begins) as known from tidemark.series where id = $1 for no key update',
    [seriesId],
  );
  return result.rows[0]?.known ?? null;
}

function closedDays({ series, answer, nowMs, graceMs }: ProbeCommit): EpochMs {
  const days = probedSeries(series);
  const sourceTimeMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
  const saidMs = Math.min(sourceTimeMs, answer.known?.untilMs ?? sourceTimeMs);
  return Math.min(closedUpTo(days, nowMs, graceMs), closedUpTo(days, saidMs, 0));
}

/**
 * What awaits a second answer and reaches that day said something else. So did all that was confirmed to lie before the
 * beginning, when the day is one of it.
 *
 * @returns whether that was so.
 */
async function beginAt(client: pg.PoolClient, seriesId: number, beginsMs: EpochMs): Promise<boolean> {
  const result = await client.query(
    `update tidemark.series
        set covered = covered - before_beginning, confirmed_empty = confirmed_empty - before_beginning,
            before_beginning = '{}'
      where id = $1 and upper(before_beginning) > $2`,
    [seriesId, timestamp(beginsMs)],
  );
  await client.query('update tidemark.series set begins = $2 where id = $1', [seriesId, timestamp(beginsMs)]);
  await client.query(
    `delete from tidemark.pending_windows where series_id = $1 and kind = $2 and upper(range) > $3`,
    [seriesId, probeKind, timestamp(beginsMs - dayMs)],
  );
  return result.rowCount === 1;
}

/** Tells the command that asked, if one did. */
async function tell(
  client: pg.PoolClient,
  { seriesId, window, nowMs }: ProbeCommit,
  { beginsMs, empty }: Pick<ProbeResult, 'beginsMs' | 'empty'>,
  isOverturned: boolean,
): Promise<void> {
  const { run, startMs, askedEndMs = window.endMs } = window;
  if (run === undefined) return;
  // Of the days after the first with a point a probe has nothing to say.
  const reachedMs = beginsMs === null && askedEndMs > window.endMs ? (empty?.endMs ?? startMs) : askedEndMs;
  await tellRun(
    client,
    { run, seriesId, window: { startMs, endMs: askedEndMs }, nowMs },
    { reached: { startMs, endMs: reachedMs }, kind: isOverturned ? 'overturned' : null },
  );
}

/** @returns whether an earlier answer agrees. */
async function holdEmpty(client: pg.PoolClient, probe: ProbeCommit, empty: Range): Promise<boolean> {
  const { verdict } = await recordEmpty(client, { ...probe, lane: probe.window.lane }, empty, {
    kind: probeKind,
    message: `asked by days, the source has no point before ${new Date(empty.endMs + dayMs).toISOString().slice(0, 10)}`,
  });
  await client.query(
    `update tidemark.series set before_beginning = (before_beginning + $2::tstzrange::tstzmultirange) * confirmed_empty
     where id = $1`,
    [probe.seriesId, timeRange(empty.startMs, empty.endMs)],
  );
  await noteEmpty(client, probe.seriesId, [empty], probe.nowMs);
  return verdict === 'confirmed_empty';
}
