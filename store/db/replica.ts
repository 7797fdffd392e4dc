/** Streaming replicas: how far one is behind its primary. */

import type pg from 'pg';
import { bool, int8, nullable, statement, text } from './statement.ts';

/**
 * Milliseconds by which a streaming replica is behind its primary: 0 if it has replayed everything that the primary has
 * written, otherwise the age of the newest transaction that it has replayed. That age alone would also grow while
 * nothing is written, so it is used alone, as an upper bound, only while the primary does not answer.
 *
 * @returns null: unknown, because it is no streaming replica or has not replayed a transaction since its start.
 * @throws Error when the replica cannot be read.
 */
export async function replicaLagMs(primary: pg.Pool, replica: pg.Pool): Promise<number | null> {
  // Before the replica is read: what the primary writes meanwhile does not count.
  const { written } = await primaryPosition.one(primary, {}).catch(() => ({ written: null }));
  const seen = await replayed.one(replica, { written });
  if (!seen.isReplica) return null;
  return seen.isCurrent === true ? 0 : seen.ageMs === null ? null : Math.max(0, seen.ageMs);
}

/** `isCurrent` is null where no position was given, and `ageMs` where no transaction was replayed yet. */
const replayed = statement({
  name: 'replica-lag',
  text: `select pg_is_in_recovery() as "isReplica", pg_last_wal_replay_lsn() >= $written::pg_lsn as "isCurrent",
                (date_part('epoch', clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint as "ageMs"`,
  parameters: { written: nullable(text) },
  row: { isReplica: bool, isCurrent: nullable(bool), ageMs: nullable(int8) },
});

/** Position of the last byte of the primary's log; null: it is a replica itself. */
const primaryPosition = statement({
  name: 'primary-position',
  text: 'select case when not pg_is_in_recovery() then pg_current_wal_lsn()::text end as written',
  row: { written: nullable(text) },
});
