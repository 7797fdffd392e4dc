/** What a failed query or connection means to the user. */

import pg from 'pg';
import { TidemarkError } from '../errors.ts';

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EPIPE',
]);
/** Wrong password or role, no such database, server starting or stopping, too many connections. */
const connectionStates = new Set(['28P01', '28000', '3D000', '57P01', '57P02', '57P03', '53300']);
const fullDisk = '53100';
/** Missing rights, and a server or session that only reads. */
const refusedStates = new Set(['42501', '25006']);
/** Undefined schema or table. */
const missingStates = new Set(['3F000', '42P01']);

/** The error as one with a code and a remedy where it has a known cause; itself otherwise. */
export function explainDatabaseError(error: unknown): unknown {
  if (error instanceof TidemarkError || !(error instanceof Error)) return error;
  const code = codeOf(error);
  const message = messageOf(error);
  if (code === fullDisk || code === 'ENOSPC' || /no space left on device/i.test(message)) {
    return new TidemarkError('DATABASE_FULL', message, { cause: error });
  }
  if (
    (code !== undefined && (networkCodes.has(code) || connectionStates.has(code))) ||
    /connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|^SASL:|does not support SSL/i.test(
      message,
    )
  ) {
    return new TidemarkError('DATABASE_UNREACHABLE', message, { cause: error });
  }
  if (/\$libdir\/timescaledb/.test(message)) {
    return new TidemarkError('TIMESCALE_NOT_LOADED', message, { cause: error });
  }
  if (error instanceof pg.DatabaseError && code !== undefined && refusedStates.has(code)) {
    return new TidemarkError('DATABASE_REFUSED', message, { cause: error });
  }
  if (error instanceof pg.DatabaseError && code !== undefined && missingStates.has(code)) {
    return new TidemarkError('DATABASE_NOT_MIGRATED', message, { cause: error });
  }
  return error;
}

/** Whether the role may not do what was asked. */
export function isRightMissing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '42501';
}

function codeOf(error: Error): string | undefined {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return codeOf(error.errors[0]);
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** An AggregateError (several addresses tried) has an empty message of its own. */
function messageOf(error: Error): string {
  if (error.message !== '') return error.message;
  return error instanceof AggregateError && error.errors[0] instanceof Error
    ? error.errors[0].message
    : error.name;
}
