/**
 * An hour with all faults at once: two worker processes and a scheduler, a source that changes its misbehaviour every
 * twenty seconds, kills, locks, restarts of database and queue, and failing background jobs. Then the source answers
 * correctly, and everything must be complete.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../contract/intervals.ts';
import type { Range } from '../../planning/ranges.ts';
import { seededTest } from '../faults/seeded.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { ownCluster } from '../parts/own-cluster.ts';
import { ownRedis } from '../parts/own-redis.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory, program } from '../scripts/command.ts';
import { startHostileSource } from './hostile-source.ts';
import { misbehaviours } from './misbehaviours.ts';
import { compare } from './run-against.ts';

const takesMs = Number(process.env.TEST_SOAK_MINUTES || 60) * minuteMs;
/** Enough for every deferred window to be due again once the source answers correctly. */
const settlesMs = 20 * minuteMs;
const changesEveryMs = 20_000;
const looksBetweenComparisons = 15;

/** Without rejected rows, which are reported and not stored. */
const kinds = Object.entries(misbehaviours)
  .filter(([, { rejects }]) => rejects !== true)
  .map(([name]) => name);

/** A process that restarts whenever it ends, as under a supervisor. */
function supervise(words: readonly string[], env: Readonly<Record<string, string>>) {
  let stopping = false;
  let child: ChildProcess;
  const cwd = emptyDirectory();
  const start = () => {
    child = spawn(process.execPath, [program, ...words], {
      cwd,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    child.on('exit', () => {
      if (!stopping) setTimeout(start, 500);
    });
  };
  start();
  return {
    kill: () => void child.kill('SIGKILL'),
    async stop() {
      stopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

describeNeeding('redis', 'an hour of everything at once', () => {
  seededTest(
    'never loses data silently, and stores nothing wrong',
    async (chance, context) => {
      const cluster = await ownCluster(context, { 'timescaledb.max_background_workers': 8 });
      const redis = await ownRedis(context);
      const source = await startHostileSource();
      onTestFinished(() => source.close());
      const env = {
        DATABASE_URL: cluster.url,
        REDIS_URL: redis.url,
        SOURCE_URL: source.url('changing'),
        SOURCE_REQUESTS_PER_MINUTE: '240',
        SOURCE_TIMEOUT_SECONDS: '5',
        SOURCE_MAX_BODY_MB: '1',
        SOURCE_CANDLE_DAYS: 'm1=0.1',
        WORKER_CONCURRENCY: '4',
        // The source is empty for a period once.
        EMPTY_CONFIRM_SECONDS: '90',
        FAILED_RETRY_SECONDS: '20',
        GRACE_SECONDS: '0',
        RATES_SECONDS: '0',
        DATABASE_STATEMENT_TIMEOUT_SECONDS: '10',
        WATCH_LIST: 'none.yaml',
        LOG_LEVEL: 'warn',
      };
      const run = (...words: string[]) => {
        const child = spawn(process.execPath, [program, ...words], {
          env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
          stdio: 'ignore',
        });
        return once(child, 'exit').then(([code]) => code as number | null);
      };
      expect(await run('migrate')).toBe(0);

      // At ten windows a day, more than an hour's work.
      const endMs = Math.floor(Date.now() / dayMs) * dayMs - 10 * dayMs;
      const range: Range = { startMs: endMs - Math.ceil((takesMs / hourMs) * 600) * dayMs, endMs };
      const market = ['--exchange', 'binance', '--base', 'bitcoin', '--quote', 'tether', '--interval', 'm1'];
      const days = ['--from', new Date(range.startMs).toISOString(), '--to', new Date(endMs).toISOString()];
      expect(await run('track', 'candles', ...market, ...days)).toBe(0);
      const parts = [supervise(['scheduler'], env), supervise(['worker'], env), supervise(['worker'], env)];
      onTestFinished(async () => {
        await Promise.all(parts.map((part) => part.stop()));
      });

      const untilMs = Date.now() + takesMs;
      const counts: Record<string, number> = {};
      let looks = 0;
      while (Date.now() < untilMs) {
        const kind = chance.happens(0.3) ? null : chance.oneOf(kinds);
        source.behave('changing', kind);
        const [name, strike] = chance.oneOf<[string, () => Promise<void>]>([
          ['nothing', async () => {}],
          ['kill', async () => chance.oneOf(parts).kill()],
          ['lock', () => lockPoints(cluster.url, chance.whole(2, 25) * 1000)],
          ['job', () => runJobs(cluster.url)],
          ['sessions', () => endSessions(cluster.url)],
          ['flush', () => redis.flush()],
          [
            'redis',
            async () => {
              await redis.stop();
              await redis.start();
            },
          ],
          [
            'crash',
            async () => {
              await cluster.crash();
              await cluster.start();
            },
          ],
        ]);
        counts[name] = (counts[name] ?? 0) + 1;
        await Promise.all([strike(), delay(changesEveryMs)]);
        looks += 1;
        if (looks % looksBetweenComparisons !== 0) continue;
        const found = await compare(cluster.url, range);
        console.log(new Date().toISOString(), JSON.stringify(found), JSON.stringify(counts));
        expect(found).toMatchObject({ silent: 0, wrong: 0 });
      }

      source.behave('changing', null);
      await waitFor('every deferred window to be stored', () => isSettled(cluster.url), {
        everyMs: 5000,
        withinMs: settlesMs,
      });
      await Promise.all(parts.map((part) => part.stop()));
      expect(await compare(cluster.url, range)).toMatchObject({ silent: 0, wrong: 0 });
    },
    takesMs + settlesMs + 10 * minuteMs,
  );
});

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

const lockPoints = (url: string, forMs: number) =>
  withClient(url, async (client) => {
    await client.query('begin; lock table tidemark.candle_points in access exclusive mode');
    await delay(forMs);
    await client.query('rollback');
  });

/** Starts every background job at once and ignores failures: the scheduler does the remaining work. */
const runJobs = (url: string) =>
  withClient(url, async (client) => {
    const extension = await client.query(`select from pg_extension where extname = 'timescaledb'`);
    if (extension.rowCount === 0) return;
    await client.query('select alter_job(job_id, next_start => now()) from timescaledb_information.jobs');
  });

const endSessions = (url: string) =>
  withClient(url, async (client) => {
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where pid <> pg_backend_pid() and backend_type = 'client backend' and random() < 0.7`,
    );
  });

/** Whether no window waits for another attempt or a second answer. */
const isSettled = (url: string) =>
  withClient(url, async (client) => {
    const pending = await client.query('select from tidemark.pending_windows');
    return pending.rowCount === 0;
  }).catch(() => false);
