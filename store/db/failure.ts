/** Explains database errors to the user, and retries transactions that lost a race. */

import pg from 'pg';
import { codeOf, type ErrorCode, firstError, messageOf, TidemarkError } from '../../errors.ts';
import { isLockWait } from './database.ts';

const networkCodes = /^(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE)$/;
/** Wrong password or role, no such database, server starting or stopping, too many connections. */
const connectionStates = new Set(['28P01', '28000', '3D000', '57P01', '57P02', '57P03', '53300']);
/** The server answers, and refuses this user. */
const refusedLogins = new Set(['28P01', '28000']);
const connectionMessages =
  /connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|client has encountered a connection error|^SASL:|does not support SSL/i;
const fullDisk = '53100';
/** The latter refuses a new session, with the code of an internal error. */
const fullDiskMessages = /no space left on device|could not write init file/i;
/** Missing privileges, and a read-only server or session. */
const refusedStates = new Set(['42501', '25006']);
/** Undefined schema or table. */
const missingStates = new Set(['3F000', '42P01']);

/** Returns the error with a code and a remedy where its cause is known, and the error itself otherwise. */
export function explainDatabaseError(error: unknown): unknown {
  if (error instanceof TidemarkError || !(error instanceof Error)) return error;
  const message = errorMessage(error);
  const explained = explanation(error, errorCode(error), message);
  if (explained === null) return error;
  const remedy = loginRemedy(errorCode(error), message);
  return new TidemarkError(explained, message, { cause: error, ...(remedy === null ? {} : { remedy }) });
}

/** What lets the user into the database; null: the table of errors has the remedy. */
function loginRemedy(code: string, message: string): string | null {
  if (refusedLogins.has(code)) return 'check the user and the password in DATABASE_URL';
  return createRemedy(code, message);
}

/** How to make a database that does not exist; null: it is another error. */
export function createRemedy(code: unknown, message: string): string | null {
  const [, name] = code === '3D000' ? (/^database "([\w.-]+)" does not exist$/.exec(message) ?? []) : [];
  return name === undefined ? null : `create it: \`createdb ${name}\``;
}

function explanation(error: Error, code: string, message: string): ErrorCode | null {
  if (code === fullDisk || code === 'ENOSPC' || fullDiskMessages.test(message)) return 'DATABASE_FULL';
  if (isLockWait(error)) return 'DATABASE_LOCKED';
  if (networkCodes.test(code) || connectionStates.has(code) || connectionMessages.test(message))
    return 'DATABASE_UNREACHABLE';
  // PostgreSQL 18 leaves out the directory.
  if (/"(\$libdir\/)?timescaledb-/.test(message)) return 'TIMESCALE_NOT_LOADED';
  if (!(error instanceof pg.DatabaseError)) return null;
  if (refusedStates.has(code)) return 'DATABASE_REFUSED';
  return missingStates.has(code) ? 'DATABASE_NOT_MIGRATED' : null;
}

/** Whether the role lacks the privilege. */
export function isPermissionDenied(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '42501';
}

/** Empty without a code. */
function errorCode(error: Error): string {
  const code = codeOf(firstError(error));
  return typeof code === 'string' ? code : '';
}

function errorMessage(error: Error): string {
  return error.message || messageOf(firstError(error)) || error.name;
}

/** Thrown to roll back a transaction: another one stored some of the same points. */
export class LostRace extends Error {
  constructor() {
    super('points could not be inserted: another transaction stores the same, or a trigger drops them');
  }
}

/**
 * Each attempt sees the points that the one before lost to, so the second one nearly always wins. A trigger
 * that drops rows makes every attempt lose.
 */
const maxAttempts = 20;

/** @throws LostRace when the last attempt loses too. */
export async function retryLostRaces<Result>(attempt: (number: number) => Promise<Result>): Promise<Result> {
  for (let number = 1; ; number++) {
    try {
      return await attempt(number);
    } catch (error) {
      if (!(error instanceof LostRace) || number === maxAttempts) throw error;
    }
  }
}

/**
 * SQLSTATEs of temporary failures: connection (08), read only (25006), login (28), serialization and deadlock (40),
 * resources such as a full disk (53), lock not available (55), cancel and shutdown (57), system (58), and a database
 * that is being restored.
 */
const temporaryStates = /^(?:08|25006|28|40|53|55|57|58|3D000)/;
/**
 * Errors of the operating system, such as ECONNRESET, and of its name resolution. An error of Node begins with ERR_.
 */
const systemErrors = /^(?:E[A-Z]+|EAI_[A-Z]+)$/;
/** Messages of temporary failures from the database, its driver and the Redis client. */
const temporaryMessages =
  /connection terminated|timeout exceeded when trying to connect|connection error|query read timeout|timeout expired|end on the pool|command timed out|max retries per request|connection is closed|stream isn't writeable/i;

/** Whether the store is temporarily unavailable or overloaded, so that the failure is no defect. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = String(codeOf(error) ?? '');
  return (
    (/^[0-9A-Z]{5}$/.test(code) && temporaryStates.test(code)) ||
    systemErrors.test(code) ||
    temporaryMessages.test(error.message) ||
    fullDiskMessages.test(error.message)
  );
}

/** Whether PostgreSQL refused a value, such as a character that the database's encoding lacks. */
export function isBadValue(error: unknown): boolean {
  return error instanceof Error && /^22[0-9A-Z]{3}$/.test(errorCode(error));
}
