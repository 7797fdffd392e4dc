/** API keys of the service: requested, issued and revoked ones, and the count of their requests. */

import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { TidemarkError } from '../errors.ts';
import type { EpochMs } from '../model/intervals.ts';

export interface KeyRequest {
  readonly name: string;
  readonly address: string | null;
  readonly purpose: string | null;
}

export interface KeyEntry extends KeyRequest {
  readonly id: number;
  readonly state: 'pending' | 'issued' | 'revoked';
  readonly requestedAtMs: EpochMs;
  readonly issuedAtMs: EpochMs | null;
  readonly revokedAtMs: EpochMs | null;
}

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
  const result = await pool.query<{ id: number | null }>({
    name: 'key-of',
    text: 'select tidemark.key_of($1) as id',
    values: [hashKey(key)],
  });
  return result.rows[0]?.id ?? null;
}

/**
 * Stores a request of the web form, unless too many came from there in the last hour, or too many are
 * pending.
 */
export async function requestKey(
  pool: pg.Pool,
  request: KeyRequest,
  from: string,
): Promise<'stored' | 'throttled' | 'full'> {
  const result = await pool.query<{ outcome: 'stored' | 'throttled' | 'full' }>(
    'select tidemark.ask_for_key($1, $2, $3, $4) as outcome',
    [request.name, request.address, request.purpose, from],
  );
  return result.rows[0]?.outcome ?? 'full';
}

/** Lists every key, the newest last. */
export async function listKeys(pool: pg.Pool): Promise<KeyEntry[]> {
  const result = await pool.query<KeyEntry>(
    `select id, name, address, purpose, requested_at as "requestedAtMs", issued_at as "issuedAtMs",
            revoked_at as "revokedAtMs",
            case when revoked_at is not null then 'revoked' when issued_at is null then 'pending' else 'issued' end as state
     from tidemark.api_keys order by id`,
  );
  return result.rows;
}

/**
 * Issues a pending key.
 *
 * @returns the key, which can never be read again.
 * @throws TidemarkError UNKNOWN_KEY unless it is pending.
 */
export async function approveKey(pool: pg.Pool, id: number): Promise<string> {
  const key = newKey();
  const result = await pool.query(
    `update tidemark.api_keys set hash = $2, issued_at = now()
     where id = $1 and issued_at is null and revoked_at is null`,
    [id, hashKey(key)],
  );
  if (result.rowCount !== 1) throw new TidemarkError('UNKNOWN_KEY', `no request with the id ${id} is pending`);
  return key;
}

/** Issues a key without a request. @returns its id, and the key, which can never be read again. */
export async function issueKey(pool: pg.Pool, request: KeyRequest): Promise<{ id: number; key: string }> {
  const key = newKey();
  const result = await pool.query<{ id: number }>(
    `insert into tidemark.api_keys (name, address, purpose, hash, issued_at)
     values ($1, $2, $3, $4, now()) returning id`,
    [request.name, request.address, request.purpose, hashKey(key)],
  );
  const id = result.rows[0]?.id;
  if (id === undefined) throw new Error('the key was not stored');
  return { id, key };
}

/** Revokes a key, or rejects a request for one. @throws TidemarkError UNKNOWN_KEY */
export async function revokeKey(pool: pg.Pool, id: number): Promise<void> {
  const result = await pool.query(
    'update tidemark.api_keys set revoked_at = now() where id = $1 and revoked_at is null',
    [id],
  );
  if (result.rowCount !== 1)
    throw new TidemarkError('UNKNOWN_KEY', `no key with the id ${id}, or it is revoked already`);
}

export interface CountedRequest {
  /** False: `perMinute` other requests were made in the 60 seconds before. This one does not count. */
  readonly admitted: boolean;
  /** Requests of this minute, including this one if it was admitted. */
  readonly used: number;
  /** Time of the oldest of them. It stops counting a minute later. */
  readonly oldestMs: EpochMs;
  /** Time of the request, by the clock that all requests are counted by. */
  readonly nowMs: EpochMs;
}

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
  const result = await pool.query<CountedRequest>({
    name: 'count-request',
    text: `select admitted, used, oldest_ms as "oldestMs", now_ms as "nowMs" from tidemark.admit_request($1, $2, $3)`,
    values: [caller, perMinute, atMs],
  });
  const row = result.rows[0];
  if (row === undefined) throw new Error('the request was not counted');
  return row;
}
