import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { minuteMs } from '../../../contract/intervals.ts';
import { formatTime } from '../../../format.ts';
import { migrateQueueBackend, openQueueBackend } from '../../../queue/backend.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { silent } from '../../queue/queue-parts.ts';
import { market, tidemark } from '../command.ts';

const series = [...market, '--interval', 'h1'];

it('explains what is tracked, covered, missing and why, past requests and changes, and what comes next', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env = { DATABASE_URL: url, SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '0' };
  const march = ['--from', '2024-03-01', '--to', '2024-03-05'];
  expect(await tidemark(['backfill', 'candles', ...series, ...march], env)).toMatchObject({ exitCode: 0 });
  const name = ['why', 'binance', 'bitcoin/tether', 'h1'];
  const whole = await tidemark(name, env);
  expect(whole).toMatchObject({ exitCode: 0, stderr: '' });
  expect(whole.stdout).toMatch(
    /^binance bitcoin\/tether h1, id 1\nTracked from 2024-03-01 to 2024-03-05, since /,
  );
  expect(whole.stdout).toContain('Covered: 100 % of the closed range; 96 points stored.');
  expect(whole.stdout).toMatch(
    /Last requests:\n {2}.* backfill 2024-03-01 to 2024-03-05: filled, 96 new, 0 changed/,
  );
  expect(whole.stdout).toContain('Next: nothing now: no range is missing.');
  expect(whole.stdout).not.toMatch(/Missing|quarantine|Changed/);

  const history = ['--asset', 'bitcoin', '--interval', 'h1', '--from', '2d'];
  expect(await tidemark(['backfill', 'history', ...history], env)).toMatchObject({ exitCode: 0 });
  const followed = await tidemark(['why', 'bitcoin', 'h1'], env);
  expect(followed.stdout).toMatch(
    /^Next: refresh of .+ to .+, from .+:01Z on, when the open h1 period has closed\.$/m,
  );

  expect(
    await tidemark(['track', 'candles', ...series, '--from', '2024-03-01', '--to', '2024-04-10'], env),
  ).toMatchObject({
    exitCode: 0,
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`
    insert into tidemark.pending_windows (series_id, range, verdict, kind, message, first_at, retry_at)
    values (1, '[2024-03-05Z, 2024-03-06Z)', 'failed', 'server_error', 'status 500', now(), now() + interval '1 hour');
    insert into tidemark.point_revisions (series_id, time, seen_at, before)
    values (1, '2024-03-02 05:00Z', '2024-03-02 09:00Z', '{"close": "1.50"}');
    insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw)
    values (now(), 'candles', 1, 'high below low', '{"high":"1"}');
    update tidemark.series set revised = 1`);
  const { stdout } = await tidemark(['why', '1'], env);
  expect(stdout).toMatch(
    /^Missing, 2 gaps:\n {2}2024-03-05 to 2024-03-06, 1 d: failed: status 500 \(again at /m,
  );
  expect(stdout).toContain('2024-03-06 to 2024-04-10, 35 d: awaits a request');
  expect(stdout).toMatch(/^Next: backfill of 2024-03-06 to 2024-04-05, as soon as/m);
  expect(stdout).toContain(
    '1 value; the newest:\n  2024-03-02 05:00Z was close 1.50 until 2024-03-02 09:00Z',
  );
  expect(stdout).toMatch(/In quarantine, 1 row; the newest:\n.*high below low: {"high":"1"}/);

  expect(await tidemark(['untrack', '1'], env)).toMatchObject({ exitCode: 0 });
  const untracked = await tidemark(name, env);
  expect(untracked.stdout).toMatch(/Was tracked .* untracked since .* Stored points stay/);
  expect(untracked.stdout).not.toContain('Next');
});

it('why and plan say until when a source accepts no request', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url, SOURCE_URL: 'http://127.0.0.1:1/v2', QUEUE_NAMESPACE: 'tidemark_why' };
  const march = ['--from', '2024-03-01', '--to', '2024-03-05'];
  expect(await tidemark(['track', 'candles', ...series, ...march], env)).toMatchObject({ exitCode: 0 });
  const said = async (...words: string[]) => (await tidemark(words, env)).stdout;
  const why = ['why', 'binance', 'bitcoin/tether', 'h1'];
  expect((await said(...why)) + (await said('plan'))).not.toContain('accepts no request');

  const database = openDatabase({
    ...{ url, applicationName: 'test', maxConnections: 1, statementTimeoutMs: 5000 },
  });
  onTestFinished(() => database.close());
  await recordFetch(database.pool, {
    ...{ timeMs: Date.now(), dataset: 'candles', lane: 'backfill', attempt: 1 },
    ...{ verdict: 'rate_limited', status: 403, error: 'banned', bytes: 0, durationMs: 1 },
  });
  const queue = { redisUrl: undefined, databaseUrl: url, namespace: env.QUEUE_NAMESPACE };
  await migrateQueueBackend(queue, 'up');
  const queues = await openQueueBackend({ ...queue, attempts: 1, log: silent });
  onTestFinished(() => queues.close());
  const untilMs = Date.now() + 10 * minuteMs;
  await queues.requestsOf(null).pauseForMs(10 * minuteMs);
  const until = new RegExp(`^the source accepts no request until ${formatTime(untilMs).slice(0, 15)}`, 'm');
  expect(await said('plan')).toMatch(until);
  const text = await said(...why);
  expect(text).toMatch(until);
  expect(text).toMatch(
    /^Next: backfill of 2024-03-01 to 2024-03-05, when the source accepts requests again\.$/m,
  );
});

it('suggests the nearest series for an unknown one', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url };
  expect(await tidemark(['track', 'candles', ...series, '--from', '2024-03-01'], env)).toMatchObject({
    exitCode: 0,
  });
  expect(await tidemark(['why', 'binance', 'bitcoin/tethr', 'h1'], env)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/UNKNOWN_SERIES: .*did you mean "binance bitcoin\/tether h1"\?/),
  });
  expect((await tidemark(['why', 'Binance', 'bitcoin'], env)).stderr).toMatch(
    /UNKNOWN_SERIES: .*did you mean "binance bitcoin\/tether h1"\?/,
  );
  expect((await tidemark(['why', '7'], env)).stderr).toMatch(/no series has the id or the name "7"/);
});
