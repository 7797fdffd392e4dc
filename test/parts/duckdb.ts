/** DuckDB, as users read files with it. */

import { describe } from 'vitest';
import { describeMissing } from './describe-needing.ts';

const duckdb = await import('@duckdb/node-api').catch((error: unknown) => String(error));

/** Asks a database of its own, in memory. */
export async function askDuckdb(sql: string): Promise<Record<string, unknown>[]> {
  if (typeof duckdb === 'string') throw new Error(duckdb);
  const instance = await duckdb.DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run("set timezone = 'UTC'");
    const reader = await connection.runAndReadAll(sql);
    return reader.getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

export const describeNeedingDuckdb =
  typeof duckdb === 'string'
    ? (title: string, body: () => void) =>
        describeMissing(title, `DuckDB has no package for this platform: ${duckdb}`, body)
    : describe;
