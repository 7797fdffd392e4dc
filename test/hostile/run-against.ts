/** Runs `tidemark backfill` against a hostile source, in a database of its own, and compares the results. */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Range } from '../../model/ranges.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { market } from '../scripts/command.ts';
import type { Ended } from '../scripts/ended.ts';
import { runInProcess } from '../scripts/in-process.ts';
import { truthOf } from './hostile-source.ts';

export interface Outcome {
  readonly exitCode: number | null;
  /** The final output, for the message of a failing test. */
  readonly said: string;
  /** Covered periods that have a point at the source, but neither a stored point nor a quarantined row. */
  readonly silent: number;
  /** Stored points that the source never sent. */
  readonly wrong: number;
  /** Periods of the source that are not stored. */
  readonly missing: number;
  readonly rejected: number;
}

/** @param redisUrl null: the queue is on PostgreSQL. */
export async function prepareRun(sourceUrl: string, range: Range, redisUrl: string | null) {
  const database = await createMigratedDatabase();
  // Tests that run at once have no hook of their own after an `await`.
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  const list = join(directory, 'tidemark.yaml');
  writeFileSync(list, 'sources: { default: { ranges: { candles: { m1: 144m } } } }\n');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    DATABASE_URL: database.url,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    // The template of the databases has the queue of the default namespace.
    ...(redisUrl === null ? {} : { QUEUE_NAMESPACE: `hostile_${randomBytes(4).toString('hex')}` }),
    SOURCE_URL: sourceUrl,
    SOURCE_REQUESTS_PER_MINUTE: '0',
    SOURCE_TIMEOUT_SECONDS: '5',
    SOURCE_MAX_BODY_MB: '1',
    WATCH_LIST: list,
    WORKER_CONCURRENCY: '4',
    EMPTY_CONFIRM_SECONDS: '1',
    FAILED_RETRY_SECONDS: '2',
  };
  const words = ['candles', ...market, '--interval', 'm1'];
  const from = new Date(range.startMs).toISOString();
  const to = new Date(range.endMs).toISOString();
  return {
    /** Another `backfill` of the same range. */
    async backfill(...more: string[]): Promise<Outcome> {
      const ended = await runInProcess(['backfill', ...words, '--from', from, '--to', to, ...more], env);
      return { ...saidBy(ended), ...(await compare(database.url, range)) };
    },
    async close(): Promise<void> {
      rmSync(directory, { recursive: true, force: true });
      await database.drop();
    },
  };
}

function saidBy({ exitCode, stdout, stderr }: Ended): Pick<Outcome, 'exitCode' | 'said'> {
  return { exitCode, said: `${stdout}\n${stderr}`.trim().split('\n').slice(-4).join('\n') };
}

async function compare(url: string, range: Range): Promise<Omit<Outcome, 'exitCode' | 'said'>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const points = await client.query<{ period: string; values: string }>(
      `select (extract(epoch from time) * 1000)::bigint::text as period, concat_ws('|', open, high, low, close, volume) as values
       from candles where derived_from is null`,
    );
    const truth = truthOf(range);
    const given = new Map(
      truth.map(({ period, open, high, low, close, volume }) => [
        String(period),
        [open, high, low, close, volume].join('|'),
      ]),
    );
    const stored = new Map(points.rows.map(({ period, values }) => [period, values]));
    const missing = [...given.keys()].filter((period) => !stored.has(period));
    // A rejected row belongs to the period that it names, or the one that contains its time.
    const silent = await client.query(
      `select from unnest($1::bigint[]) missing(ms)
       join tidemark.series on covered @> to_timestamp(ms / 1000)
       where not exists (
         select from tidemark.quarantine
         where substring(raw from '"period": *(\\d+)')::bigint / 60000 = ms / 60000
       )`,
      [missing],
    );
    const rejected = await client.query('select from tidemark.quarantine');
    return {
      silent: silent.rowCount ?? 0,
      wrong: [...stored].filter(([period, values]) => given.get(period) !== values).length,
      missing: missing.length,
      rejected: rejected.rowCount ?? 0,
    };
  } finally {
    await client.end();
  }
}
