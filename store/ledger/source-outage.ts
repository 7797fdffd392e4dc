/** Reads from the ledger whether the source answers. */

import { dayMs, type EpochMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import {
  longestBackoffMs,
  refusalKinds,
  type SourceOutage,
  silentKinds,
  sourceTrouble,
  type Unanswered,
} from '../../planning/source-outage.ts';
import type { Database } from '../db/database.ts';
import { bool, int4, int8, nullable, oneOf, statement, statementsBy, text, time } from '../db/statement.ts';
import { sourcesInUse } from '../series/sources.ts';
import { checksumVerdict } from './ledger.ts';

/**
 * A source with fewer failures in a row fails now and then, as every source does. One refusal of all requests is
 * enough.
 */
const fewestFailures = 3;

/**
 * How far back the newest success is looked for at first. Planning a statement costs time for each chunk that it may
 * read.
 */
const recentMs = dayMs;

/** Reads the ledger backwards, no further than to the newest success. All but the counts is null without failures. */
export async function readFailures(database: Database, source: string, nowMs: EpochMs) {
  const recent = await failuresSince('recent').one(database.pool, { source, since: nowMs - recentMs });
  if (recent.successAtMs !== null) return recent;
  return failuresSince('whole').one(database.pool, { source, since: Number.NEGATIVE_INFINITY });
}

/** By how much of the ledger they read: a plan of one does not suit the other. */
const failuresSince = statementsBy(['whole', 'recent'], (part) =>
  statement({
    name: `source-outage ${part}`,
    text: `
      with newest as materialized (
        select time from tidemark.fetches
        where error is null and verdict <> '${checksumVerdict}' and time > $since and source = $source
        order by time desc limit 1
      )
      select (select time from newest) as "successAtMs", count(*) filter (where is_trouble) as failures,
             min(time) filter (where is_trouble) as "failingSinceMs",
             max(time) filter (where is_trouble) as "lastTriedMs",
             max(time) filter (where not is_trouble) as "limitedAtMs",
             (array_agg(verdict order by time desc) filter (where is_trouble))[1] as kind,
             (array_agg(error order by time desc) filter (where is_trouble))[1] as message,
             (array_agg(attempt order by time desc) filter (where is_trouble))[1] as attempt
      from tidemark.fetches, lateral (select verdict <> 'rate_limited' as is_trouble) as trouble
      where time > $since and time > coalesce((select time from newest), '-infinity')
        and source = $source and verdict = any ('{${sourceTrouble.join(',')},rate_limited}')`,
    parameters: { source: text, since: time },
    row: {
      ...{ successAtMs: nullable(time), failures: int8, failingSinceMs: nullable(time), lastTriedMs: nullable(time) },
      limitedAtMs: nullable(time),
      ...{ kind: nullable(oneOf<SourceOutage['kind']>()), message: nullable(text) },
      attempt: nullable(int4),
    },
  }),
);

/** @returns the first outage among the default source and those of tracked series; null: all of them answer. */
export async function readSourceOutage(database: Database, nowMs: EpochMs): Promise<SourceOutage | null> {
  const [first = null] = await readSourceOutages(database, nowMs);
  return first;
}

/** @returns the outages among the default source and those of tracked series. */
export async function readSourceOutages(database: Database, nowMs: EpochMs): Promise<SourceOutage[]> {
  const found: SourceOutage[] = [];
  for (const source of new Set([defaultSource, ...(await sourcesInUse(database))])) {
    const outage = await readOutageOf(database, source, nowMs);
    if (outage !== null) found.push(outage);
  }
  return found;
}

/** @returns null while the source answers. */
export async function readOutageOf(database: Database, source: string, nowMs: EpochMs): Promise<SourceOutage | null> {
  return (await readTroubleOf(database, source, nowMs)).outage;
}

export interface SourceTrouble {
  /** Null: the source answers. */
  readonly outage: SourceOutage | null;
  /** Null: an answer came to the last request, or the source is away. */
  readonly unanswered: Unanswered | null;
}

const noTrouble: SourceTrouble = Object.freeze({ outage: null, unanswered: null });

/** An older request is not asked again by itself. */
const unansweredMs = 10 * minuteMs;

export async function readTroubleOf(database: Database, source: string, nowMs: EpochMs): Promise<SourceTrouble> {
  const { attempt, ...found } = await readFailures(database, source, nowMs);
  const { failures, successAtMs, failingSinceMs, limitedAtMs, ...last } = found;
  if (failingSinceMs === null || last.lastTriedMs === null) return noTrouble;
  // A 429 is an answer, if no good one.
  if (limitedAtMs !== null && limitedAtMs > last.lastTriedMs) return noTrouble;
  const fewest = refusalKinds.includes(last.kind ?? '') ? 1 : fewestFailures;
  if (failures < fewest) {
    const kind = silentKinds.find((silent) => silent === last.kind);
    if (kind === undefined || last.lastTriedMs < nowMs - unansweredMs) return noTrouble;
    const retryAtMs = last.lastTriedMs + longestBackoffMs(attempt ?? 1);
    const unanswered = { source, failedAtMs: last.lastTriedMs, kind, message: last.message ?? '', retryAtMs };
    return { outage: null, unanswered };
  }
  const outage = await wholeOutage(database, source, { ...found, failingSinceMs });
  return { outage, unanswered: null };
}

async function wholeOutage(
  database: Database,
  source: string,
  found: Omit<Awaited<ReturnType<typeof readFailures>>, 'attempt'> & { readonly failingSinceMs: EpochMs },
): Promise<SourceOutage> {
  const { failures: _, limitedAtMs: __, successAtMs: ___, failingSinceMs, ...last } = found;
  const [whole] = await outages.on(database.pool, {
    ...{ source, sinceMs: failingSinceMs - hourMs, untilMs: Number.POSITIVE_INFINITY, most: 1 },
  });
  return {
    ...({ source, failingSinceMs, ...last } as Omit<SourceOutage, 'sinceMs'>),
    sinceMs: whole?.timeMs ?? failingSinceMs,
  };
}

/** Bans further apart than this are two. */
const bansApart = '10 minutes';
/** Failures that are looked at, the newest: each costs a look-up of a success before it. */
const mostFailures = 10_000;

const words = (values: readonly string[]) => `'{${values.join(',')}}'::text[]`;

/**
 * Outages, and bans where no source is named, newest first. An outage is a run of failures without a success between
 * them; outages less than a minute apart are one, as where a source that comes and goes answers a request now and then.
 * It begins with its first failure, also where that is before `sinceMs`.
 */
export const outages = statement({
  name: 'outages',
  text: `
    with failures as (
      select time, source, verdict, error, verdict = 'rate_limited' as is_ban,
             lag(time) over (partition by source, verdict = 'rate_limited' order by time) as before
      from (select time, source, verdict, error from tidemark.fetches
            where time >= $sinceMs and time < $untilMs and error is not null and ($source is null or source = $source)
              and (verdict = any (${words(sourceTrouble)}) or $source is null and verdict = 'rate_limited')
            order by time desc limit ${mostFailures}) newest
    ), begun as (
      select *, before is null or case when is_ban then time - before > interval '${bansApart}' else exists (
        select from tidemark.fetches s where s.time > f.before and s.time < f.time and s.error is null
          and s.verdict <> '${checksumVerdict}' and s.source = f.source) end as begins
      from failures f
    ), numbered as (
      select *, count(*) filter (where begins) over (partition by source, is_ban order by time) as number from begun
    ), runs as (
      select source, is_ban, min(time) as begun, max(time) as ended, count(*) as requests,
             (array_agg(error order by time desc))[1] as error
      from numbered group by source, is_ban, number
      having is_ban or count(*) >= ${fewestFailures} or bool_or(verdict = any (${words(refusalKinds)}))
    ), apart as (
      select *, coalesce(begun - lag(ended) over (partition by source, is_ban order by begun) >= interval '1 minute',
                         true) as is_apart
      from runs
    ), joined as (
      select *, count(*) filter (where is_apart) over (partition by source, is_ban order by begun) as number from apart
    ), whole as (
      select source, is_ban, min(begun) as begun, max(ended) as ended, sum(requests)::bigint as requests,
             (array_agg(error order by begun desc))[1] as error
      from joined group by source, is_ban, number order by 4 desc limit $most
    )
    select coalesce(case when not is_ban then (
             select f.time from tidemark.fetches f
             where f.time <= w.begun and f.source = w.source and f.verdict = any (${words(sourceTrouble)})
               and f.time > coalesce((
                 select s.time from tidemark.fetches s where s.time < w.begun and s.error is null
                   and s.verdict <> '${checksumVerdict}' and s.source = w.source order by s.time desc limit 1
               ), '-infinity')
             order by f.time limit 1
           ) end, begun) as "timeMs", ended as "untilMs", (
             select s.time from tidemark.fetches s where s.time > w.ended and s.error is null
               and s.verdict <> '${checksumVerdict}' and s.source = w.source order by s.time limit 1
           ) as "answeredMs", is_ban as "isBan", source, requests, error
    from whole w order by 2 desc`,
  parameters: { source: nullable(text), sinceMs: time, untilMs: time, most: int4 },
  row: {
    ...{ timeMs: time, untilMs: time },
    /** The first good answer after it; null: there is none yet. */
    answeredMs: nullable(time),
    ...{ isBan: bool, source: text, requests: int8, error: text },
  },
});
