/** DuckDB with the same values: what it writes and reads, and what it finds in the files of others. */

import { statSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Taken } from './process.ts';

const values = ['open', 'high', 'low', 'close', 'volume'] as const;
/** As the values of a lake. Times without a zone: DuckDB reads those of text with one many times as slowly. */
const decimal = 'decimal(38, 20)';
const types = `{'time': 'timestamp', ${values.map((name) => `'${name}': '${decimal}'`).join(', ')}}`;

export type Duckdb = Awaited<ReturnType<typeof openDuckdb>>;

/** @param copied a file of `copy (select time, open, high, low, close, volume ...) to ... (format csv)`. */
export async function openDuckdb(copied: string, market: Readonly<Record<string, string>>) {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const names = Object.entries(market).map(([name, value]) => `'${value}' as ${name}`);
  await connection.run(`set timezone = 'UTC'`);
  await connection.run(
    `create table points as select ${names.join(', ')}, *
     from read_csv('${copied}', header = false, columns = ${types})`,
  );
  const expected = await summarize(connection, 'points');
  return {
    write: (path: string) => timed(connection, `copy points to '${path}' (${optionsOf(path)})`),
    async read(path: string) {
      await connection.run('drop table if exists again');
      return timed(connection, `create table again as select * from ${reading(path)}`);
    },
    /** @throws Error when the points of the files are others. @param path may be a pattern. */
    async check(path: string) {
      const found = await summarize(connection, reading(path));
      if (found !== expected) throw new Error(`${path} has other points: ${found} instead of ${expected}`);
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

const optionsOf = (path: string) =>
  path.endsWith('.parquet') ? 'format parquet, compression zstd' : 'format csv, header';
function reading(path: string): string {
  if (path.endsWith('.parquet')) return `read_parquet('${path}')`;
  return path.endsWith('.csv') ? `read_csv('${path}', types = ${types})` : `read_json('${path}', columns = ${types})`;
}

async function timed(connection: DuckDBConnection, sql: string): Promise<Taken> {
  const [before, started] = [process.cpuUsage(), performance.now()];
  await connection.run(sql);
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - started, processorMs: (user + system) / 1000, peakMb: null };
}

/** The number of the points, and sums over all of their digits and times. */
async function summarize(connection: DuckDBConnection, table: string): Promise<string> {
  const columns = values.map((name) => `sum(${name}::${decimal})`).join(', ');
  const times = 'sum(epoch_ms(time)::hugeint)';
  const mixed = values.map((name) => `bit_xor(hash(epoch_ms(time), ${name}::${decimal}))`).join(', ');
  const found = await connection.runAndReadAll(`select count(*), ${times}, ${columns}, ${mixed} from ${table}`);
  return found.getRowsJson().map(String).join();
}

export const bytesOf = (path: string): number => statSync(path).size;
