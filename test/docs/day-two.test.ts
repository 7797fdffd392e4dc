/** Runs the commands of docs/operations.md for what a person does on day two. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, inject, it, onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import { unprivilegedAccount } from '../../embedded/unprivileged.ts';
import { dayMs } from '../../model/intervals.ts';
import { startSimulator } from '../../simulator/start.ts';
import { trackSeries } from '../../store/series/series.ts';
import { databaseAt } from '../faults/database-away.ts';
import { dumpPrograms } from '../parts/dump-programs.ts';
import { keepDirectory } from '../parts/kept-directory.ts';
import { ownRedis } from '../parts/own-redis.ts';
import { queueBeside } from '../parts/test-database.ts';
import { initCluster } from '../parts/throw-away-cluster.ts';
import { waitFor } from '../parts/wait-for.ts';
import { fillOf } from '../parts/windows.ts';
import { openQueue } from '../queue/queue-parts.ts';
import { emptyDirectory, processesMs, program, tidemark } from '../scripts/command.ts';
import { openWatched, type Watched } from '../scripts/commands/watch-list-parts.ts';
import { commitPoints } from '../store/committing.ts';
import { blockOf, runBlock } from './shell-blocks.ts';

const page = 'docs/operations.md';
const programs = dumpPrograms();
const folder = typeof programs === 'string' ? '/usr/bin' : programs.folder;
const noPsql = existsSync(join(folder, 'psql')) ? '' : 'there is no psql';
function noProgram(name: string): string {
  return spawnSync(name, ['--version']).error === undefined ? '' : `there is no ${name}`;
}

const limit = { timeout: processesMs };

function run(world: Watched, title: string, more: Record<string, string> = {}) {
  const { redisUrl, namespace } = queueBeside(world.url);
  const queue = redisUrl === undefined ? {} : { REDIS_URL: redisUrl, QUEUE_NAMESPACE: namespace };
  const env = { ...queue, ...world.env, DATABASE_URL: world.url, ...more };
  return runBlock(blockOf(page, title), { folder, cwd: world.directory, env });
}

async function runs(world: Watched, title: string, more: Record<string, string> = {}): Promise<string> {
  const ended = await run(world, title, more);
  expect(ended, ended.printed).toMatchObject({ exitCode: 0 });
  return ended.printed;
}

const dayOf = (market: string) => ({
  dataset: 'candles' as const,
  ...{ exchange: 'binance', baseId: market, quoteId: 'tether', interval: 'd1' as const },
});

it('a series is deleted with its data only where somebody confirms it', limit, async () => {
  const world = await openWatched();
  const series = { ...dayOf('bitcoin'), exchange: 'kraken', quoteId: 'euro', interval: 'h1' as const };
  const startMs = Date.UTC(2024, 2, 1);
  const { seriesId } = await trackSeries(world.database, series, startMs, null);
  await commitPoints(world.database, { seriesId, series, window: { startMs, endMs: startMs + dayMs } });
  const ended = await run(world, 'A series with its data');
  expect(ended).toMatchObject({ exitCode: 2 });
  expect(ended.printed).toMatch(/24 points from 2024-03-01 .*add --yes to confirm/);
  expect(await world.query('select count(*)::int as n from tidemark.candle_points')).toEqual([{ n: 24 }]);
});

it.skipIf(noPsql !== '')(`a view joins a market before and after its new name ${noPsql}`, limit, async () => {
  const world = await openWatched();
  const { database } = world;
  const atMs = Date.UTC(2024, 8, 13);
  const store = async (market: string, startMs: number, endMs: number) => {
    const series = dayOf(market);
    const { seriesId } = await trackSeries(database, series, startMs, null);
    await commitPoints(database, { seriesId, series, window: { startMs, endMs } });
  };
  // Both have the days around the change.
  await store('matic', atMs - 10 * dayMs, atMs + 2 * dayMs);
  await store('pol', atMs - 2 * dayMs, atMs + 10 * dayMs);
  await runs(world, 'One market after the other');
  const days = await world.query(
    `select base, min(time)::text as first, max(time)::text as last, count(*)::int as n, count(distinct time)::int as days
     from matic_pol group by base order by base`,
  );
  expect(days).toEqual([
    { base: 'matic', first: '2024-09-03 00:00:00+00', last: '2024-09-12 00:00:00+00', n: 10, days: 10 },
    { base: 'pol', first: '2024-09-13 00:00:00+00', last: '2024-09-22 00:00:00+00', n: 10, days: 10 },
  ]);
  expect(await world.series()).toEqual([
    expect.stringMatching(/matic.*untracked/),
    expect.not.stringContaining('untracked'),
  ]);
});

/** A queue of its own on Redis, and its block's variables. */
const noRedis = inject('absent').redis !== '' ? 'there is no Redis' : noProgram('redis-cli');

const candles = 'candles --exchange binance --base bitcoin --quote tether --interval m1';

it.skipIf(noRedis !== '')(`a queue is read, emptied, and planned again ${noRedis}`, limit, async () => {
  const world = await openWatched();
  const { begin, json, say, simulator } = world;
  const { redisUrl = '', namespace } = queueBeside(world.url);
  const redis = new Redis(redisUrl);
  onTestFinished(() => redis.disconnect());
  const other = `beside-${namespace}`;
  await redis.set(other, '1', 'PX', 600_000);
  await say(`track ${candles} --from 2024-03-01 --to 2024-03-21`);
  const scheduler = begin('scheduler');
  const queued = async () => (await json<{ queue: { waiting: number } }>('status')).queue.waiting;
  await waitFor('windows in the queue', async () => (await queued()) > 0);
  scheduler.kill('SIGTERM');
  await scheduler.ended;
  expect(await runs(world, 'What holds it up')).toContain('no worker');
  const waiting = await queued();
  expect(await runs(world, 'Jobs by state')).toBe(`queued ${waiting}, delayed 0\nactive 0, limited for -2\n`);
  await runs(world, 'An empty queue');
  expect(await runs(world, 'Jobs by state')).toBe('queued 0, delayed 0\nactive 0, limited for -2\n');
  expect(await redis.keys(`{${namespace}}:*`)).toEqual([]);
  expect(await redis.get(other)).toBe('1');
  // Emptied twice is no error.
  await runs(world, 'An empty queue');
  await say(`backfill ${candles} --from 2024-03-01 --to 2024-03-21`);
  expect(simulator.requests().total).toBeGreaterThanOrEqual(20);
  expect(await say('gaps')).toContain('no gaps');
});

it.skipIf(noPsql !== '')(`what fills the disk is told ${noPsql}`, limit, async () => {
  const world = await openWatched();
  await world.say(`backfill ${candles} --from 2024-03-01 --to 2024-03-03`);
  if (inject('absent').timescale === '')
    await world.query(`select compress_chunk(c) from show_chunks('tidemark.candle_points') c`);
  const printed = await runs(world, 'What fills it');
  expect(printed).toMatch(/^ fetches +\| +\d+ kB/m);
  expect(/^ columnstore +\| +\d+ kB/m.test(printed)).toBe(inject('absent').timescale === '');
  expect(printed).toMatch(/write-ahead log/);
});

const noServers = typeof programs === 'string' ? programs : '';

/** A server of its own, with its source and a series of two days. */
async function ownServer() {
  if (typeof programs === 'string') throw new Error(programs);
  const account = unprivilegedAccount();
  const cluster = await initCluster(programs.timescale, keepDirectory(account));
  const server = await cluster.start();
  onTestFinished(() => server.stop());
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env = { SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '0' };
  const cwd = emptyDirectory();
  // Its queue is on PostgreSQL, unless another one is named.
  const here = { ...env, REDIS_URL: '', DATABASE_URL: cluster.url };
  expect(await tidemark(['migrate'], here)).toMatchObject({ exitCode: 0 });
  const backfill = (to: string) => ['backfill', ...candles.split(' '), '--from', '2024-03-01', '--to', to];
  expect(await tidemark(backfill('2024-03-03'), here)).toMatchObject({ exitCode: 0 });
  const runHere = async (title: string, more: Record<string, string>) => {
    const ended = await runBlock(blockOf(page, title), { folder, cwd, env: { ...here, ...more } });
    expect(ended, ended.printed).toMatchObject({ exitCode: 0 });
    return ended.printed;
  };
  return { account, cluster, server, env, here, backfill, runHere };
}

const countPoints = async (url: string) => {
  const { rows } = await databaseAt(url).pool.query('select count(*)::int as n from tidemark.candle_points');
  return rows[0]?.n;
};

it.skipIf(noServers !== '')(`a replica takes over, with what was written last ${noServers}`, limit, async () => {
  const { account, cluster, server, env, backfill, here, runHere } = await ownServer();
  const data = join(keepDirectory(account), 'data');
  await runHere('A copy that follows', { NEW_DATA: data });
  if (account !== null) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, data]);
  const replica = await cluster.at(data);
  const follower = await replica.start();
  onTestFinished(() => follower.stop());
  expect(await tidemark(backfill('2024-03-05'), here)).toMatchObject({ exitCode: 0 });
  const points = await countPoints(cluster.url);
  expect(await runHere('The switch', { NEW_DATABASE_URL: replica.url })).toContain('bitcoin');
  await server.stop();
  expect(await countPoints(replica.url)).toBe(points);
  const there = { ...env, REDIS_URL: '', DATABASE_URL: replica.url };
  expect(await tidemark(['verify', '--all'], there)).toMatchObject({ exitCode: 0 });
  expect(await tidemark(backfill('2024-03-06'), there)).toMatchObject({ exitCode: 0 });
});

it.skipIf(`${noServers}${noRedis}` !== '')(
  `a backup of before takes nothing from a newer queue, and asks for all again ${noServers}${noRedis}`,
  limit,
  async (context) => {
    const { cluster, env, backfill, here, runHere } = await ownServer();
    const redis = await ownRedis(context);
    const queue = { REDIS_URL: redis.url };
    await runHere('A backup', {});
    const before = await countPoints(cluster.url);
    // Since then the same series has more, and others were tracked, and a window of one waits in the queue.
    expect(await tidemark(backfill('2024-03-05'), { ...here, ...queue })).toMatchObject({ exitCode: 0 });
    const newer = await countPoints(cluster.url);
    const others = 'track candles --exchange kraken --base ethereum --quote tether --interval h1';
    const range = ['--from', '2024-03-01', '--to', '2024-03-03'];
    expect(await tidemark([...others.split(' '), ...range], { ...here, ...queue })).toMatchObject({ exitCode: 0 });
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const options = { redisUrl: redis.url, databaseUrl: cluster.url, namespace: 'tidemark', clock: systemClock };
    const queues = await openQueue(options, { attempts: 1 });
    const series = { ...dayOf('ethereum'), exchange: 'kraken', interval: 'h1' as const };
    const window = { startMs: Date.UTC(2024, 2, 1), endMs: Date.UTC(2024, 2, 3) };
    await queues.requests.addWindows([fillOf({ seriesId: 2, series, ...window })]);
    expect(await client.zcard('{tidemark}:requests:prioritized')).toBe(1);
    await queues.close();

    const target = new URL(cluster.url);
    target.pathname = '/restored';
    await databaseAt(cluster.url).pool.query('create database restored template template0');
    const restoring = { NEW_DATABASE_URL: target.href, ...queue };
    for (const title of ['Once for a server', 'Restored, TimescaleDB', 'An empty queue'])
      await runHere(title, restoring);
    expect(await client.keys('*')).toEqual([]);
    expect(await countPoints(target.href)).toBe(before);
    const there = { ...env, ...queue, DATABASE_URL: target.href };
    // Another series gets the id of that window.
    const third = 'backfill candles --exchange binance --base solana --quote tether --interval h1';
    expect(await tidemark([...third.split(' '), ...range], there)).toMatchObject({ exitCode: 0 });
    expect(await tidemark(backfill('2024-03-05'), there)).toMatchObject({ exitCode: 0 });
    expect(await tidemark(['verify', '--all'], there)).toMatchObject({ exitCode: 0 });
    const { rows } = await databaseAt(target.href).pool.query(
      `select s.exchange_id || ' ' || s.base_id as name, count(*)::int as n, s.points::int as points
       from tidemark.candle_points p join tidemark.series s on s.id = p.series_id group by s.id order by s.id`,
    );
    expect(rows).toEqual([
      { name: 'binance bitcoin', n: newer, points: newer },
      { name: 'binance solana', n: rows[1]?.points, points: rows[1]?.n },
    ]);
  },
);

const noVerifier = noProgram('systemd-analyze');

it.skipIf(noVerifier !== '')(`the units of systemd are valid, and closed ${noVerifier}`, () => {
  const unit = readFileSync('deploy/systemd/tidemark@.service', 'utf8');
  const directory = emptyDirectory();
  for (const part of ['scheduler', 'worker', 'serve']) {
    const file = join(directory, `tidemark@${part}.service`);
    writeFileSync(file, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath} ${program}`));
    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
    expect(verified).toMatchObject({ status: 0, stderr: '' });
  }
  // It kills no request under way, and no answer that is served.
  const [, seconds = ''] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
  const [, compose = ''] = /stop_grace_period: (\d+)s/.exec(readFileSync('docker-compose.yml', 'utf8')) ?? [];
  expect(Number(seconds)).toBeGreaterThan(Number(compose));
  const known = spawnSync(process.execPath, [program, '--help'], { encoding: 'utf8' }).stdout;
  for (const [, part = ''] of unit.matchAll(/tidemark@(\w+)/g)) expect(known).toMatch(new RegExp(`^  ${part} `, 'm'));
});
