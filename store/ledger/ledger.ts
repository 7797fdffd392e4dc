/** The ledger: one row for each request. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import { byLane, type Lane, laneNames } from '../../model/lanes.ts';
import type { ListName } from '../../model/lists/index.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource, type Limit } from '../../model/sources.ts';
import type { Database } from '../db/database.ts';
import {
  bool,
  float8,
  int4,
  int8,
  nullable,
  oneOf,
  type RowOf,
  range,
  rowsOf,
  statement,
  text,
  time,
} from '../db/statement.ts';
import { timestamp } from '../db/values.ts';
import { dropChunks } from '../timescale/extension.ts';
import { toStorable } from './quarantine.ts';

/** Entries of the ledger, as a parameter. */
export const ledgerRows = rowsOf({
  timeMs: time,
  dataset: oneOf<SeriesKey['dataset'] | ListName>(),
  seriesId: nullable(int4),
  range: nullable(range),
  lane: oneOf<Lane>(),
  /** Attempt of the job, from 1. */
  attempt: int4,
  /** A verdict, or the kind of error. */
  verdict: text,
  /** HTTP status; null without a response. */
  status: nullable(int4),
  fresh: int4,
  changed: int4,
  /** Changed points of closed periods, whose old values are kept. */
  revised: int4,
  unchanged: int4,
  rejected: int4,
  /** Why the first of them was; null: none was. */
  rejectedFor: nullable(text),
  /** Size of the decoded body. */
  bytes: int8,
  durationMs: int4,
  error: nullable(text),
  /** Whether a connection was made. */
  isSent: bool,
  source: text,
  /**
   * In one line the rejected rows of an answer, or the beginning of one that did not fill its range; null: it was
   * another, or had none.
   */
  body: nullable(text),
});
export type LedgerEntry = RowOf<typeof ledgerRows.columns>;

/** Of a request that concerns no series, changes nothing and succeeds. Lists come from the default source. */
const defaults = Object.freeze({
  seriesId: null,
  range: null,
  fresh: 0,
  changed: 0,
  revised: 0,
  unchanged: 0,
  rejected: 0,
  rejectedFor: null,
  error: null,
  isSent: true,
  source: defaultSource,
  body: null,
});

export type NewEntry = Omit<LedgerEntry, keyof typeof defaults> & Partial<LedgerEntry>;

/** The insert of the rows `$ledger`, as part of another statement. */
export const ledgerInsert = `
  insert into tidemark.fetches (time, dataset, series_id, range, lane, attempt, verdict, status, fresh, changed,
                                revised, unchanged, rejected, rejected_for, bytes, duration_ms, error, sent, source,
                                body)
  select * from $ledger`;

export function ledgerRow(entry: NewEntry): LedgerEntry {
  const { durationMs, error, rejectedFor, ...others } = { ...defaults, ...entry };
  return {
    ...others,
    durationMs: Math.round(durationMs),
    error: error?.slice(0, 1000) ?? null,
    rejectedFor: rejectedFor === null ? null : toStorable(rejectedFor).slice(0, 1000),
  };
}

const recordFetches = statement({
  name: 'record-fetch',
  // Of a series that was deleted meanwhile nothing is recorded.
  text: `${ledgerInsert} where series_id is null or exists (
           select from tidemark.series s where s.id = ledger.series_id for key share of s)`,
  parameters: { ledger: ledgerRows },
});

/** Adds a row, within the caller's transaction when `client` is one. */
export async function recordFetch(client: pg.Pool | pg.PoolClient, entry: NewEntry): Promise<void> {
  await recordFetches.on(client, { ledger: [ledgerRow(entry)] });
}

/** Verdict of a checksum that came: its row says nothing of the file. */
export const checksumVerdict = 'checksum';

/** Adds the row of a checksum that was requested before a file, if one was. */
export async function recordChecksum(
  client: pg.Pool,
  checksum: (Pick<LedgerEntry, 'bytes' | 'durationMs'> & { readonly status: number }) | null | undefined,
  of: Pick<LedgerEntry, 'timeMs' | 'dataset' | 'seriesId' | 'range' | 'lane' | 'attempt' | 'source'>,
): Promise<void> {
  if (checksum != null) await recordFetch(client, { ...of, ...checksum, body: null, verdict: checksumVerdict });
}

/** Counts requests since `sinceMs` by lane. @param source absent: of all sources. */
export async function countFetchesSince(
  database: Database,
  sinceMs: EpochMs,
  source?: string,
): Promise<Readonly<Record<Lane, number>>> {
  const rows = await fetchesSince.on(database.pool, { since: sinceMs, source: source ?? null });
  const counts = new Map(rows.map(({ lane, requests }) => [lane, requests]));
  return byLane(laneNames, (lane) => counts.get(lane) ?? 0);
}

const fetchesSince = statement({
  name: 'fetches-since',
  text: `select lane, count(*) as requests from tidemark.fetches
         where time > $since and ($source is null or source = $source) group by lane`,
  parameters: { since: time, source: nullable(text) },
  row: { lane: oneOf<Lane>(), requests: int8 },
});

/**
 * What requests have used of a limit of their source in its period: one each, and one for each `bytesEach` bytes of an
 * answer. A request for which no connection was made did not reach the source, and costs nothing. One that timed out
 * may have.
 *
 * @returns `firstMs` is the time of the first of them; null: there was none.
 */
export async function readUse(
  database: Database,
  source: string,
  { periodMs, bytesEach }: Pick<Limit, 'periodMs' | 'bytesEach'>,
  nowMs: EpochMs,
): Promise<{ readonly used: number; readonly requests: number; readonly firstMs: EpochMs | null }> {
  return costOf.one(database.pool, { since: nowMs - periodMs, source, bytesEach: bytesEach ?? null });
}

const costOf = statement({
  name: 'cost-since',
  text: `select count(*)::int as requests, (count(*) + coalesce(sum(ceil(bytes / $bytesEach)), 0))::int as used,
                min(time) as "firstMs"
         from tidemark.fetches where time > $since and source = $source and sent`,
  parameters: { since: time, source: text, bytesEach: nullable(float8) },
  row: { requests: int4, used: int4, firstMs: nullable(time) },
});

/** Deletes requests before `beforeMs`: whole chunks where there are any, because an emptied chunk would stay. */
export async function pruneLedger(database: Database, beforeMs: EpochMs): Promise<void> {
  await dropChunks(database.pool, 'fetches', timestamp(beforeMs));
  await deleteFetches.on(database.pool, { before: beforeMs });
}

const deleteFetches = statement({
  name: 'delete-fetches',
  isPlannedAnew: true,
  text: 'delete from tidemark.fetches where time < $before',
  parameters: { before: time },
});

/** A text of the source in place of data, such as its retirement. Ledger and metrics call it `notice`. */
export interface ServiceMessage {
  readonly timeMs: EpochMs;
  readonly message: string;
}

/** An older message may no longer hold: a backfill asks again every hour. */
const maxMessageAgeMs = 24 * 3_600_000;

/** The service message, unless a request succeeded since; null: there is none. */
export async function readServiceMessage(database: Database, nowMs: EpochMs): Promise<ServiceMessage | null> {
  const [message] = await serviceMessage.on(database.pool, { since: nowMs - maxMessageAgeMs });
  return message ?? null;
}

// Reads backwards, no further than to the newest success. A bound that is known keeps older chunks from being planned.
const serviceMessage = statement({
  name: 'service-message',
  text: `
    with newest as materialized (
      select time from tidemark.fetches where error is null and time > $since order by time desc limit 1
    )
    select time as "timeMs", coalesce(error, '') as message from tidemark.fetches
    where verdict = 'notice' and time > $since and time > coalesce((select time from newest), $since)
    order by time desc limit 1`,
  parameters: { since: time },
  row: { timeMs: time, message: text },
});
