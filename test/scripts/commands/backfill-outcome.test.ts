import { expect, it } from 'vitest';
import { hourMs } from '../../../model/intervals.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { serveRows } from '../../pipeline/serve-rows.ts';
import { openWatched } from './watch-list-parts.ts';

const startMs = Date.UTC(2024, 2, 1);
const market = '--exchange binance --base bitcoin --quote tether';
const lastOf = (stdout: string) => stdout.trimEnd().split('\n').at(-1);

it('is not complete while a range awaits its second answer, except with --accept-empty', async () => {
  const { say, fails, simulator, query } = await openWatched();
  const first = `backfill candles ${market} --interval h1 --from 2024-03-01 --to`;
  const exported = `export candles ${market} --interval h1`;
  await say(`${first} 2024-03-03`);
  simulator.setFaults({ emptyRate: 1 });
  const stdout = await fails(
    `${first} 2024-03-05`,
    9,
    /^tidemark: AWAITS_SECOND_ANSWER: 1 range came back empty, first binance bitcoin\/tether h1 2024-03-03 to 2024-03-05: .*; .*--wait.*--accept-empty/,
  );
  expect(lastOf(stdout)).toMatch(
    /^not complete: 1 range came back empty, to be asked again, due \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z; 2 requests, 0 new points, /,
  );
  const json = await fails(`${first} 2024-03-05 --json`, 9, '');
  expect(JSON.parse(json)).toMatchObject({ awaiting: 1, missing: 0, rejected: 0 });
  await fails(exported, 3, '--wait');

  expect(await say(`${first} 2024-03-05 --accept-empty`)).toMatch(
    /^nothing was missing: .*; 1 range accepted as empty after one answer$/m,
  );
  const known = await query(
    `select confirmed_empty = '{["2024-03-03 00:00Z","2024-03-05 00:00Z")}' as empty,
            covered = '{["2024-03-01 00:00Z","2024-03-05 00:00Z")}' as covered from tidemark.series`,
  );
  expect(known).toEqual([{ empty: true, covered: true }]);
  await say(exported);

  // What was taken as empty is found again as any other emptiness is.
  simulator.setFaults({});
  await query(`update tidemark.empty_answers set answered_at = answered_at - interval '2 days'`);
  await say('repair --empty-older-than 1d');
  expect(await query('select points, confirmed_empty::text from tidemark.series')).toEqual([
    { points: 96, confirmed_empty: '{}' },
  ]);
});

it('waits for a second answer with --wait, and requests it when it is due', async () => {
  const { beginHere, say, simulator, query } = await openWatched();
  const first = `backfill candles ${market} --interval h1 --from 2024-03-01 --to`;
  await say(`${first} 2024-03-03`);
  simulator.setFaults({ emptyRate: 1 });
  const running = beginHere(`${first} 2024-03-05 --wait`);
  const waiting =
    /^waiting until [\d: -]+Z for 1 range, the first: binance bitcoin\/tether h1 2024-03-03 to 2024-03-05: came back empty \(again at /m;
  await waitFor('the wait to be said', () => waiting.test(running.stderr()));
  simulator.setFaults({});
  await query(`update tidemark.pending_windows set first_at = first_at - interval '2 hours', retry_at = now()`);
  const ended = await running.ended;
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(lastOf(ended.stdout)).toMatch(/^complete: 3 requests, 48 new points, /);
});

it('says what is missing when it is stopped while it waits', async () => {
  const { begin, simulator } = await openWatched();
  simulator.setFaults({ emptyRate: 1 });
  const running = begin(`backfill candles ${market} --interval h1 --from 2024-03-01 --to 2024-03-03 --wait`);
  await waitFor('the wait to be said', () => running.stderr().includes('waiting until'));
  running.kill('SIGINT');
  expect(await running.ended).toMatchObject({
    exitCode: 130,
    stderr: expect.stringContaining('INTERRUPTED: stopped with 1 range missing; fetched windows are stored'),
  });
});

it('waits while many requests fail, and says why', async () => {
  const { beginHere, simulator } = await openWatched();
  const running = beginHere(`backfill candles ${market} --interval m1 --from 2024-03-01 --to 2024-03-07`, {
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
  const { say, json, fails } = await openWatched();
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
  const rejects = /^tidemark: ROWS_REJECTED: 32 rows of the range .*; such as: .*--accept-rejected/;
  expect(lastOf(await fails(words, 10, rejects, env))).toMatch(
    /^not complete: 32 rejected rows in quarantine; 1 request, 16 new points, /,
  );
  // Nothing is asked for again, and they stand.
  const again = await fails(`${words} --json`, 10, rejects, env);
  expect(JSON.parse(again)).toMatchObject({ requests: 0, missing: 0, awaiting: 0, rejected: 32 });
  expect(lastOf(await say(`${words} --accept-rejected`, env))).toMatch(
    /^nothing was missing: .*; 32 rejected rows in quarantine$/,
  );
  expect(await say('status', env)).toMatch(/^rejected: 32 rows of 1 series, such as: .+ \(tidemark\.quarantine\)$/m);
  expect(await json('status')).toMatchObject({ rejected: { rows: 32, series: 1 } });
  expect(await json('gaps')).toMatchObject({ quarantined: [{}] });
  await say(`backfill candles ${market} --interval h1 --from 2024-03-01 --to 2024-03-01T01:00Z`, env);
});

it('explains a source clock that is behind', async () => {
  const { beginHere, simulator, query } = await openWatched();
  simulator.setFaults({ clockOffsetMs: -6 * hourMs });
  const running = beginHere(`backfill candles ${market} --interval h1 --from 2d`);
  await waitFor('the wait to be said', () =>
    /^waiting until .* for 1 range, the first: .*: stale answer: .*[56] h behind/m.test(running.stderr()),
  );
  // It waits for minutes in case the source only lags; not for one that has been behind for longer.
  await query(`update tidemark.pending_windows set first_at = first_at - interval '1 hour'`);
  const ended = await running.ended;
  expect(ended.exitCode).toBe(3);
  expect(lastOf(ended.stdout)).toMatch(/^not complete: 1 range missing; /);
  expect(ended.stderr).toMatch(
    /^tidemark: GAPS_REMAIN: 1 requested range missing, first .*: stale answer: the clock or the copy of the source is [56] h behind/,
  );
});
