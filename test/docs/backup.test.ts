/** Tests the commands of docs/operations.md that back up and restore a database. */

import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { unprivilegedAccount } from '../../embedded/unprivileged.ts';
import { startSimulator } from '../../simulator/start.ts';
import { hypertables } from '../../store/timescale/hypertables.ts';
import { inFile, podsOf } from '../deploy/manifests.ts';
import { databaseAt } from '../faults/database-away.ts';
import { describeMissing } from '../parts/describe-needing.ts';
import { dumpPrograms } from '../parts/dump-programs.ts';
import { keepDirectory } from '../parts/kept-directory.ts';
import { type ClusterPrograms, initCluster } from '../parts/throw-away-cluster.ts';
import { emptyDirectory, tidemark } from '../scripts/command.ts';
import { everyRow } from '../scripts/commands/move-store.ts';
import { blockOf, runBlock } from './shell-blocks.ts';

// Each runs several commands and servers in sequence.
vi.setConfig({ testTimeout: 600_000 });

const page = 'docs/operations.md';
const programs = dumpPrograms();

async function startCluster(of: ClusterPrograms): Promise<string> {
  const cluster = await initCluster(of, keepDirectory(unprivilegedAccount()));
  const server = await cluster.start();
  onTestFinished(() => server.stop());
  return cluster.url;
}

const candles = ['candles', '--exchange', 'binance', '--base', 'bitcoin', '--quote', 'tether'];
const backfill = (to: string) => [
  ...['backfill', ...candles, '--interval', 'm1,h1', '--from', '2024-03-01', '--to', to],
];

async function source(): Promise<Record<string, string>> {
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  return { SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '0' };
}

/** The visible contents of a database, and the objects that keep them up to date. */
async function seenOf(url: string) {
  const { pool } = databaseAt(url);
  const rows = async (sql: string) => (await pool.query(sql)).rows;
  const [extension] = await rows(`select from pg_extension where extname = 'timescaledb'`);
  const gaps = await tidemark(['gaps', '--json'], { DATABASE_URL: url });
  return {
    rows: await everyRow(databaseAt(url)),
    gaps: { exitCode: gaps.exitCode, stdout: gaps.stdout },
    candles: await rows(
      `select exchange, base, quote, interval, time, open::text, high::text, low::text, close::text, volume::text, derived_from
       from candles where interval in ('m1', 'm5', 'h1', 'h4', 'd1') order by interval, time`,
    ),
    coverage: await rows('select * from coverage order by 1, 2, 3, 4, 5'),
    behind: await rows('select * from tidemark.rollups_behind'),
    // Only its owner and the service may call these.
    rights: await rows(
      `select proname, array(select case a.grantee when 0 then 'public' else a.grantee::regrole::text end
                             from aclexplode(proacl) a order by 1) as grantees
       from pg_proc where pronamespace = 'tidemark'::regnamespace and prosecdef order by 1`,
    ),
    timescale: extension && {
      jobs: await rows(
        `select proc_name, hypertable_name, schedule_interval::text, scheduled, config - 'hypertable_id' as config
         from timescaledb_information.jobs where hypertable_schema in ('tidemark', '_timescaledb_internal') order by 1, 2, 5`,
      ),
      chunks: await rows(
        `select hypertable_name, is_compressed, count(*)::int from timescaledb_information.chunks
         where hypertable_schema = 'tidemark' group by 1, 2 order by 1, 2`,
      ),
    },
  };
}

/** Backs `old` up and restores it to `restored`, a new database. */
async function backUpAndRestore(folder: string, from: string, to: string, kind: 'TimescaleDB' | 'PostgreSQL') {
  const cwd = emptyDirectory();
  const where = { folder, cwd, env: { DATABASE_URL: from, NEW_DATABASE_URL: to } };
  if (kind === 'TimescaleDB') await backUpOnKubernetes(folder, from, cwd);
  for (const title of [...(kind === 'PostgreSQL' ? ['A backup'] : []), 'Once for a server', `Restored, ${kind}`]) {
    const ended = await runBlock(blockOf(page, title), where);
    expect(ended, ended.printed).toMatchObject({ exitCode: 0 });
    expect(ended.printed).not.toMatch(/error/i);
  }
}

/** Runs the script of the CronJob, as the role that docs/kubernetes.md creates. */
async function backUpOnKubernetes(folder: string, from: string, cwd: string): Promise<void> {
  const [, create = ''] =
    /^(create role tidemark_backup [^;]*);$/m.exec(readFileSync('docs/kubernetes.md', 'utf8')) ?? [];
  await databaseAt(from).pool.query(create.replace(/'.*'/, "'secret'"));
  const password = join(cwd, 'password');
  writeFileSync(password, 'secret\n');
  const [script = ''] = podsOf(inFile('deploy/kubernetes/backup/backup.yaml'))[0]?.container.args ?? [];
  const here = script.replace('/secrets/backup/password', password).replace('cd /backups', '');
  const url = new URL(from);
  Object.assign(url, { username: 'tidemark_backup', password: '' });
  for (let day = 10; day < 19; day++) writeFileSync(join(cwd, `tidemark-2024-03-${day}T03-17.dump`), '');
  const ended = await runBlock(here, { folder, cwd, env: { DATABASE_URL: url.href } });
  expect(ended, ended.printed).toMatchObject({ exitCode: 0 });
  const kept = readdirSync(cwd).filter((name) => name.endsWith('.dump'));
  expect(kept.sort()).toHaveLength(7);
  expect(kept[0]).toBe('tidemark-2024-03-13T03-17.dump');
  renameSync(join(cwd, kept.at(-1) ?? ''), join(cwd, 'tidemark.dump'));
}

it('the backup command locks every table with compressed chunks', () => {
  const [, listed = ''] = /lock table ([^;]+) in access share mode/.exec(blockOf(page, 'A backup')) ?? [];
  const named = listed.split(',').map((name) => name.trim());
  const compressed = hypertables.filter(({ segmentBy }) => segmentBy !== null);
  expect(named.sort()).toEqual(compressed.map(({ name }) => `tidemark.${name}`).sort());
});

function suite({ folder, timescale, plain }: Exclude<typeof programs, string>): void {
  it.each(['TimescaleDB', 'PostgreSQL'] as const)(
    'restores %s to another server with the same rows, views and policies, and ingestion resumes',
    async (kind) => {
      const env = await source();
      const clusters = kind === 'TimescaleDB' ? timescale : plain;
      const [old, restored] = await Promise.all([startCluster(clusters), startCluster(clusters)]);
      const password = join(emptyDirectory(), 'password');
      writeFileSync(password, 'secret');
      const migrate = [
        'migrate',
        ...['worker', 'service', 'viewer'].map((kind) => `--${kind}-password-file=${password}`),
      ];
      expect(await tidemark(migrate, { DATABASE_URL: old })).toMatchObject({ exitCode: 0 });
      expect(await tidemark(backfill('2024-03-03'), { ...env, DATABASE_URL: old })).toMatchObject({ exitCode: 0 });
      if (kind === 'TimescaleDB') {
        const { pool } = databaseAt(old);
        const jobs = await pool.query(
          `select job_id from timescaledb_information.jobs where proc_name = 'policy_compression'`,
        );
        for (const { job_id } of jobs.rows) await pool.query(`call run_job(${job_id})`);
      }
      const target = new URL(restored);
      target.pathname = '/tidemark';
      await databaseAt(restored).pool.query('create database tidemark template template0');
      // The path of the file is a directory.
      const cwd = emptyDirectory();
      mkdirSync(join(cwd, 'tidemark.dump'));
      const failed = await runBlock(blockOf(page, 'A backup'), { folder, cwd, env: { DATABASE_URL: old } });
      expect(failed.exitCode).not.toBe(0);
      await backUpAndRestore(folder, old, target.href, kind);
      const [before, after] = [await seenOf(old), await seenOf(target.href)];
      expect(after).toEqual(before);
      expect(before.candles.length).toBeGreaterThan(2 * 1400);
      if (kind === 'TimescaleDB') {
        expect(before.timescale?.chunks).toContainEqual(
          expect.objectContaining({ hypertable_name: 'candle_points', is_compressed: true }),
        );
        expect(before.timescale?.jobs.length).toBeGreaterThanOrEqual(9);
      }
      expect(await tidemark(migrate, { DATABASE_URL: target.href })).toMatchObject({ exitCode: 0 });
      // Each part has its rights and its password there.
      const asWorker = new URL(target);
      Object.assign(asWorker, { username: 'tidemark_worker', password: 'secret' });
      const there = { ...env, DATABASE_URL: asWorker.href };
      expect(await tidemark(['verify', '--all'], there)).toMatchObject({ exitCode: 0 });
      expect(await tidemark(backfill('2024-03-05'), there)).toMatchObject({ exitCode: 0 });
      const days = await databaseAt(target.href).pool.query(
        `select count(*)::int as days, bool_and(points > 1400) as whole from candles where interval = 'd1'`,
      );
      expect(days.rows).toEqual([{ days: 4, whole: true }]);
    },
  );
}

if (typeof programs === 'string') {
  describeMissing('a backup and its restoration', `needs pg_dump, pg_restore and psql: ${programs}`, () => {
    it('needs the programs of PostgreSQL', () => {});
  });
} else describe('a backup and its restoration', () => suite(programs));
