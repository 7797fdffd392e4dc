/** API keys of the service: requested, issued and revoked ones, and the count of their requests. */

import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { TidemarkError } from '../errors.ts';
import type { EpochMs } from '../model/intervals.ts';
import { bool, bytes, int4, int8, nullable, oneOf, type RowOf, statement, text, time } from '../store/db/statement.ts';

const request = { name: text, address: nullable(text), purpose: nullable(text) };
type KeyRequest = RowOf<typeof request>;
export type KeyEntry = RowOf<(typeof allKeys)['row']>;

/** Makes a key recognisable where it leaks: in a log, in a repository. */
const prefix = 'tm_';

/** 256 random bits cannot be guessed, so the hash needs neither salt nor slowness. */
function newKey(): string {
  return prefix + randomBytes(32).toString('base64url');
}

/** Whether the text could be a key. Any other text needs no lookup. */
export function isKeyShaped(text: string): boolean {
  return /^tm_[\w-]{43}$/.test(text);
}

function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Returns the id of an issued key; null for any other text, and for a revoked one. */
export async function findKey(pool: pg.Pool, key: string): Promise<number | null> {
  const [found] = await keyOf.on(pool, { hash: hashKey(key) });
  return found?.id ?? null;
}

const keyOf = statement({
  name: 'key-of',
  text: 'select tidemark.key_of($hash) as id',
  parameters: { hash: bytes },
  row: { id: nullable(int4) },
});

/** Stores a request of the web form, unless too many came from there in the last hour, or too many are pending. */
export async function requestKey(
  pool: pg.Pool,
  request: KeyRequest,
  from: string,
): Promise<'stored' | 'throttled' | 'full'> {
  const [answer] = await askForKey.on(pool, { ...request, from });
  return answer?.outcome ?? 'full';
}

const askForKey = statement({
  name: 'ask-for-key',
  text: 'select tidemark.ask_for_key($name, $address, $purpose, $from) as outcome',
  parameters: { ...request, from: text },
  row: { outcome: oneOf<'stored' | 'throttled' | 'full'>() },
});

/** Every key, the newest last. */
export const allKeys = statement({
  name: 'keys',
  text: `
    select id, name, address, purpose, requested_at as "requestedAtMs", issued_at as "issuedAtMs",
           revoked_at as "revokedAtMs",
           case when revoked_at is not null then 'revoked'
                when issued_at is null then 'pending' else 'issued' end as state
    from tidemark.api_keys order by id`,
  row: {
    ...{ id: int4, ...request, requestedAtMs: time, issuedAtMs: nullable(time), revokedAtMs: nullable(time) },
    state: oneOf<'pending' | 'issued' | 'revoked'>(),
  },
});

/**
 * Issues a pending key.
 *
 * @returns the key, which can never be read again.
 * @throws TidemarkError UNKNOWN_KEY unless it is pending.
 */
export async function approveKey(pool: pg.Pool, id: number): Promise<string> {
  const key = newKey();
  const issued = await issuePending.on(pool, { id, hash: hashKey(key) });
  if (issued.length !== 1) throw new TidemarkError('UNKNOWN_KEY', `no request with the id ${id} is pending`);
  return key;
}

const issuePending = statement({
  name: 'issue-pending-key',
  text: `update tidemark.api_keys set hash = $hash, issued_at = now()
         where id = $id and issued_at is null and revoked_at is null returning id`,
  parameters: { id: int4, hash: bytes },
  row: { id: int4 },
});

/** Issues a key without a request. @returns its id, and the key, which can never be read again. */
export async function issueKey(pool: pg.Pool, request: KeyRequest): Promise<{ id: number; key: string }> {
  const key = newKey();
  const [stored] = await insertKey.on(pool, { ...request, hash: hashKey(key) });
  if (stored === undefined) throw new Error('the key was not stored');
  return { ...stored, key };
}

const insertKey = statement({
  name: 'insert-key',
  text: `insert into tidemark.api_keys (name, address, purpose, hash, issued_at)
         values ($name, $address, $purpose, $hash, now()) returning id`,
  parameters: { ...request, hash: bytes },
  row: { id: int4 },
});

/** Revokes a key, or rejects a request for one. @throws TidemarkError UNKNOWN_KEY */
export async function revokeKey(pool: pg.Pool, id: number): Promise<void> {
  const revoked = await revoke.on(pool, { id });
  if (revoked.length !== 1)
    throw new TidemarkError('UNKNOWN_KEY', `no key with the id ${id}, or it is revoked already`);
}

const revoke = statement({
  name: 'revoke-key',
  text: 'update tidemark.api_keys set revoked_at = now() where id = $id and revoked_at is null returning id',
  parameters: { id: int4 },
  row: { id: int4 },
});

export type CountedRequest = RowOf<(typeof admitRequest)['row']>;

/** Rejects while the database does not answer. */
export async function assertCountable(pool: pg.Pool): Promise<void> {
  await pool.query('select 1');
}

/**
 * Counts a request of the last minute in PostgreSQL, for all processes of one database. @param atMs replaces
 * the server's clock in a test.
 */
export async function countRequest(
  pool: pg.Pool,
  caller: string,
  perMinute: number,
  atMs: EpochMs | null = null,
): Promise<CountedRequest> {
  const [row] = await admitRequest.on(pool, { caller, perMinute, atMs });
  if (row === undefined) throw new Error('the request was not counted');
  return row;
}

const admitRequest = statement({
  name: 'count-request',
  text: `select admitted, used, oldest_ms as "oldestMs", now_ms as "nowMs"
         from tidemark.admit_request($caller, $perMinute, $atMs)`,
  parameters: { caller: text, perMinute: int4, atMs: nullable(int8) },
  row: {
    /** False: `perMinute` other requests were made in the 60 seconds before. This one does not count. */
    admitted: bool,
    /** Requests of this minute, including this one if it was admitted. */
    used: int4,
    /** Time of the oldest of them, which stops counting a minute later, and of this one, by the clock of all. */
    ...{ oldestMs: int8, nowMs: int8 },
  },
});
