/** Commits probes: what an answer by days shows about the beginning of a series, stored together with its coverage. */

import type pg from 'pg';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { type Command, isCommand, type Probe } from '../../model/window.ts';
import { evaluateProbe, probedSeries } from '../../planning/beginning.ts';
import { closedUpTo } from '../../planning/periods.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { int4, nullable, range, statement, time } from '../db/statement.ts';
import { recordFetch } from '../ledger/ledger.ts';
import { assertSame } from '../series/lock.ts';
import { identity, identityColumns } from '../series/series.ts';
import { publishResult } from './command-results.ts';
import { recordConfirmedEmpty, recordEmptyAnswer } from './empty-answers.ts';
import { type PreparedWindow, requestEntry } from './prepare-window.ts';

export interface ProbeCommit extends Pick<PreparedWindow, 'attempt' | 'answer' | 'nowMs' | 'rules'> {
  readonly window: Probe | Command;
  /** Times of the days in the answer. */
  readonly timesMs: readonly EpochMs[];
}

export interface ProbeResult {
  readonly beginsMs: EpochMs | null;
  /** The range that this answer confirmed as empty, or that awaits a second answer. */
  readonly empty: Range | null;
  /** Why the answer cannot be trusted. Nothing was stored then. */
  readonly doubt: string | null;
}

export async function commitProbe(database: Database, probe: ProbeCommit): Promise<ProbeResult> {
  return inTransaction(database, async (client) => {
    const { answer, window } = probe;
    const { seriesId } = window;
    const shown = evaluateProbe({
      window,
      timesMs: probe.timesMs,
      rejected: answer.rejected.length,
      knownMs: await lockBeginning(client, window),
      closedDaysMs: closedDaysEnd(probe),
    });
    if (shown.doubt !== null) return { beginsMs: null, empty: null, doubt: shown.doubt };
    const { beginsMs, empty } = shown;
    const isOverturned = beginsMs !== null && (await recordBeginning(client, seriesId, beginsMs));
    const isConfirmed = empty !== null && (await recordEmptyProbe(client, probe, empty));
    await publishProbe(client, probe, shown, isOverturned);
    const verdict = beginsMs !== null ? 'begins' : isConfirmed ? 'confirmed_empty' : 'empty';
    await recordFetch(client, requestEntry(probe, verdict));
    return { beginsMs, empty, doubt: null };
  });
}

/** Reads the earliest time with a point, and locks the series for the rest of the transaction. */
async function lockBeginning(client: pg.PoolClient, window: ProbeCommit['window']): Promise<EpochMs | null> {
  const found = await lockKnown.on(client, { seriesId: window.seriesId });
  assertSame(found, [window]);
  return found[0]?.known ?? null;
}

const lockKnown = statement({
  name: 'lock-beginning',
  text: `select ${identityColumns}, least(earliest, begins) as known
         from tidemark.series s where id = $seriesId for no key update`,
  parameters: { seriesId: int4 },
  row: { ...identity, known: nullable(time) },
});

function closedDaysEnd({ window, answer, nowMs, rules: { graceMs } }: ProbeCommit): EpochMs {
  const days = probedSeries(window.series);
  const sourceTimeMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
  const knownMs = Math.min(sourceTimeMs, answer.known?.untilMs ?? sourceTimeMs);
  return Math.min(closedUpTo(days, nowMs, graceMs), closedUpTo(days, knownMs, 0));
}

/**
 * Records where the series begins. Pending empty ranges that contradict this day are deleted. If the day lies
 * in the range that was confirmed to be before the beginning, that range is no longer covered.
 *
 * @returns whether a confirmed range was overturned.
 */
async function recordBeginning(client: pg.PoolClient, seriesId: number, beginsMs: EpochMs): Promise<boolean> {
  const overturned = await overturnEmptiness.on(client, { seriesId, begins: beginsMs });
  await storeBeginning.on(client, { seriesId, begins: beginsMs });
  await deleteProbes.on(client, { seriesId, after: beginsMs - dayMs });
  return overturned.length > 0;
}

const overturnEmptiness = statement({
  name: 'overturn-emptiness',
  text: `
    update tidemark.series
       set covered = covered - before_beginning, confirmed_empty = confirmed_empty - before_beginning,
           before_beginning = '{}'
     where id = $seriesId and upper(before_beginning) > $begins returning id`,
  parameters: { seriesId: int4, begins: time },
  row: { id: int4 },
});

const storeBeginning = statement({
  name: 'store-beginning',
  text: 'update tidemark.series set begins = $begins where id = $seriesId',
  parameters: { seriesId: int4, begins: time },
});

const deleteProbes = statement({
  name: 'delete-probes',
  text: `delete from tidemark.pending_windows
         where series_id = $seriesId and reason = 'awaiting_days' and upper(range) > $after`,
  parameters: { seriesId: int4, after: time },
});

/** Publishes the result to the command that requested the probe, if there is one. */
async function publishProbe(
  client: pg.PoolClient,
  { window, nowMs }: ProbeCommit,
  { beginsMs, empty }: Pick<ProbeResult, 'beginsMs' | 'empty'>,
  isOverturned: boolean,
): Promise<void> {
  if (!isCommand(window)) return;
  const { startMs, endMs } = window.of;
  // A probe says nothing about the days after the first one with a point.
  const reachedMs = beginsMs === null && endMs > window.endMs ? (empty?.endMs ?? startMs) : endMs;
  const reached = { startMs, endMs: reachedMs };
  await publishResult(client, { window, nowMs }, { reached, kind: isOverturned ? 'overturned' : null });
}

/** @returns whether an earlier answer agrees. */
async function recordEmptyProbe(client: pg.PoolClient, probe: ProbeCommit, empty: Range): Promise<boolean> {
  const { verdict } = await recordEmptyAnswer(client, probe, empty, {
    reason: 'awaiting_days',
    message: `the source has no daily point before ${new Date(empty.endMs + dayMs).toISOString().slice(0, 10)}`,
  });
  await recordBefore.on(client, { seriesId: probe.window.seriesId, empty });
  await recordConfirmedEmpty(client, probe.window.seriesId, [empty], probe.nowMs);
  return verdict === 'confirmed_empty';
}

const recordBefore = statement({
  name: 'record-before-beginning',
  text: `update tidemark.series set before_beginning = (before_beginning + tstzmultirange($empty)) * confirmed_empty
         where id = $seriesId`,
  parameters: { seriesId: int4, empty: range },
});
