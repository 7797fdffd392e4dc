/** Page, terminal, `--json`, metrics and alerts say the same of one moment. The states are those of real servers. */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished, type TestContext } from 'vitest';
import { systemClock } from '../../clock.ts';
import { progressWords } from '../../dashboard/page/overview/progress.ts';
import { backfillProgress } from '../../dashboard/page/state/model.ts';
import type { Snapshot } from '../../dashboard/shapes.ts';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import { sum } from '../../model/sum.ts';
import { migrate } from '../../schema/migrate.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { listenTo } from '../dashboard/event-stream.ts';
import { promtool } from '../deploy/prometheus-tools.ts';
import { scraperOf } from '../metrics/running-processes.ts';
import { ownCluster } from '../parts/own-cluster.ts';
import { ownRedis } from '../parts/own-redis.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { bitcoinHours } from '../queue/queue-parts.ts';
import { emptyDirectory, market, processesMs, type Running, start, tidemark } from '../scripts/command.ts';
import { portOf } from '../sources/local-server.ts';

type Answer = (response: ServerResponse, rows: () => readonly object[], endMs: number) => void;

const { truth } = createSimulator({ seed: 'one state', clock: systemClock });

const json = (response: ServerResponse, status: number, body: object, headers = {}) =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify({ timestamp: Date.now(), ...body }));
const whole: Answer = (response, rows) => json(response, 200, { data: rows() });

/** A source that answers in another way from one moment on. */
async function startSource() {
  const state = { answer: whole };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', 'http://source');
    const [startMs, endMs] = [Number(url.searchParams.get('start')), Number(url.searchParams.get('end'))];
    const interval = url.searchParams.get('interval') as 'm1';
    const rows = () => truth.candles({ ...bitcoinHours, interval }, { startMs, endMs });
    if (url.pathname === '/v2/candles') state.answer(response, rows, endMs);
    else json(response, 200, { data: [] });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${portOf(server.address())}/v2`, close, state };
}

const past = ['--from', '2024-01-01', '--to', '2024-01-20'];

async function openWorld(given: Readonly<Record<string, string>> = {}, commands: readonly string[] = ['run']) {
  const source = await startSource();
  let databaseUrl = given.DATABASE_URL;
  if (databaseUrl === undefined) {
    const { url, drop } = await createMigratedDatabase();
    onTestFinished(() => drop());
    databaseUrl = url;
  }
  const env = {
    DATABASE_URL: databaseUrl,
    SOURCE_URL: source.url,
    SOURCE_REQUESTS_PER_MINUTE: '6000',
    SOURCE_TIMEOUT_SECONDS: '1',
    METRICS_PORT: '0',
    ...given,
  };
  const track = async (interval: string, ...range: readonly string[]) =>
    expect(await tidemark(['track', 'candles', ...market, '--interval', interval, ...range], env)).toMatchObject({
      exitCode: 0,
    });
  await track('h1', ...past);
  const started = new Map<string, Running>(commands.map((command) => [command, start([command], env)]));
  const ofCommand = (...names: readonly string[]) => names.flatMap((name) => started.get(name) ?? [])[0];
  const service = ofCommand('run', 'serve');
  const scheduler = ofCommand('run', 'scheduler');
  const served = () =>
    /"serving":"(http:[^"]+)\/v2"/.exec(service?.stderr() ?? '')?.[1] ??
    /http:\S+(?=\/v2)/.exec(service?.stdout() ?? '')?.[0];
  await waitFor('the service', () => served() !== undefined);
  const scrape = scheduler === undefined ? null : await scraperOf(scheduler);
  return { source, env, track, page: `${served()}/dashboard/events`, scrape };
}
type World = Awaited<ReturnType<typeof openWorld>>;

interface Said {
  /** The headline, then the others, each with its level. */
  readonly conditions: readonly string[];
  /** Their sentences. */
  readonly texts: readonly string[];
  readonly left: number | null;
  /** Why nothing of what is left is requested before a later time. */
  readonly waiting?: string | null;
  readonly isEtaKnown?: boolean;
  /** Covered hours, jobs and workers of the queue, rejected rows, and since when series are silent. */
  readonly figures: Readonly<Record<string, unknown>> | null;
}

async function readPage({ page }: World): Promise<Said> {
  const stream = await listenTo(page);
  const { name, data } = await stream.next();
  stream.leave();
  if (name === 'trouble')
    return { conditions: [conditionOf(data.headline)], texts: [data.headline.text], left: null, figures: null };
  const { summary, series } = data as Snapshot;
  const all = [summary.state.headline, ...summary.state.also];
  return {
    conditions: all.map(conditionOf),
    texts: all.map(({ text }) => text),
    left: summary.state.left,
    waiting: summary.state.waiting,
    isEtaKnown: summary.state.etaMs !== null,
    figures: {
      covered: sum(series.map(({ coveredMs }) => coveredMs)) / hourMs,
      queue:
        summary.queue === null
          ? null
          : [summary.queue.waiting, summary.queue.active, summary.queue.delayed, summary.queue.workers],
      rejected: summary.rejected,
      perMinute: summary.perMinute,
      silent: series.map(({ silentSinceMs }) => silentSinceMs).sort(),
    },
  };
}

interface Condition {
  readonly kind: string;
  readonly level: string;
}
const conditionOf = ({ kind, level }: Condition) => `${kind} ${level}`;

async function readJson({ env }: World): Promise<Said> {
  const status = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
  const all: ReadonlyArray<Condition & { readonly text: string }> = [status.headline, ...(status.also ?? [])];
  const said = { conditions: all.map(conditionOf), texts: all.map(({ text }) => text) };
  if (status.series === undefined) return { ...said, left: null, figures: null };
  const series: ReadonlyArray<{ readonly coveredSeconds: number; readonly silentSince: string | null }> = status.series;
  return {
    ...said,
    left: status.windowsLeft,
    waiting: status.waiting,
    isEtaKnown: status.etaSeconds !== null,
    figures: {
      covered: sum(series.map(({ coveredSeconds }) => coveredSeconds)) / 3600,
      queue:
        status.queue === null
          ? null
          : [status.queue.waiting, status.queue.active, status.queue.delayed, status.queue.workers],
      rejected: status.rejected.rows,
      perMinute: status.budget.perMinute,
      silent: series.map(({ silentSince }) => (silentSince === null ? null : Date.parse(silentSince))).sort(),
    },
  };
}

/** What the page says of the backfill. */
async function readProgress({ page }: World): Promise<string> {
  const stream = await listenTo(page);
  const { data } = await stream.next(({ name }) => name === 'snapshot');
  stream.leave();
  const { summary, series } = data as Snapshot;
  return progressWords(series.length, backfillProgress(series), summary);
}

/** The first lines, without the commands behind them. */
async function readTerminal({ env }: World): Promise<readonly string[]> {
  const [first = '', ...lines] = (await tidemark(['status'], env)).stdout.split('\n');
  return [first, ...lines.filter((line) => line.startsWith('also: ')).map((line) => line.slice('also: '.length))].map(
    (line) => line.replace(/ \(tidemark [^)]*\)$/, ''),
  );
}

async function readMetrics({ scrape }: World) {
  if (scrape === null) return null;
  const text = await scrape();
  const held = [...text.matchAll(/^tidemark_condition\{kind="(\w+)",level="(\w+)"\} 1$/gm)];
  const left = /^tidemark_requests_left (\d+)$/m.exec(text)?.[1];
  return {
    isEtaKnown: /^tidemark_eta_seconds /m.test(text),
    conditions: held.map(([, kind, level]) => `${kind} ${level}`),
    left: left === undefined ? null : Number(left),
    covered: Number(/^tidemark_covered_seconds (\S+)$/m.exec(text)?.[1]) / 3600,
    samples: [...text.matchAll(/^(tidemark_condition\{.*\}) (\d)$/gm)].map(([, series = '', value = '']) => ({
      series,
      values: `${value}+0x60`,
    })),
  };
}

/** Alerts of a state that lasts, and the conditions of which each tells. */
const alerts: Readonly<Record<string, RegExp>> = {
  TidemarkNoWorkers: /^no_worker /,
  TidemarkQueueAway: /^queue_away /,
  TidemarkSourceDown: /^source_(?:away|notice|refuses_key) /,
};

/** @returns the alerts that fire when these samples stay. */
function firing(samples: readonly object[]): string[] {
  const rules = join(process.cwd(), 'deploy/prometheus/rules.yml');
  const file = join(emptyDirectory(), 'alerts.yml');
  return Object.keys(alerts).filter((alertname) => {
    const none = {
      interval: '30s',
      input_series: samples,
      alert_rule_test: [{ eval_time: '20m', alertname, exp_alerts: [] }],
    };
    writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '30s', tests: [none] }));
    return promtool(['test', 'rules', file]).status !== 0;
  });
}
const hasPromtool = promtool(['--version']).status === 0;

/** What one of them says otherwise than the page. While a server is away, only the headline is the same. */
async function disagreements(world: World, headline: string, isAway: boolean): Promise<object> {
  const [page, status, terminal, metrics] = await Promise.all([
    readPage(world),
    readJson(world),
    readTerminal(world),
    readMetrics(world),
  ]);
  const ofMetrics = metrics?.conditions ?? [];
  const pairs: Record<string, readonly [unknown, unknown]> = {
    headline: [page.conditions[0], headline],
    json: isAway ? [status.conditions[0], headline] : [status, page],
    ...(isAway ? {} : { terminal: [terminal, page.texts] }),
    ...(metrics === null
      ? {}
      : {
          metrics: isAway
            ? [ofMetrics.includes(headline), true]
            : [
                [ofMetrics.toSorted(), metrics.left, metrics.covered, metrics.isEtaKnown],
                [page.conditions.toSorted(), page.left, page.figures?.covered, page.isEtaKnown],
              ],
        }),
    ...(metrics === null || !hasPromtool
      ? {}
      : {
          alerts: [
            firing(metrics.samples),
            Object.keys(alerts).filter((name) => ofMetrics.some((one) => alerts[name]?.test(one))),
          ],
        }),
  };
  return Object.fromEntries(
    Object.entries(pairs).filter(([, [one, other]]) => JSON.stringify(one) !== JSON.stringify(other)),
  );
}

/** Waits until this is the headline, and all say the same. */
const expectAgreed = (world: World, headline: string, { isAway = false } = {}) =>
  expect.poll(() => disagreements(world, headline, isAway), { timeout: 120_000, interval: 500 }).toEqual({});

it('finished', async () => void (await expectAgreed(await openWorld(), 'healthy ok')), processesMs);

it(
  'paused',
  async () => {
    const world = await openWorld();
    await tidemark(['pause'], world.env);
    await world.track('m5', ...past);
    await expectAgreed(world, 'paused waiting');
  },
  processesMs,
);

it(
  'a paused source, whose budget is lowered',
  async () => {
    const world = await openWorld();
    await tidemark(['sources', 'pause', 'default'], world.env);
    await tidemark(['sources', 'budget', 'default', '60'], world.env);
    await world.track('m5', ...past);
    await expectAgreed(world, 'source_paused waiting');
    expect((await readPage(world)).figures?.perMinute).toBe(60);
  },
  processesMs,
);

it.each([
  ['killed', 'source_away bad', null],
  ['frozen', 'source_away bad', (() => {}) as Answer],
  ['refusing the key', 'source_refuses_key bad', ((response) => json(response, 401, { error: 'no key' })) as Answer],
  ['blocking the country', 'source_away bad', ((response) => json(response, 451, { error: 'not here' })) as Answer],
  [
    'banning',
    'banned waiting',
    ((response) => json(response, 429, { error: 'too many' }, { 'retry-after': '3600' })) as Answer,
  ],
])(
  'a source %s',
  async (_, headline, answer) => {
    const world = await openWorld();
    await expect.poll(async () => (await readJson(world)).conditions).toEqual(['healthy ok']);
    if (answer === null) world.source.close();
    else world.source.state.answer = answer;
    await world.track('m5', ...past);
    await expectAgreed(world, headline);
  },
  processesMs,
);

it(
  'rejected rows',
  async () => {
    const world = await openWorld();
    world.source.state.answer = (response, rows) =>
      json(response, 200, { data: rows().map((row, place) => (place === 3 ? { ...row, high: '0.1' } : row)) });
    await world.track('m5', ...past);
    await expectAgreed(world, 'rows_rejected bad');
    expect((await readPage(world)).figures?.rejected).toBeGreaterThan(0);
  },
  processesMs,
);

it(
  'all that is left is asked again later',
  async () => {
    const world = await openWorld();
    world.source.state.answer = (response, rows) =>
      json(response, 200, { data: rows().map((row) => ({ ...row, high: '0.1' })) });
    await world.track('m5', ...past);
    await expect.poll(async () => (await readPage(world)).waiting, { timeout: 120_000 }).not.toBeNull();
    await expectAgreed(world, 'ranges_failed bad');
    const { texts, left, waiting, isEtaKnown } = await readPage(world);
    expect({ left, isEtaKnown }).toEqual({ left: 0, isEtaKnown: false });
    expect(waiting).toMatch(/^\d+ ranges? (is|are) asked again.* at .* covered$/);
    expect(texts).toContain(waiting);
    expect(await readProgress(world)).toBe(waiting);
    expect((await tidemark(['status'], world.env)).stdout).toContain(`\nbackfill: ${waiting}\n`);
  },
  processesMs,
);

it(
  'second answers due',
  async () => {
    const world = await openWorld();
    world.source.state.answer = (response) => json(response, 200, { data: [] });
    await world.track('m5', ...past);
    await expectAgreed(world, 'awaiting_second_answer waiting');
    // What was answered is kept of what filled nothing.
    const why = await tidemark(['why', '2'], world.env);
    expect(why.stdout).toMatch(/: empty, 0 new, 0 changed, 0 unchanged, \{"timestamp":\d+,"data":\[\]\} \(/);
  },
  processesMs,
);

it(
  'a silent market',
  async () => {
    const world = await openWorld();
    const sinceMs = Math.floor(Date.now() / (30 * minuteMs)) * 30 * minuteMs - 10 * hourMs;
    world.source.state.answer = (response, rows) =>
      json(response, 200, { data: rows().filter((row) => (row as { period: number }).period < sinceMs) });
    await world.track('m30', '--from', '3d');
    await expectAgreed(world, 'awaiting_second_answer waiting');
    expect((await readPage(world)).figures?.silent).toContain(sinceMs);
  },
  processesMs,
);

it(
  'no worker',
  async () => {
    await expectAgreed(await openWorld({}, ['scheduler', 'serve']), 'no_worker bad');
  },
  processesMs,
);

it(
  'no scheduler',
  async () => {
    await expectAgreed(await openWorld({}, ['worker', 'serve']), 'no_scheduler bad');
  },
  processesMs,
);

it(
  'no Redis',
  async (context: TestContext) => {
    const redis = await ownRedis(context);
    const world = await openWorld({ REDIS_URL: redis.url });
    await expect.poll(async () => (await readJson(world)).conditions).toEqual(['healthy ok']);
    await redis.stop();
    await expectAgreed(world, 'queue_away bad');
  },
  processesMs,
);

it(
  'no database',
  async (context: TestContext) => {
    const cluster = await ownCluster(context);
    await migrate({ url: cluster.url, direction: 'up', ifBusy: 'wait' });
    const redis = await ownRedis(context);
    const world = await openWorld({ DATABASE_URL: cluster.url, REDIS_URL: redis.url });
    // Not `healthy`: jobs of TimescaleDB fail on some versions of PostgreSQL.
    await expect.poll(async () => (await readJson(world)).left).toBe(0);
    await cluster.crash();
    await expectAgreed(world, 'database_away bad', { isAway: true });
  },
  processesMs,
);
