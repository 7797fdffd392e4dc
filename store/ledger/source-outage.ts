/** Reads from the ledger whether the source answers. */

import { dayMs, type EpochMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import { refusalKinds, type SourceOutage, sourceTrouble } from '../../planning/source-outage.ts';
import type { Database } from '../db/database.ts';
import { int8, nullable, oneOf, statement, statementsBy, text, time } from '../db/statement.ts';
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
  const recent = await readFailuresSince(database, source, nowMs - recentMs);
  return recent.successAtMs === null ? readFailuresSince(database, source, null) : recent;
}

/** @param sinceMs null: the whole ledger. */
async function readFailuresSince(database: Database, source: string, sinceMs: EpochMs | null) {
  const since = sinceMs ?? Number.NEGATIVE_INFINITY;
  const [row] = await failuresSince(sinceMs === null ? 'whole' : 'recent').on(database.pool, { source, since });
  if (row === undefined) throw new Error('a query without rows');
  return row;
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
      select (select time from newest) as "successAtMs", count(*) as failures, min(time) as "sinceMs",
             max(time) as "lastTriedMs", (array_agg(verdict order by time desc))[1] as kind,
             (array_agg(error order by time desc))[1] as message
      from tidemark.fetches
      where time > $since and time > coalesce((select time from newest), '-infinity')
        and source = $source and verdict = any ('{${sourceTrouble.join(',')}}')`,
    parameters: { source: text, since: time },
    row: {
      ...{ successAtMs: nullable(time), failures: int8, sinceMs: nullable(time), lastTriedMs: nullable(time) },
      ...{ kind: nullable(oneOf<SourceOutage['kind']>()), message: nullable(text) },
    },
  }),
);

/** @returns the first outage among the default source and those of tracked series; null: all of them answer. */
export async function readSourceOutage(database: Database, nowMs: EpochMs): Promise<SourceOutage | null> {
  for (const source of new Set([defaultSource, ...(await sourcesInUse(database))])) {
    const outage = await readOutageOf(database, source, nowMs);
    if (outage !== null) return outage;
  }
  return null;
}

/** @returns null while the source answers. */
export async function readOutageOf(database: Database, source: string, nowMs: EpochMs): Promise<SourceOutage | null> {
  const { failures, successAtMs: _, ...outage } = await readFailures(database, source, nowMs);
  const fewest = refusalKinds.includes(outage.kind ?? '') ? 1 : fewestFailures;
  return failures < fewest ? null : ({ source, ...outage } as SourceOutage);
}
