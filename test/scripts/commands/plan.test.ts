import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { market, tidemark } from '../command.ts';

const days = ['--from', '2024-03-01', '--to', '2024-03-05'];
const backfill = ['backfill', 'candles', ...market, '--interval', 'm1,h1', ...days];

async function empty() {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_REQUESTS_PER_MINUTE: '6000',
    PLANNING_TICK_MS: '200',
    RATES_SECONDS: '0',
    REREAD_DAYS: '0',
  };
  return { env, simulator, url };
}

it('a dry run shows the cost of the backfill, and does nothing', async () => {
  const { env, simulator } = await empty();
  const dry = await tidemark([...backfill, '--dry-run', '--json'], env);
  expect(dry).toMatchObject({ exitCode: 0, stderr: '' });
  const cost = JSON.parse(dry.stdout);
  expect(cost).toMatchObject({ requests: 5, points: 4 * 1440 + 4 * 24, requestsPerMinute: 6000 });
  expect(cost.fresh.neededPerMinute).toBe(0);
  expect(simulator.requests().total).toBe(0);
  expect((await tidemark(['plan'], env)).stdout).toContain('no series is tracked');

  expect(await tidemark(backfill, env)).toMatchObject({ exitCode: 0 });
  expect(simulator.requests().total).toBe(cost.requests);
  const after = await tidemark(['plan'], env);
  expect(after.stdout).toMatch(/^nothing is missing\n(?!.*candles)/s);
  // Of what is asked for next, only what is new; as dense as what came.
  const wider = [...backfill.slice(0, -2), '--to', '2024-03-06', '--dry-run', '--json'];
  const more = JSON.parse((await tidemark(wider, env)).stdout);
  expect(more.requests).toBe(2);
  expect(more.points).toBeLessThanOrEqual(1440 + 24);
  expect(more.points).toBeGreaterThan(1400);
});

it('warns when the budget cannot keep the series fresh, and says what would be enough', async () => {
  const { env, url } = await empty();
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  });
  await database.pool.query(
    `insert into tidemark.series (dataset, exchange_id, base_id, quote_id, interval, period, tracked)
     select 'candles', 'x', 'b' || n, 'q', 'm1', '1 minute', tstzrange(now() - interval '1 hour', null)
     from generate_series(1, 400) n`,
  );
  await database.close();
  const { SOURCE_REQUESTS_PER_MINUTE: _, ...withoutKey } = env;
  const { stdout } = await tidemark(['plan'], withoutKey);
  expect(stdout).toContain('staying fresh takes 400 requests a minute, 200.0 % of the budget');
  expect(stdout).toMatch(
    /warning: the budget cannot keep this fresh.* every 2 min, or every 2 min 30 s during backfill.*400 requests a minute are enough \(with a key the source allows 500\).*at most 200 series/,
  );
  const document = JSON.parse((await tidemark(['plan', '--json'], withoutKey)).stdout);
  expect(document.fresh).toMatchObject({ neededPerMinute: 400, maxThatFit: 200 });
  // A list is a request for each page, and the rates are one.
  expect(await tidemark(['track', 'assets', '--every', '1m'], withoutKey)).toMatchObject({ exitCode: 0 });
  expect((await tidemark(['plan'], { ...withoutKey, RATES_SECONDS: '30' })).stdout).toContain(
    '3.00 for polls',
  );
  const withKey = await tidemark(['plan'], { ...withoutKey, SOURCE_API_KEY: 'k' });
  expect(withKey.stdout).not.toContain('warning');
  expect(withKey.stdout).toContain('80.2 % of the budget');
});

it('shows deferred requests', async () => {
  const { env, url } = await empty();
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  });
  await database.pool.query(
    `with added as (
       insert into tidemark.series (dataset, asset_id, interval, period, tracked, blocked_until)
       select 'asset_history', id, 'd1', '1 day', '[2024-01-01Z, 2024-01-11Z)', blocked
       from (values ('early', null), ('refused', '2999-01-02Z'::timestamptz), ('free', null)) s (id, blocked)
       returning id, asset_id)
     insert into tidemark.pending_windows (series_id, range, verdict, first_at, retry_at)
     select id, range, 'empty', now(), at
     from added, (values ('[2024-01-03Z, 2024-01-05Z)'::tstzrange, '2999-01-01Z'::timestamptz),
                         ('[2024-01-07Z, 2024-01-08Z)', '2024-01-01Z')) w (range, at)
     where asset_id = 'early'`,
  );
  await database.close();
  const cost = JSON.parse((await tidemark(['plan', '--json'], env)).stdout);
  expect(cost).toMatchObject({ requests: 3, laterRequests: 2, laterUntil: '2999-01-02T00:00:00.000Z' });
  expect((await tidemark(['plan'], env)).stdout).toContain(
    'of them 2 deferred after failures or for a second answer: the last 2999-01-02',
  );
});
