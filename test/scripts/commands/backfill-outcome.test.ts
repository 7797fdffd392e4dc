import { expect, it } from 'vitest';
import { hourMs } from '../../../contract/intervals.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { serveRows } from '../../pipeline/serve-rows.ts';
import { openWatched } from './watch-list-parts.ts';

const startMs = Date.UTC(2024, 2, 1);
const market = '--exchange binance --base bitcoin --quote tether';
const lastOf = (stdout: string) => stdout.trimEnd().split('\n').at(-1);

it('is not complete while a range awaits its second answer, except with --accept-empty', async () => {
  const { run, simulator, database } = await openWatched();
  const first = `backfill candles ${market} --interval h1 --from 2024-03-01 --to`;
  expect(await run(`${first} 2024-03-03`)).toMatchObject({ exitCode: 0 });
  simulator.setFaults({ emptyRate: 1 });
  const ended = await run(`${first} 2024-03-05`);
  expect(ended.exitCode).toBe(9);
  const due = /due \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z/.source;
  expect(lastOf(ended.stdout)).toMatch(
    new RegExp(`^not complete: 1 range awaits a second answer, ${due}; 2 requests, 0 new points, `),
  );
  expect(ended.stderr).toMatch(
    /^tidemark: AWAITS_SECOND_ANSWER: 1 range answered empty, first binance bitcoin\/tether h1 2024-03-03 to 2024-03-05: .*; .*--wait.*--accept-empty/,
  );
  const json = await run(`${first} 2024-03-05 --json`);
  expect(json.exitCode).toBe(9);
  expect(JSON.parse(json.stdout)).toMatchObject({ awaiting: 1, missing: 0, rejected: 0 });
  const exported = await run(`export candles ${market} --interval h1`);
  expect(exported).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('--wait') });

  const accepted = await run(`${first} 2024-03-05 --accept-empty`);
  expect(accepted).toMatchObject({ exitCode: 0, stderr: '' });
  expect(accepted.stdout).toMatch(/^nothing was missing: .*; 1 range accepted as empty after one answer$/m);
  const known = await database.pool.query(
    `select confirmed_empty = '{["2024-03-03 00:00Z","2024-03-05 00:00Z")}' as empty,
            covered = '{["2024-03-01 00:00Z","2024-03-05 00:00Z")}' as covered from tidemark.series`,
  );
  expect(known.rows).toEqual([{ empty: true, covered: true }]);
  expect(await run(`export candles ${market} --interval h1`)).toMatchObject({ exitCode: 0 });

  // What was taken as empty is found again as any other emptiness is.
  simulator.setFaults({});
  await database.pool.query(
    `update tidemark.empty_answers set answered_at = answered_at - interval '2 days'`,
  );
  expect(await run('repair --empty-older-than 1d')).toMatchObject({ exitCode: 0 });
  const points = await database.pool.query('select points, confirmed_empty::text from tidemark.series');
  expect(points.rows).toEqual([{ points: 96, confirmed_empty: '{}' }]);
});

it('waits for a second answer with --wait, and requests it when it is due', async () => {
  const { begin, run, simulator, database } = await openWatched();
  const first = `backfill candles ${market} --interval h1 --from 2024-03-01 --to`;
  expect(await run(`${first} 2024-03-03`)).toMatchObject({ exitCode: 0 });
  simulator.setFaults({ emptyRate: 1 });
  const running = begin(`${first} 2024-03-05 --wait`);
  const waiting =
    /^waiting until [\d: -]+Z for 1 range, the first: binance bitcoin\/tether h1 2024-03-03 to 2024-03-05: answered empty, awaits a second answer \(again at /m;
  await waitFor('the wait to be said', () => waiting.test(running.stderr()));
  simulator.setFaults({});
  await database.pool.query(
    `update tidemark.pending_windows set first_at = first_at - interval '2 hours', retry_at = now()`,
  );
  const ended = await running.ended;
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(lastOf(ended.stdout)).toMatch(/^complete: 3 requests, 48 new points, /);
});

it('waits while many requests fail, and says why', async () => {
  const { begin, simulator } = await openWatched();
  const running = begin(`backfill candles ${market} --interval m1 --from 2024-03-01 --to 2024-03-07`, {
    WORKER_ATTEMPTS: '1',
    // Longer than the four requests that fail take together.
    FAILED_RETRY_SECONDS: '9',
    // Slow enough that some requests are left when they begin to fail.
    SOURCE_REQUESTS_PER_MINUTE: '40',
  });
  await waitFor('its first answers', () => (simulator.requests().byStatus[200] ?? 0) >= 2);
  simulator.setFaults({ errorRate: 1 });
  await waitFor('the wait to be said', () =>
    /^waiting until .* for \d+ ranges?, the first: .*failed: .*500/m.test(running.stderr()),
  );
  simulator.setFaults({});
  const ended = await running.ended;
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(lastOf(ended.stdout)).toMatch(/^complete: \d+ requests, [\d,]+ new points, /);
});

it('reports rejected rows, and is not complete unless they are accepted', async () => {
  const { run } = await openWatched();
  const offBySeconds = (hour: number) => (hour % 3 === 0 ? 0 : 7000);
  const server = await serveRows((path) =>
    path.endsWith('/candles')
      ? {
          timestampMs: Date.now(),
          rows: Array.from({ length: 48 }, (_, hour) => {
            const timeMs = startMs + hour * hourMs + offBySeconds(hour);
            const price = '"open":"1","high":"1","low":"1","close":"1","volume":"1"';
            return { timeMs, json: `{${price},"period":${timeMs}}` };
          }),
        }
      : null,
  );
  const env = { SOURCE_URL: server.baseUrl };
  const words = `backfill candles ${market} --interval h1 --from 2024-03-01 --to 2024-03-03`;
  const ended = await run(words, env);
  expect(ended.exitCode).toBe(10);
  expect(lastOf(ended.stdout)).toMatch(
    /^not complete: 32 rejected rows in quarantine; 1 request, 16 new points, /,
  );
  expect(ended.stderr).toMatch(/^tidemark: ROWS_REJECTED: 32 rows of the range .*; .*--accept-rejected/);
  // Nothing is asked for again, and they stand.
  const again = await run(`${words} --json`, env);
  expect(again.exitCode).toBe(10);
  expect(JSON.parse(again.stdout)).toMatchObject({ requests: 0, missing: 0, awaiting: 0, rejected: 32 });
  const accepted = await run(`${words} --accept-rejected`, env);
  expect(accepted).toMatchObject({ exitCode: 0, stderr: '' });
  expect(lastOf(accepted.stdout)).toMatch(/^nothing was missing: .*; 32 rejected rows in quarantine$/);

  const status = await run('status', env);
  expect(status.stdout).toMatch(/^rejected: 32 rows of 1 series, such as: .+ \(tidemark\.quarantine\)$/m);
  const { rejected } = JSON.parse((await run('status --json', env)).stdout);
  expect(rejected).toMatchObject({ rows: 32, series: 1 });
  const other = `backfill candles ${market} --interval h1 --from 2024-03-01 --to 2024-03-01T01:00Z`;
  expect(await run(other, env)).toMatchObject({ exitCode: 0 });
});

it('explains a source clock that is behind', async () => {
  const { begin, simulator, database } = await openWatched();
  simulator.setFaults({ clockOffsetMs: -6 * hourMs });
  const running = begin(`backfill candles ${market} --interval h1 --from 2d`);
  await waitFor('the wait to be said', () =>
    /^waiting until .* for 1 range, the first: .*: stale answer: .*[56] h behind/m.test(running.stderr()),
  );
  // It waits for minutes in case the source only lags; not for one that has been behind for longer.
  await database.pool.query(`update tidemark.pending_windows set first_at = first_at - interval '1 hour'`);
  const ended = await running.ended;
  expect(ended.exitCode).toBe(3);
  expect(lastOf(ended.stdout)).toMatch(/^not complete: 1 range missing; /);
  expect(ended.stderr).toMatch(
    /^tidemark: GAPS_REMAIN: 1 requested range missing, first .*: stale answer: the clock or the copy of the source is [56] h behind/,
  );
});
