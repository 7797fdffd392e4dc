/** Recent requests, for the state of the whole: how fast windows are fetched, and which sources refuse. */

import type { EpochMs } from '../../model/intervals.ts';
import { fillingLanes } from '../../model/lanes.ts';
import { answersMs, type RecentAnswers, recentMs } from '../../planning/eta.ts';
import type { Database } from '../db/database.ts';
import { int8, listOf, statement, text, time } from '../db/statement.ts';

const part = `${answersMs} ms`;
/** Bounds the cost without a limit of requests: the newest of them span seconds, which is enough for a rate. */
const maxAnswers = 20_000;

/** Counts the answers of the lanes that fill gaps, ascending. */
export function readRecentAnswers(database: Database, nowMs: EpochMs): Promise<RecentAnswers[]> {
  return recentAnswers.on(database.pool, { since: nowMs - recentMs, lanes: fillingLanes });
}

const recentAnswers = statement({
  name: 'recent-answers',
  text: `
    with newest as (
      select time, source, lane from tidemark.fetches
      where time > $since and error is null and lane = any ($lanes)
      order by time desc limit ${maxAnswers}
    )
    select source, date_bin('${part}', time, 'epoch') + interval '${part}' as "endMs",
           count(*) as answers, count(*) filter (where lane = 'refresh') as refreshes
    from newest group by 1, 2 order by 2, 1`,
  parameters: { since: time, lanes: listOf(text) },
  row: { source: text, endMs: time, answers: int8, refreshes: int8 },
});

/** Counts the requests of the last minute by source. */
export async function countRecentRequests(database: Database, nowMs: EpochMs): Promise<ReadonlyMap<string, number>> {
  const rows = await requestsBySource.on(database.pool, { now: nowMs });
  return new Map(rows.map(({ source, requests }) => [source, requests]));
}

const requestsBySource = statement({
  name: 'recent-requests-by-source',
  text: `select source, count(*) as requests from tidemark.fetches where time > $now - interval '1 minute' group by 1`,
  parameters: { now: time },
  row: { source: text, requests: int8 },
});

/** An older refusal says nothing about now. */
const refusalAge = "interval '1 hour'";
/** A request that started before the refusal may end this much later. */
const underWay = "interval '30 seconds'";

/**
 * The newest 429 of each source, unless requests have succeeded since. Each part has a bound that is known, so that
 * older chunks are not planned.
 */
export async function readRateRefusals(
  database: Database,
  nowMs: EpochMs,
): Promise<ReadonlyMap<string, { readonly timeMs: EpochMs; readonly message: string }>> {
  const rows = await rateRefusals.on(database.pool, { now: nowMs });
  return new Map(rows.map(({ source, ...refusal }) => [source, refusal]));
}

const rateRefusals = statement({
  name: 'rate-refusals',
  text: `
    with newest as (
      select distinct on (source) source, time, error from tidemark.fetches
      where time > $now - ${refusalAge} and verdict = 'rate_limited' order by source, time desc
    )
    select source, time as "timeMs", coalesce(error, '') as message from newest n
    where not exists (select from tidemark.fetches f
                      where f.time > $now - ${refusalAge} and f.time > n.time + ${underWay}
                        and f.error is null and f.source = n.source)`,
  parameters: { now: time },
  row: { source: text, timeMs: time, message: text },
});
