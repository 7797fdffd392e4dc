/** Reads the facts of the state: `status`, its watch and the dashboard say the same of them (planning/headline.ts). */

import { messageOf, type TidemarkError } from '../../errors.ts';
import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import { reasons } from '../../model/reasons.ts';
import { sum } from '../../model/sum.ts';
import { requestsLeft } from '../../planning/budget.ts';
import type { Headline, State } from '../../planning/conditions.ts';
import {
  databaseAway,
  queueAway,
  type SourceState,
  type StoredFacts,
  stateOf,
  type Trouble,
} from '../../planning/headline.ts';
import { isBacklog } from '../../planning/periods.ts';
import { type Extent, extentOf, waitingOf } from '../../planning/progress.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import type { Database } from '../../store/db/database.ts';
import { explainDatabaseError } from '../../store/db/failure.ts';
import { readUse } from '../../store/ledger/ledger.ts';
import { readQuarantined } from '../../store/ledger/quarantine.ts';
import { countRecentRequests, readRateRefusals, readRecentAnswers } from '../../store/ledger/recent-answers.ts';
import { readTroubleOf } from '../../store/ledger/source-outage.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import { readFollowedSources, readSourceLists, sourcesInUse } from '../../store/series/sources.ts';
import { readUntold } from '../../store/settings/notifications.ts';
import { readInvalidList, readPause, readWaiting } from '../../store/settings/settings.ts';
import { readLoweredBudgets, readSourcePauses } from '../../store/settings/source-orders.ts';
import { readRefusedUntil } from '../../store/settings/source-refusal.ts';
import { countTracked, type SeriesStatus, seriesStatus } from '../../store/status/status.ts';
import { readFailingJobs } from '../../store/upkeep/jobs.ts';
import { isUnreachable } from '../poll-until.ts';
import {
  countBySource,
  countEach,
  divideWorkable,
  type GapsContext,
  readGapDivision,
  requestsOf,
} from '../source-gaps.ts';
import { readQueueFacts } from './queue-facts.ts';

type FactsContext = GapsContext & {
  /** Where jobs run; absent: `database`. */
  readonly primary?: Database;
};

/** Reads one after the other, so that it takes one connection. @param known gaps that have been read already. */
export async function readStoredFacts(
  context: FactsContext,
  nowMs: EpochMs,
  known?: readonly Gap[],
): Promise<StoredFacts> {
  const { database, primary = database, config } = context;
  const { graceMs } = config.worker;
  const gaps = known ?? (await listGaps(database, { nowMs, graceMs }));
  const { divide } = await readGapDivision(context, nowMs);
  const { series, arriving } = await countTracked.one(database.pool, { nowMs });
  const isBehind = (gap: Gap) => isBacklog(gap.startMs, intervalMs[gap.series.interval], { nowMs, graceMs });
  const failed = gaps.filter(({ reason }) => reason === 'failed');
  const isLost = ({ cause }: Gap) => reasons[cause].counts === 'lost';
  const stale = gaps.filter(({ reason }) => reason === 'stale');
  const awaiting = gaps.filter(({ reason }) => reason === 'awaits_second_answer').concat(stale);
  const divided = divideWorkable(gaps, nowMs, divide);
  const windows = countEach(divided);
  const due = awaiting.map(({ retryAtMs }) => retryAtMs).filter((ms) => ms !== null);
  const behind = countBySource(divideWorkable(gaps.filter(isBehind), nowMs, divide).values());
  const allBehind = sum([...behind.values()]);
  return {
    readAtMs: nowMs,
    pause: await readPause(database.pool),
    unapplied: await readWaiting(database),
    invalidList: await readInvalidList(database.pool),
    untold: await readUntold(database),
    series,
    arriving,
    left: sum(windows.values()),
    behind: allBehind,
    // What closed just now is fetched at once. The pace of a backfill that has ended, or was cancelled, says nothing of
    // it.
    recent: allBehind === 0 ? [] : await readRecentAnswers(database, nowMs),
    failed: troubleOf(failed.filter((gap) => !isLost(gap))),
    beyondDepth: troubleOf(failed.filter(isLost)),
    blocked: troubleOf(gaps.filter(({ reason }) => reason === 'blocked')),
    awaiting: {
      ranges: awaiting.length,
      stale: stale.length,
      nextMs: due.length === 0 ? null : due.reduce((first, ms) => Math.min(first, ms)),
    },
    waiting: waitingOf(gaps, nowMs),
    rejected: await readRejected(database),
    failingJobs: await readFailingJobs(primary),
    sources: await readSourceStates(context, { windows, asked: countBySource(divided.values()), behind }, nowMs),
  };
}

/** Of all that is tracked. */
export async function extentOfTracked(
  context: GapsContext,
  rows: readonly SeriesStatus[],
  nowMs: EpochMs,
): Promise<Extent> {
  const { divide } = await readGapDivision(context, nowMs);
  return extentOf(rows.map((row) => ({ ...row, requests: requestsOf(row, divide) })));
}

async function readRejected(database: Database): Promise<StoredFacts['rejected']> {
  const found = await readQuarantined.on(database.pool, {});
  return { rows: sum(found.map(({ rows }) => rows)), series: found.length, reason: found[0]?.reason ?? null };
}

/** With a message of the cause that most ranges have. */
function troubleOf(gaps: readonly Gap[]): Trouble {
  const counts = new Map<Gap['cause'], number>();
  for (const { cause } of gaps) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one);
  const first = gaps.find(({ cause }) => cause === most?.[0]);
  return { ranges: gaps.length, first: first?.message ?? null, causes: counts.size };
}

/** By source. */
type Counts = ReadonlyMap<string, number>;

async function readSourceStates(
  { database, sources }: Pick<FactsContext, 'database' | 'sources'>,
  { windows, asked, behind }: Readonly<Record<'asked' | 'behind', Counts>> & { windows: ReadonlyMap<number, number> },
  nowMs: EpochMs,
): Promise<SourceState[]> {
  const left = await leftBySource(database, windows);
  const requests = await countRecentRequests(database, nowMs);
  const refusals = await readRateRefusals(database, nowMs);
  const pauses = await readSourcePauses(database);
  const registry = await sources();
  const found: SourceState[] = [];
  for (const { source, isFollowed } of await readFollowedSources(database, nowMs)) {
    const limit = registry.find(source)?.facts.longLimit;
    found.push({
      source,
      left: left.get(source) ?? 0,
      asked: asked.get(source) ?? 0,
      behind: behind.get(source) ?? 0,
      isFollowed,
      lastMinute: requests.get(source) ?? 0,
      ...(await readTroubleOf(database, source, nowMs)),
      refusal: refusals.get(source) ?? null,
      refusedUntilMs: await readRefusedUntil(database, source, nowMs),
      isUsedUp: limit != null && requestsLeft(limit, await readUse(database, source, limit, nowMs)) <= 0,
      pause: pauses.get(source) ?? null,
    });
  }
  return found;
}

/** Of the windows of each series, those of each source that may give it. */
async function leftBySource(
  database: Database,
  windows: ReadonlyMap<number, number>,
): Promise<ReadonlyMap<string, number>> {
  const lists = await readSourceLists(database.pool, [...windows.keys()]);
  const left = new Map<string, number>();
  for (const [seriesId, count] of windows)
    for (const source of lists.get(seriesId)?.map((one) => one.source) ?? [])
      left.set(source, (left.get(source) ?? 0) + count);
  return left;
}

/** The headline while the database or the queue is unreachable. */
export function awayHeadline({ code, message }: TidemarkError): Headline {
  return code === 'QUEUE_UNREACHABLE' ? queueAway(message) : databaseAway(message);
}

const nothing: Extent = { requests: 0, wantedMs: 0, coveredMs: 0 };

/**
 * What `status`, the page and the metrics say of the whole, also where the database or the queue does not answer.
 *
 * @throws other errors
 */
export async function readState(context: FactsContext, queues: QueueBackend, nowMs: EpochMs): Promise<State> {
  try {
    const stored = await readStoredFacts(context, nowMs);
    const inUse = await sourcesInUse(context.database);
    const lowered = await readLoweredBudgets(context.database);
    const queue = await readQueueFacts(context, queues, inUse, lowered).catch((error) => ({ away: messageOf(error) }));
    const rows = await seriesStatus(context.database, { nowMs, graceMs: context.config.worker.graceMs });
    return stateOf({ ...stored, nowMs, tracked: await extentOfTracked(context, rows, nowMs), queue });
  } catch (thrown) {
    const error = explainDatabaseError(thrown);
    if (!isUnreachable(error)) throw error;
    return { headline: awayHeadline(error), also: [], ...nothing, left: 0, etaMs: null, waiting: null };
  }
}
