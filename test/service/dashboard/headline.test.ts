/** `tidemark status`, the stream of the dashboard and its page in a browser say the same of real processes, whatever fails. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, inject, it, onTestFinished } from 'vitest';
import type { Headline } from '../../../planning/conditions.ts';
import { migrateQueueBackend } from '../../../queue/backend.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { market, processesMs, start, tidemark } from '../../scripts/command.ts';
import { open, withBrowser } from './browser/browser.ts';

/** A source that answers, refuses or announces its end, and that can be killed and started again. */
async function controlledSource() {
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const state = {
    mode: 'answers' as 'answers' | 'bans' | 'ends its service' | 'refuses the key' | 'has a wrong row',
  };
  let server: Server | null = null;
  let port = 0;
  const open = async () => {
    const opened = createServer(async (request, response) => {
      if (state.mode === 'bans')
        return response.writeHead(429, { 'retry-after': '300' }).end('{"error":"too many requests"}');
      if (state.mode === 'ends its service')
        return response.end('{"data":{"message":"This version is being retired"}}');
      if (state.mode === 'refuses the key') return response.writeHead(401).end('{"error":"unknown key"}');
      // At the end of a test the simulator may close first.
      const answer = await fetch(new URL(request.url ?? '', simulator.url)).catch(() => null);
      if (answer === null) return response.destroy();
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      const text = await answer.text();
      // The first price is no number.
      return response.end(
        state.mode === 'has a wrong row' ? text.replace(/"open":"[^"]*"/, '"open":"none"') : text,
      );
    });
    opened.listen(port, '127.0.0.1');
    await once(opened, 'listening');
    ({ port } = opened.address() as AddressInfo);
    server = opened;
  };
  const kill = async () => {
    server?.closeAllConnections();
    server?.close();
    server = null;
  };
  await open();
  onTestFinished(kill);
  return { url: `http://127.0.0.1:${port}/v2`, state, kill, open };
}

/** @returns the newest headline of the event stream. */
function listenTo(dashboard: string): () => Headline | null {
  let headline: Headline | null = null;
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const listen = async () => {
    const answer = await fetch(`${dashboard}dashboard/events`, { signal: over.signal });
    let rest = '';
    for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = `${rest}${text}`.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = JSON.parse(event.slice(event.indexOf('data: ') + 6));
        headline = data.headline ?? data.summary.state.headline;
      }
    }
  };
  listen().catch(() => {});
  return () => headline;
}

const hasBrowser = () => inject('absent').chromium === '';

async function world(...track: string[]) {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const database = await proxyTo(url);
  const redis = await proxyTo(inject('redisUrl') ?? '');
  const source = await controlledSource();
  const env: Record<string, string> = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    SOURCE_URL: source.url,
    SOURCE_REQUESTS_PER_MINUTE: '1200',
    PLANNING_TICK_MS: '200',
    RATES_SECONDS: '0',
    EMPTY_CONFIRM_SECONDS: '1',
  };
  await migrateQueueBackend(
    { redisUrl: redis.url, databaseUrl: url, namespace: env.QUEUE_NAMESPACE ?? '' },
    'up',
  );
  const tracked = await tidemark(
    ['track', 'candles', ...market, '--interval', 'h1', '--from', '2024-03-01', ...track],
    env,
  );
  expect(tracked.exitCode).toBe(0);
  const service = start(['serve'], env);
  await waitFor('the dashboard', () => /dashboard at http:\S+\//.test(service.stdout()));
  const [, address = ''] = /dashboard at (http:\S+\/)/.exec(service.stdout()) ?? [];
  const streamed = listenTo(address);
  const page = hasBrowser() ? (await open(address)).page : null;
  /** Waits until all say so. @returns the sentence of the stream. */
  const allSay = async (kind: Headline['kind'], sentence: RegExp): Promise<Headline | null> => {
    await waitFor(
      `${kind} in the stream`,
      () => streamed()?.kind === kind && sentence.test(streamed()?.text ?? ''),
    );
    await waitFor(`${kind} in status`, async () =>
      sentence.test((await tidemark(['status'], env)).stdout.split('\n')[0] ?? ''),
    );
    // The page writes the first letter as a capital.
    const shown = new RegExp(sentence.source, 'i');
    await page?.locator('.headline', { hasText: shown }).waitFor();
    return streamed();
  };
  const running = async () => {
    const process = start(['run', '--no-serve'], env);
    await waitFor('its start', () => process.stderr().includes('run started'));
    return process;
  };
  return { env, database, direct: url, redis, source, allSay, running };
}

describeNeeding('redis', 'the headline', () => {
  if (hasBrowser()) withBrowser();

  it(
    'says that no process is connected, and that all is well once it has worked',
    async () => {
      const { allSay, running } = await world();
      const none = await allSay('no_worker', /^no worker and no scheduler is connected: \d+ windows? left/);
      expect(none).toMatchObject({ level: 'bad', list: 'queue', command: 'tidemark run' });
      const process = await running();
      expect(await allSay('healthy', /^up to date: 1 series/)).toMatchObject({ level: 'ok' });
      process.kill('SIGKILL');
      await allSay('no_worker', /^no worker and no scheduler is connected/);
    },
    processesMs,
  );

  it(
    'names a source that was killed, one that bans and one that announces its end',
    async () => {
      const { allSay, running, source, env } = await world();
      await running();
      await allSay('healthy', /^up to date/);
      const more = (quote: string) =>
        tidemark(
          [
            'track',
            'candles',
            '--exchange',
            'binance',
            '--base',
            'bitcoin',
            '--quote',
            quote,
            '--interval',
            'm1',
            '--from',
            '2024-03-01',
            '--to',
            '2024-06-01',
          ],
          env,
        );
      await source.kill();
      await more('tether');
      expect(
        await allSay(
          'source_away',
          /^the source is unreachable since .*ECONNREFUSED.*; retry(ing now| at \d)/,
        ),
      ).toMatchObject({ level: 'bad', list: 'failed_requests' });
      source.state.mode = 'bans';
      await source.open();
      const banned = /^the source accepts no request until 20\d\d-.*: .*429/;
      expect(await allSay('banned', banned)).toMatchObject({ level: 'waiting' });
    },
    processesMs,
  );

  it.each([
    [
      'ends its service',
      'source_notice',
      /^the source answers with a service message since .*is being retired.*; retry/,
    ],
    ['refuses the key', 'source_refuses_key', /^the source refuses the API key since /],
  ] as const)(
    'names a source that %s',
    async (mode, kind, sentence) => {
      const { allSay, running, source } = await world();
      source.state.mode = mode;
      await running();
      expect(await allSay(kind, sentence)).toMatchObject({ level: 'bad' });
    },
    processesMs,
  );

  it(
    'says that requests are paused, until they are resumed',
    async () => {
      const { allSay, running, env } = await world();
      expect((await tidemark(['pause'], env)).exitCode).toBe(0);
      await running();
      expect(await allSay('paused', /^requests are paused since /)).toMatchObject({ level: 'waiting' });
      expect((await tidemark(['resume'], env)).exitCode).toBe(0);
      await allSay('healthy', /^up to date/);
    },
    processesMs,
  );

  it(
    'counts rejected rows',
    async () => {
      const { allSay, running, source } = await world();
      source.state.mode = 'has a wrong row';
      await running();
      expect(await allSay('rows_rejected', /^\d+ rows? of the source (was|were) rejected/)).toMatchObject({
        level: 'bad',
        list: 'quarantine',
      });
    },
    processesMs,
  );

  it(
    'survives the loss of the queue and of the database',
    async () => {
      const { allSay, running, redis, database, env } = await world();
      await running();
      await allSay('healthy', /^up to date/);
      await redis.cut();
      expect(await allSay('queue_away', /^the queue does not answer: /)).toMatchObject({ level: 'bad' });
      const failed = await tidemark(['status', '--json'], env);
      expect(failed.exitCode).not.toBe(0);
      expect(JSON.parse(failed.stdout)).toMatchObject({
        headline: { kind: 'queue_away' },
        error: { code: 'QUEUE_UNREACHABLE' },
      });
      await redis.mend();
      await allSay('healthy', /^up to date/);
      await database.cut();
      expect(await allSay('database_away', /^the database does not answer: /)).toMatchObject({
        level: 'bad',
      });
      await database.mend();
      await allSay('healthy', /^up to date/);
    },
    processesMs,
  );
});

describeNeeding('timescale', 'the headline with TimescaleDB', () => {
  if (hasBrowser()) withBrowser();

  it(
    'names failing jobs',
    async () => {
      const { allSay, running, direct } = await world();
      await running();
      const beside = openDatabase({
        url: direct,
        applicationName: 'tidemark test',
        maxConnections: 1,
        statementTimeoutMs: 30_000,
      });
      onTestFinished(() => beside.close());
      await beside.pool.query(
        `select alter_job(job_id, scheduled => true, next_start => now() - interval '2 hours')
         from timescaledb_information.jobs where hypertable_name = 'candle_points'`,
      );
      expect(
        await allSay(
          'jobs_failing',
          /^1 job of TimescaleDB fails, policy_compression of tidemark.candle_points: /,
        ),
      ).toMatchObject({ level: 'bad', list: 'jobs' });
    },
    processesMs,
  );
});
