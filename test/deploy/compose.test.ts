import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { composeImage } from '../parts/compose-images.ts';
import { describeMissing } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import {
  apiKey,
  bringUp,
  type Compose,
  containers,
  containersMs,
  down,
  isHealthy,
  type Project,
  patient,
  profiles,
  sql,
  up,
} from './compose-project.ts';
import { composeProject, hasFile, hasImage, noEngine } from './engine.ts';
import { databaseImage, plainImage } from './plain-image.ts';

const dayMs = 86_400_000;
/** Whole days, old enough that every period is closed. */
const untilMs = Math.floor(Date.now() / dayMs) * dayMs - dayMs;
const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const fromMs = untilMs - 60 * dayMs;
/** One market each. The source limits `m1` windows to a day, so that every step below happens among many windows. */
const assets = ['bitcoin', 'ethereum', 'cardano'];

interface Status {
  readonly series: ReadonlyArray<{ readonly series: string; readonly missingSeconds: number }>;
}

/** Tracks a market and waits until no gap is left. @param interrupt runs while the market is fetched. */
async function fetchMarket(compose: Compose, base: string, interrupt: () => Promise<unknown>): Promise<void> {
  const market = ['--exchange', 'binance', '--base', base, '--quote', 'tether', '--interval', 'm1'];
  const range = ['--from', isoDay(fromMs), '--to', isoDay(untilMs)];
  const tracked = await compose.inside('worker', 'tidemark', 'track', 'candles', ...market, ...range);
  expect(tracked).toContain(`tracking binance ${base}/tether m1`);
  const count = `select count(*) from candles where base = '${base}' and interval = 'm1'`;
  await waitFor('the first of its points', async () => (await sql(compose, count)) !== '0', patient);
  await sql(compose, coveredBefore);
  await interrupt();
  await waitFor(`${base} to be complete`, () => isComplete(compose), patient);
}

async function isComplete(compose: Compose): Promise<boolean> {
  const text = await compose.inside('worker', 'tidemark', 'status', '--json').catch(() => null);
  if (text === null) return false;
  const { series } = JSON.parse(text) as Status;
  return series.length > 0 && series.every(({ missingSeconds }) => missingSeconds === 0);
}

/** Every candle of the source, as text, requested a day at a time. */
async function truth(compose: Compose, base: string): Promise<string[]> {
  const address = (await compose('port', 'source', '4010')).trim();
  const rows: string[] = [];
  for (let startMs = fromMs; startMs < untilMs; startMs += dayMs) {
    const query = `exchange=binance&interval=m1&baseId=${base}&quoteId=tether&start=${startMs}&end=${startMs + dayMs}`;
    const answer = await fetch(`http://${address}/v2/candles?${query}`);
    const { data } = (await answer.json()) as { data: Record<string, string>[] };
    for (const { period, open, high, low, close, volume } of data)
      rows.push([period, open, high, low, close, volume].join('|'));
  }
  return rows;
}

async function stored(compose: Compose, base: string): Promise<string[]> {
  const text = await sql(
    compose,
    `select (extract(epoch from time) * 1000)::bigint, open, high, low, close, volume
     from candles where exchange = 'binance' and base = '${base}' and quote = 'tether' and interval = 'm1'
     order by time`,
  );
  return text.split('\n');
}

async function expectStored(compose: Compose, bases: readonly string[]): Promise<void> {
  for (const base of bases) expect(await stored(compose, base)).toEqual(await truth(compose, base));
}

async function expectToStop(compose: Compose): Promise<void> {
  await compose(...profiles, 'stop');
  const ended = await containers(compose);
  expect(ended.filter(({ State }) => State.Running || State.ExitCode !== 0)).toEqual([]);
  expect(ended.length).toBeGreaterThanOrEqual(9);
}

/**
 * What was covered before each interruption, and a time after it was read: `now()` is before. Active windows may be
 * read twice.
 */
const coveredBefore = `
  create table if not exists covered_before (at timestamptz, series_id integer, covered tstzmultirange);
  insert into covered_before select clock_timestamp(), id, covered from tidemark.series`;

/** Windows that were requested although they were covered before an interruption. */
const askedTwice = `
  select count(*) from tidemark.fetches f join covered_before b using (series_id)
  where f.lane = 'backfill' and f.time - f.duration_ms * interval '1 millisecond' > b.at
    and exists (select from unnest(b.covered * tstzmultirange(f.range)) r where upper(r) - lower(r) > interval '1 hour')`;

/** Run in the container: SIGKILL to the worker, as from the kernel when memory is short. */
const sigkill = `
  const { readdirSync, readFileSync } = require('node:fs');
  const isWorker = (pid) => readFileSync('/proc/' + pid + '/cmdline', 'utf8').includes('tidemark.js\\0worker');
  process.kill(Number(readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).find(isWorker)), 'SIGKILL');`;

/** The container ends with its process, and its restart policy starts it again. */
async function killWorker(compose: Compose): Promise<void> {
  await compose.inside('worker', 'node', '-e', sigkill).catch((error) => {
    // The end of the container kills this process too, unless it was faster.
    if (error.code !== 137) throw error;
  });
  const isBack = async () => (await containers(compose, 'worker')).some(({ RestartCount }) => RestartCount > 0);
  await waitFor('the killed worker to be started again', isBack, patient);
}

const serviceOf = ({ Config }: { readonly Config: { readonly Labels: Readonly<Record<string, string>> } }) =>
  Config.Labels['com.docker.compose.service'] ?? '';

async function expectHardened(compose: Compose): Promise<void> {
  const all = (await containers(compose)).filter((container) => serviceOf(container) !== 'source');
  expect(JSON.stringify(all)).not.toContain(apiKey);
  const key = '/run/secrets/source-api-key';
  expect(await compose.inside('worker', 'cat', key)).toBe(apiKey);
  await expect(compose.inside('service', 'cat', key)).rejects.toThrow();
  const unbounded = all.filter(
    ({ HostConfig: { Memory, PidsLimit, LogConfig } }) =>
      !(Memory > 0 && (PidsLimit ?? 0) > 0 && LogConfig.Type === 'local'),
  );
  expect(unbounded.map(serviceOf)).toEqual([]);

  const roles = `
    select string_agg(distinct usename::text, ' ' order by usename::text) from pg_stat_activity
    where application_name ~ '^tidemark (serve|scheduler|worker)'`;
  expect(await sql(compose, roles)).toBe('tidemark_service tidemark_worker');

  expect(await compose.inside('redis', 'redis-cli', 'ping')).toContain('NOAUTH');
  // Without users of the queue even its host name is unknown.
  await expect(compose.inside('database', 'getent', 'hosts', 'redis')).rejects.toThrow();
  await compose.inside('database', 'getent', 'hosts', 'scheduler');
}

/** As the page of this machine does, whose service may only read. */
async function expectToAct({ compose, service }: Project): Promise<void> {
  const file = await compose.inside('service', 'cat', '/tmp/tidemark-dashboard-4000');
  const [, token = ''] = /#token=(\S+)/.exec(file) ?? [];
  for (const action of ['pause', 'resume']) {
    const answer = await fetch(`${service}/dashboard/actions/${action}`, {
      ...{ method: 'POST', body: '{}' },
      headers: { 'content-type': 'application/json', 'x-tidemark-token': token },
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('done')]);
  }
  const recorded = "select string_agg(action || ' ' || state, ', ' order by id) from tidemark.actions";
  expect(await sql(compose, recorded)).toBe('pause done, resume done');
}

interface Target {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: string;
}

const optional = { 'host-metrics': 'prom/node-exporter', grafana: 'grafana/grafana' };

/** The profile, with those of its images that are available. */
async function expectObserved({ compose, prometheus }: Project): Promise<void> {
  const had: string[] = [];
  for (const [name, image] of Object.entries(optional)) {
    const tag = composeImage(image);
    if (await hasImage(tag)) had.push(name);
    else console.warn(`${name} is not started: the image ${tag} is not to be had`);
  }
  const start = 'up --detach --scale worker=2 --no-recreate prometheus';
  await compose(...profiles, ...start.split(' '), ...had);

  const targets = async () => {
    const answer = await fetch(`${prometheus}/api/v1/targets?state=active`).catch(() => null);
    if (answer?.ok !== true) return [];
    const { data } = (await answer.json()) as { data: { activeTargets: Target[] } };
    return data.activeTargets.filter(({ labels }) => labels.job !== 'host' || had.includes('host-metrics'));
  };
  const readsAll = async () => {
    const found = await targets();
    const ours = found.flatMap(({ labels }) => (labels.job === 'tidemark' ? [labels.process] : []));
    return found.every(({ health }) => health === 'up') && ours.sort().join() === 'scheduler,service,worker,worker';
  };
  await waitFor('Prometheus to read every process', readsAll, patient);
  if (had.includes('grafana')) {
    const [, grafana = ''] = (await compose('port', 'grafana', '3000')).trim().split(':');
    const isUp = async () => (await status(`http://127.0.0.1:${grafana}/api/health`)) === 200;
    await waitFor('Grafana', isUp, patient);
  }
}

async function status(url: string): Promise<number | null> {
  const answer = await fetch(url).catch(() => null);
  await answer?.body?.cancel();
  return answer?.status ?? null;
}

/** A substitute for the image may lack the extension. */
const timescaleMissing =
  noEngine === null && !(await hasFile(databaseImage, 'timescaledb.control'))
    ? ` (skipped: the image ${databaseImage} here lacks it)`
    : null;

const describeWithEngine = (title: string, body: () => void) =>
  noEngine === null ? describe(title, body) : describeMissing(title, noEngine, body);

describeWithEngine('docker compose', () => {
  beforeAll(async () => {
    await composeProject('tidemark-test-build', ['docker-compose.yml'], { SOURCE_URL: 'http://none/v2' })(
      'build',
      'worker',
    );
  }, containersMs);

  const whole = async (files: readonly string[], env: Readonly<Record<string, string>>) => {
    const project = await bringUp(files, env);
    const { compose, service } = project;
    await expectHardened(compose);
    await expectToAct(project);
    await fetchMarket(compose, 'bitcoin', () => killWorker(compose));
    await fetchMarket(compose, 'ethereum', () => compose('restart', 'database'));
    await fetchMarket(compose, 'cardano', async () => {
      const flush = 'REDISCLI_AUTH=$(cat /var/lib/tidemark-redis/password) redis-cli flushall';
      expect(await compose.inside('redis', 'sh', '-c', flush)).toBe('OK');
    });
    await expectStored(compose, assets);

    const query = `exchange=binance&interval=m1&baseId=bitcoin&quoteId=tether&start=${fromMs}&end=${fromMs + dayMs}`;
    const served = (await (await fetch(`${service}/v2/candles?${query}`)).json()) as { data: unknown[] };
    expect(served.data.length).toBeGreaterThan(1400);
    const page = await fetch(`${service}/`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>Tidemark')]);
    expect((await fetch(`${service}/dashboard/problems`)).status).toBe(200);

    // The command of README, with a statement as its input.
    const [, line = ''] = /^docker compose (exec database psql .*)$/m.exec(readFileSync('README.md', 'utf8')) ?? [];
    const [exec = '', ...words] = line.split(' ');
    expect(await compose(exec, '-T', ...words, '-c', 'select count(*) from candles')).toMatch(/\d{6}/);

    await waitFor('the killed worker to be back', () => isHealthy(compose), patient);
    const backfilled = "select count(*) from tidemark.fetches where lane = 'backfill'";
    const before = await sql(compose, backfilled);
    await down(compose);
    await up(compose);
    expect(await isComplete(compose)).toBe(true);
    expect(await sql(compose, backfilled)).toBe(before);
    expect(await sql(compose, askedTwice)).toBe('0');
    await expectStored(compose, assets);
    await expectObserved(project);
    await expectToStop(compose);
  };

  it.skipIf(timescaleMissing !== null)(
    `backfills every point, loses nothing to kills and restarts, and stops in order, with TimescaleDB${timescaleMissing ?? ''}`,
    () => whole([], {}),
    containersMs,
  );

  it(
    'backfills every point through a restart of the database, and stops in order, with plain PostgreSQL',
    async () => {
      const files = ['test/deploy/compose.plain.yml'];
      const project = await bringUp(files, { TEST_PLAIN_IMAGE: await plainImage() });
      const { compose } = project;
      await expectToAct(project);
      await fetchMarket(compose, 'bitcoin', () => compose('restart', 'database'));
      await expectStored(compose, ['bitcoin']);
      await expectToStop(compose);
    },
    containersMs,
  );
});
