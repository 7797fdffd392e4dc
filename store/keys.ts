/** Keys of the service: who asked for one, which are issued, which revoked. */

import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';

export interface KeyEntry {
  readonly id: number;
  readonly name: string;
  readonly address: string | null;
  readonly purpose: string | null;
  readonly state: 'pending' | 'issued' | 'revoked';
  readonly requestedAtMs: EpochMs;
  readonly issuedAtMs: EpochMs | null;
  readonly revokedAtMs: EpochMs | null;
}

export interface KeyRequest {
  readonly name: string;
  readonly address: string | null;
  readonly purpose: string | null;
}

/** So that a key is known for one where it turns up: in a log, in a repository. */
const prefix = 'tm_';

/** 256 chance bits: nothing that could be guessed, so its hash needs no salt and no slowness. */
function newKey(): string {
  return prefix + randomBytes(32).toString('base64url');
}

/** Whether the text could be a key: anything else need not be looked up. */
export function isKeyShaped(text: string): boolean {
  return /^tm_[\w-]{43}$/.test(text);
}

export function hashOfKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The id of an issued key; null for any other text, and for a revoked one. */
export async function keyOf(pool: pg.Pool, key: string): Promise<number | null> {
  const result = await pool.query<{ id: number | null }>({
    name: 'key-of',
    text: 'select tidemark.key_of($1) as id',
    values: [hashOfKey(key)],
  });
  return result.rows[0]?.id ?? null;
}

/** Stores a request of the web form, unless too many came from there in the last hour, or too many wait. */
export async function askForKey(
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

/** Every key, the newest last. */
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
 * Issues the key that was asked for.
 *
 * @returns the key, which can never be read again.
 * @throws TidemarkError UNKNOWN_KEY unless it is pending.
 */
export async function approveKey(pool: pg.Pool, id: number): Promise<string> {
  const key = newKey();
  const result = await pool.query(
    `update tidemark.api_keys set hash = $2, issued_at = now()
     where id = $1 and issued_at is null and revoked_at is null`,
    [id, hashOfKey(key)],
  );
  if (result.rowCount !== 1)
    throw new TidemarkError('UNKNOWN_KEY', `no request with the id ${id} is pending`);
  return key;
}

/** Issues a key that nobody asked for in the form. @returns its id, and the key, which can never be read again. */
export async function issueKey(pool: pg.Pool, request: KeyRequest): Promise<{ id: number; key: string }> {
  const key = newKey();
  const result = await pool.query<{ id: number }>(
    `insert into tidemark.api_keys (name, address, purpose, hash, issued_at)
     values ($1, $2, $3, $4, now()) returning id`,
    [request.name, request.address, request.purpose, hashOfKey(key)],
  );
  const id = result.rows[0]?.id;
  if (id === undefined) throw new Error('the key was not stored');
  return { id, key };
}

/** Revokes a key, or turns a request for one down. @throws TidemarkError UNKNOWN_KEY */
export async function revokeKey(pool: pg.Pool, id: number): Promise<void> {
  const result = await pool.query(
    'update tidemark.api_keys set revoked_at = now() where id = $1 and revoked_at is null',
    [id],
  );
  if (result.rowCount !== 1)
    throw new TidemarkError('UNKNOWN_KEY', `no key with the id ${id}, or it is revoked already`);
}
