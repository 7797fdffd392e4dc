/**
 * A month within an hour: the clock of every process is 720 times as fast, and everything else is real. The programs are
 * those that users run, on two hosts, with what a month brings: an upgrade, a failover of the database, a Redis that is
 * lost, a cable that is pulled, a source that is away.
 *
 *   TEST_MONTH_MINUTES   how long it takes, 60 by default: fewer try the test itself
 *   TEST_MONTH_FROM      directory of an earlier version, built, from which the month upgrades; default: this one
 *   TEST_MONTH_DIR       directory of the logs and of measurements.jsonl
 */

import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { subtract } from '../../model/ranges.ts';
import { seriesName } from '../../model/series.ts';
import { closedUpTo } from '../../planning/periods.ts';
import { openDatabase } from '../../store/db/database.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { freePort } from '../parts/free-port.ts';
import { networkHost } from '../parts/network-host.ts';
import { ownReplica } from '../parts/own-cluster.ts';
import { ownRedis } from '../parts/own-redis.ts';
import { waitFor } from '../parts/wait-for.ts';
import { clockOf } from '../pipeline/process-clock.ts';
import { graceMs, simulate } from '../pipeline/run-pipeline.ts';
import { coverageOf, storedPoints } from '../pipeline/stored.ts';
import { addressOf } from './address.ts';
import { measured, table, tenths } from './measurements.ts';
import { type Program, programsIn } from './programs.ts';
import { startReaders } from './readers.ts';
import { watchListFrom } from './watch-list.ts';

const minutes = Number(process.env.TEST_MONTH_MINUTES ?? 60);
const takesMs = minutes * minuteMs;
const speed = 720;
const requestsPerMinute = 2000;
const thisVersion = resolve('.');
const earlierVersion = process.env.TEST_MONTH_FROM ?? thisVersion;

async function promote(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('select pg_promote()');
  await client.end();
}

/** More than chance, and less than a month of any leak that a year would show. */
const limits = [
  { of: /^(?:worker|scheduler|service).*, MB$/, factor: 1.25, beyond: 20 },
  { of: /, files$/, factor: 1, beyond: 15 },
  { of: /^sessions$/, factor: 1, beyond: 10 },
  { of: /^ledger, /, factor: 1.5, beyond: 5 },
  { of: /^bytes a point$/, factor: 1.25, beyond: 0 },
  { of: /^Redis, /, factor: 1.5, beyond: 50 },
];

it(
  'ends with every point, and with as much memory, files, sessions and ledger as in its first half',
  async (context) => {
    const directory = process.env.TEST_MONTH_DIR ?? join(tmpdir(), `tidemark-month-${process.pid}`);
    mkdirSync(directory, { recursive: true });
    const say = (text: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

    // It ends before today: PostgreSQL's clock is the real one, and calls nothing of it the future.
    const nowMs = Math.floor(Date.now() / dayMs) * dayMs - 45 * dayMs;
    const told = { nowMs, startedAtMs: Date.now(), speed };
    const now = clockOf(told);
    const startedMs = told.startedAtMs;
    const at = (share: number) => startedMs + share * takesMs;
    const until = async (share: number) => delay(Math.max(0, at(share) - Date.now()));

    const [near, far] = [networkHost(context), networkHost(context)];
    const programs = programsIn(directory, told, {
      LEDGER_DAYS: '3',
      COLUMNSTORE_AFTER_DAYS: '7',
      LOG_LEVEL: 'info',
      SOURCE_REQUESTS_PER_MINUTE: String(requestsPerMinute),
    });
    const migrate = (version: string, url: string) =>
      programs.run(version, ['migrate'], { env: { DATABASE_URL: url } });
    const settings = { fsync: 'on', full_page_writes: 'on', wal_keep_size: '4GB', max_wal_size: '1GB' };
    const databases = await ownReplica(context, (url) => migrate(earlierVersion, url), settings);
    const address = await addressOf(databases.primary);
    const redis = await ownRedis(context);
    const port = await freePort();
    const simulating = [
      'simulate',
      '--seed',
      'month',
      '--per-minute',
      '0',
      '--latency-ms',
      '20',
      '--port',
      String(port),
    ];
    const faults = ['error', 'truncate', 'html', 'reset'].flatMap((name) => [`--${name}-rate`, '0.004']);
    const quiet = [...faults, '--timeout-rate', '0.0005', '--rate-limit-rate', '0.00005', '--rate-limit-burst', '1'];
    const startSource = () => programs.start('source', thisVersion, [...simulating, ...quiet]);
    let source = startSource();
    await source.waitForPrinted(/serving/);
    const truth = (await simulate({ nowMs }, { seed: 'month' })).truth;

    const watchList = join(directory, 'tidemark.yaml');
    writeFileSync(watchList, watchListFrom(nowMs, minutes / 60));
    const servers = { DATABASE_URL: address.url, REDIS_URL: redis.url, SOURCE_URL: `http://127.0.0.1:${port}/v2` };
    const served = await freePort();
    const serving = { SERVE_PORT: String(served), SERVE_PER_MINUTE: '0', DASHBOARD: 'on', METRICS_PORT: '0' };
    const reachOn = async (host: typeof near) => ({
      DATABASE_URL: await host.reach(servers.DATABASE_URL),
      REDIS_URL: await host.reach(servers.REDIS_URL),
      SOURCE_URL: (await host.reach(servers.SOURCE_URL)).replace(/\/$/, ''),
      WATCH_LIST: watchList,
      METRICS_PORT: '0',
    });
    const [nearServers, farServers] = [await reachOn(near), await reachOn(far)];
    let running: Program[] = [];
    async function startAll(version: string): Promise<void> {
      const onNear = { env: nearServers, prefix: near.prefix };
      const onFar = { env: farServers, prefix: far.prefix };
      running = [
        programs.start('scheduler 1', version, ['scheduler'], onNear),
        programs.start('worker 1', version, ['worker'], onNear),
        programs.start('scheduler 2', version, ['scheduler'], onFar),
        programs.start('worker 2', version, ['worker'], onFar),
        programs.start('service', version, ['serve'], { env: { ...servers, ...serving } }),
      ];
      await running.at(-1)?.waitForPrinted(/serving|listening/i);
    }
    async function stopAll(): Promise<void> {
      const codes = await Promise.all(running.map((program) => program.stop()));
      expect(codes).toEqual(running.map(() => 0));
    }
    await startAll(earlierVersion);

    const database = openDatabase({
      url: address.url,
      applicationName: 'the month',
      maxConnections: 2,
      statementTimeoutMs: 120_000,
      onIdleError: () => {},
    });
    onTestFinished(() => database.close());
    const readers = startReaders(`http://127.0.0.1:${served}`);
    onTestFinished(() => readers.stop());

    const samples: Awaited<ReturnType<typeof measured>>[] = [];
    let isOver = false;
    const measuring = (async () => {
      const everyMs = takesMs / 60;
      for (let place = 1; !isOver; place += 1) {
        await delay(Math.max(0, startedMs + place * everyMs - Date.now()));
        const sample = await measured({ database, redis, running, readers, nowMs: now() }).catch((error: Error) => {
          say(`not measured: ${error.message}`);
          return null;
        });
        if (sample === null) continue;
        samples.push(sample);
        appendFileSync(join(directory, 'measurements.jsonl'), `${JSON.stringify(sample)}\n`);
      }
    })();

    const events: { readonly share: number; readonly what: string; happen(): Promise<unknown> }[] = [
      { share: 0.2, what: 'Redis is lost', happen: loseRedis },
      {
        share: 0.3,
        what: `an upgrade from ${earlierVersion === thisVersion ? 'this version' : 'an earlier one'}`,
        happen: upgrade,
      },
      { share: 0.5, what: 'the database fails over to its replica', happen: failOver },
      { share: 0.65, what: 'Redis is lost again', happen: loseRedis },
      {
        share: 0.75,
        what: 'a host is cut off',
        happen: () =>
          away(
            () => far.cut(),
            () => far.mend(),
          ),
      },
      { share: 0.85, what: 'the source is away', happen: () => away(() => source.stop('SIGKILL'), restartSource) },
    ];
    async function loseRedis(): Promise<void> {
      await redis.stop();
      await delay(takesMs / 360);
      await redis.start();
    }
    async function upgrade(): Promise<void> {
      await stopAll();
      await migrate(thisVersion, address.url);
      await startAll(thisVersion);
    }
    async function failOver(): Promise<void> {
      await databases.crashPrimary();
      await delay(takesMs / 360);
      await promote(databases.replica);
      address.moveTo(databases.replica);
    }
    async function away(begin: () => unknown, end: () => unknown): Promise<void> {
      await begin();
      await delay(takesMs / 60);
      await end();
    }
    async function restartSource(): Promise<void> {
      source = startSource();
      await source.waitForPrinted(/serving/);
    }

    for (const { share, what, happen } of events) {
      await until(share);
      say(`${what}, on day ${((now() - nowMs) / dayMs).toFixed(1)}`);
      await happen();
    }
    await until(1);
    const endMs = now();
    say('the month is over');
    let left = Number.POSITIVE_INFINITY;
    await waitFor(
      'every gap of the month to be filled',
      async () => {
        const gaps = await listGaps(database, { nowMs: now(), graceMs }).catch(() => null);
        if (gaps === null) return false;
        left = gaps.filter((gap) => gap.startMs < endMs).length;
        return left === 0;
      },
      { everyMs: 5000, withinMs: Math.max(takesMs / 2, 300_000) },
    ).catch((error: Error) => {
      throw new Error(`${error.message}; ${left} gaps are left`);
    });
    isOver = true;
    await measuring;
    await readers.stop();
    await stopAll();
    const asOfMs = now();
    say(`all is filled ${((Date.now() - at(1)) / 1000).toFixed(0)} s later; comparing`);

    const tracked = await seriesStatus(database, { nowMs: endMs, graceMs });
    expect(tracked.length).toBeGreaterThan(400);
    let points = 0;
    for (const { seriesId, series, tracked: range } of tracked) {
      const toMs = Math.min(range.endMs ?? Number.POSITIVE_INFINITY, closedUpTo(series, endMs, graceMs));
      const wanted = { startMs: range.startMs, endMs: toMs };
      const isWanted = (row: object) => {
        const timeMs = 'period' in row ? Number(row.period) : 'time' in row ? Number(row.time) : 0;
        return wanted.startMs <= timeMs && timeMs < wanted.endMs;
      };
      const stored = (await storedPoints(database, series)).filter(isWanted);
      const expected = truth.points(series, wanted, asOfMs);
      const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort()));
      const [storedLines, expectedLines] = [lines(stored), lines(expected)];
      const wrong = expectedLines.findIndex((line, place) => line !== storedLines[place]);
      if (wrong !== -1 || storedLines.length !== expectedLines.length)
        expect(stored.slice(wrong, wrong + 3), `${seriesName(series)}, ${stored.length} points`).toEqual(
          expected.slice(wrong, wrong + 3),
        );
      expect(storedLines.length, seriesName(series)).toBe(expectedLines.length);
      expect(subtract([wanted], await coverageOf(database, seriesId)), seriesName(series)).toEqual([]);
      points += stored.length;
    }
    say(`${points} points of ${tracked.length} series equal the source's to the digit`);
    say(`answers of the service: ${JSON.stringify(readers.answers)}, ${readers.events} events of the dashboard`);
    const measurements = tenths(samples, nowMs, takesMs * speed);
    console.log(table(measurements, (takesMs * speed) / dayMs));

    // Days 12 to 15, after the upgrade, beside the last three.
    const [early = {}, late = {}] = [measurements[4], measurements[9]];
    for (const [name, value] of Object.entries(early)) {
      const limit = limits.find(({ of }) => of.test(name));
      if (limit !== undefined) expect.soft(late[name], name).toBeLessThan(limit.factor * value + limit.beyond);
    }
  },
  3 * takesMs + 40 * minuteMs,
);
