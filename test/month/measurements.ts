/** What is measured in the month, and the table of it. */

import { Redis } from 'ioredis';
import type { EpochMs } from '../../model/intervals.ts';
import type { Database } from '../../store/db/database.ts';
import type { Program } from './programs.ts';
import type { Readers } from './readers.ts';

export type Sample = Awaited<ReturnType<typeof measured>>;

export async function measured(month: {
  readonly database: Database;
  readonly redis: { readonly url: string };
  readonly running: readonly Program[];
  readonly readers: Readers;
  readonly nowMs: EpochMs;
}) {
  const { database, redis, running, readers, nowMs } = month;
  const { rows } = await database.pool.query<Record<string, number>>(`
    select (select count(*) from pg_stat_activity where application_name like 'tidemark %') as sessions,
           (select count(*) from tidemark.fetches) as "ledgerRows",
           (select sum(pg_total_relation_size(inhrelid)) from pg_inherits
             where inhparent = 'tidemark.fetches'::regclass) as "ledgerBytes",
           pg_database_size(current_database()) as "databaseBytes",
           (select sum(points) from tidemark.series) as points,
           (select sum(size) from pg_ls_waldir()) as "walBytes"`);
  const of = (name: string) => Number(rows[0]?.[name]);
  return {
    nowMs,
    programs: running.flatMap((program) => {
      const size = program.size();
      return size === null ? [] : [{ name: program.name, ...size }];
    }),
    sessions: of('sessions'),
    ledgerRows: of('ledgerRows'),
    ledgerBytes: of('ledgerBytes'),
    databaseBytes: of('databaseBytes'),
    points: of('points'),
    walBytes: of('walBytes'),
    ...(await redisSize(redis.url)),
    answers: { ...readers.answers },
    events: readers.events,
  };
}

async function redisSize(url: string) {
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  client.on('error', () => {});
  try {
    const memory = /used_memory:(\d+)/.exec(await client.info('memory'))?.[1];
    return { redisBytes: Number(memory), redisKeys: await client.dbsize() };
  } finally {
    client.disconnect();
  }
}

const mb = (bytes: number) => bytes / 2 ** 20;
const columns: Readonly<Record<string, (sample: Sample) => number>> = {
  sessions: (sample) => sample.sessions,
  'ledger, rows': (sample) => sample.ledgerRows,
  'ledger, MB': (sample) => mb(sample.ledgerBytes),
  'points, M': (sample) => sample.points / 1e6,
  'database, MB': (sample) => mb(sample.databaseBytes),
  'bytes a point': (sample) => sample.databaseBytes / sample.points,
  'WAL, MB': (sample) => mb(sample.walBytes),
  'Redis, MB': (sample) => mb(sample.redisBytes),
  'Redis, keys': (sample) => sample.redisKeys,
};

/** The medians of each tenth of the month, which is three days. */
export function tenths(samples: readonly Sample[], startMs: EpochMs, lengthMs: number): Record<string, number>[] {
  return Array.from({ length: 10 }, (_, tenth) => {
    const within = samples.filter(({ nowMs }) => Math.floor((10 * (nowMs - startMs)) / lengthMs) === tenth);
    const names = [...new Set(within.flatMap(({ programs }) => programs.map(({ name }) => name)))];
    const ofProgram = (name: string, part: 'rssMb' | 'files') =>
      median(within.flatMap(({ programs }) => programs.find((program) => program.name === name)?.[part] ?? []));
    return Object.fromEntries([
      ...names.map((name) => [`${name}, MB`, ofProgram(name, 'rssMb')]),
      ...names.map((name) => [`${name}, files`, ofProgram(name, 'files')]),
      ...Object.entries(columns).map(([name, read]) => [name, median(within.map(read))]),
    ]);
  });
}

const median = (values: readonly number[]) =>
  [...values].sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN;

/** @param days of the whole. */
export function table(rows: readonly Readonly<Record<string, number>>[], days: number): string {
  const names = Object.keys(rows.at(-1) ?? {});
  const wide = Math.max(...names.map((name) => name.length));
  const figure = (value = Number.NaN) => (Number.isNaN(value) ? '' : value.toFixed(value < 20 ? 1 : 0)).padStart(9);
  const day = (tenth: number) => (tenth * days) / 10;
  const heads = rows.map((_, tenth) => `${+day(tenth).toFixed(1)}-${+day(tenth + 1).toFixed(1)}`.padStart(9));
  return [
    `${'days'.padEnd(wide)}${heads.join('')}`,
    ...names.map((name) => name.padEnd(wide) + rows.map((row) => figure(row[name])).join('')),
  ].join('\n');
}
