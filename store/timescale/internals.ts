/**
 * The only thing that is read of TimescaleDB beyond its documented views and functions. Read in the sources of 2.28.3, 2.29.2
 * and 2.30-dev; check it with a newer release. Catalog tables are not read: 2.29 changed them.
 */

import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import { timescaleVersion } from './extension.ts';

const writtenFor = '2.28 to 2.30';

/** Words for the state of a chunk, as SQL of `text[]`: any of COMPRESSED, UNORDERED, FROZEN and PARTIAL. */
export function chunkStates(chunk: string): string {
  return `_timescaledb_functions.chunk_status_text(${chunk})`;
}

/** Undefined table, column or function. */
const undefinedCodes = ['42P01', '42703', '42883'];

/**
 * Runs a query of internals.
 *
 * @throws TidemarkError TIMESCALE_UNKNOWN where this release of TimescaleDB has none of that name.
 */
export async function queryInternals<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>(text, values)).rows;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!undefinedCodes.includes(code)) throw error;
    const message = `TimescaleDB ${await timescaleVersion(pool)} differs from ${writtenFor}, which this version of Tidemark knows`;
    throw new TidemarkError('TIMESCALE_UNKNOWN', message, { cause: error });
  }
}
