import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { createQueueReader } from '../../../service/dashboard/queue.ts';
import { stateReader } from '../../../service/dashboard/state.ts';
import type { Database } from '../../../store/db/database.ts';
import { trackList, untrackList } from '../../../store/lists/lists.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { openTestStore, type TestStore } from '../../store/open-store.ts';
import { market, quietQueue } from './dashboard-world.ts';

it('reports the interval and the last failure of rates like those of other lists', async () => {
  const { database, close } = await openTestStore();
  onTestFinished(close);
  const state = { nowMs: Date.UTC(2024, 0, 1) };
  const read = stateReader({
    database,
    queue: createQueueReader(systemClock, () => Promise.reject()),
    clock: clockAt(() => state.nowMs),
    ...{ graceMs: 0, rangeLimits: {}, perMinute: 0, synthetic: false, ratesMs: 5 * minuteMs },
  });
  const rates = async () => {
    state.nowMs += minuteMs;
    return (await read()).summary.lists.find(({ name }) => name === 'rates');
  };
  const poll = (error: string | null) =>
    database.pool.query(
      `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, fresh, changed, unchanged, rejected, bytes, duration_ms, error)
       values (to_timestamp($1), 'rates', 'poll', 1, 'filled', 0, 0, 0, 0, 0, 0, $2)`,
      [state.nowMs / 1000, error],
    );
  const never = { name: 'rates', everyMs: 5 * minuteMs, newestMs: null, rows: null, problem: null };
  expect(await rates()).toEqual(never);
  await poll('HTTP 500');
  expect(await rates()).toEqual({ ...never, problem: 'HTTP 500' });
  await poll(null);
  expect(await rates()).toEqual(never);
  await poll('HTTP 502');
  state.nowMs += dayMs;
  expect(await rates()).toEqual(never);
  await untrackList(database, { dataset: 'rates', asset: null }, state.nowMs);
  expect(await rates()).toBeUndefined();
});

it.each(['lists', 'rates'])('reports the outage of a source from which only %s are polled', async (what) => {
  const { database, close } = await openTestStore();
  onTestFinished(close);
  const nowMs = Date.now();
  const { seriesId } = await trackSeries(database, market, nowMs - dayMs, nowMs - dayMs / 2);
  await database.pool.query(
    `insert into tidemark.series_sources (series_id, rank, source, symbol) values ($1, 1, 'venue', 'BTCEUR')`,
    [seriesId],
  );
  const conditions = async () => {
    const { summary } = await stateReader({
      database,
      queue: createQueueReader(systemClock, async () => ({
        ...quietQueue,
        facts: { schedulers: 1, sources: [] },
      })),
      clock: clockAt(() => nowMs),
      ...{ graceMs: 0, rangeLimits: {}, perMinute: 0, synthetic: false },
    })();
    const { headline, also } = summary.state;
    return [headline, ...also].map(({ kind }) => kind);
  };
  const failedAt = (timeMs: number) =>
    database.pool.query(
      `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, fresh, changed, unchanged, rejected, bytes, duration_ms, error)
       select to_timestamp($1), $2, 'poll', 1, 'unreachable', 0, 0, 0, 0, 0, 0, 'refused' from generate_series(1, 3)`,
      [timeMs / 1000, what === 'lists' ? 'assets' : 'rates'],
    );
  await failedAt(nowMs - 2 * hourMs);
  expect(await conditions()).not.toContain('source_away');
  if (what === 'lists') await trackList(database, { dataset: 'assets', asset: null }, minuteMs);
  else await failedAt(nowMs - minuteMs);
  expect(await conditions()).toContain('source_away');
});

describe('the headline of what is stored', () => {
  const nowMs = Date.now();
  const window = { startMs: nowMs - dayMs, endMs: nowMs - dayMs / 2 };
  let store: TestStore;
  beforeAll(async () => {
    store = await openTestStore();
    await trackSeries(store.database, market, window.startMs, window.endMs);
  });
  afterAll(() => store.close());
  const failed = (verdict: string, status: number | null, error: string) => (database: Database) =>
    database.pool.query(
      `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, status, duration_ms, error)
       select to_timestamp($1) + n * interval '1 second', 'candles', 1, 'backfill', 1, $2, $3, 1, $4 from generate_series(1, 3) n`,
      [nowMs / 1000 - 60, verdict, status, error],
    );
  const pending = (verdict: string) => (database: Database) =>
    database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values (1, tstzrange(to_timestamp($1), to_timestamp($2)), $3, 'HTTP 500', now(), now() + interval '1 hour')`,
      [window.startMs / 1000, window.endMs / 1000, verdict],
    );
  const rejected = (database: Database) =>
    database.pool.query(
      `insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw) values (now(), 'candles', 1, 'r', '{}')`,
    );
  const overdueJob = (database: Database) =>
    database.pool.query(
      `select alter_job(job_id, scheduled => true, next_start => now() - interval '2 hours')
       from timescaledb_information.jobs where hypertable_name = 'candle_points'`,
    );

  it.each([
    [
      'a source that is unreachable',
      'source_away',
      /unreachable since .*refused.*; retrying now/,
      failed('unreachable', null, 'refused'),
    ],
    [
      'a service message',
      'source_notice',
      /service message since .*is retired.*; retry/,
      failed('notice', 200, 'is retired'),
    ],
    [
      'a refused key',
      'source_refuses_key',
      /^the source refuses the API key since /,
      failed('unauthorized', 401, 'unknown key'),
    ],
    [
      'a ban',
      'banned',
      /^the source accepts no request until 20\d\d-.*: HTTP 429/,
      failed('rate_limited', 429, 'HTTP 429'),
    ],
    ['rejected rows', 'rows_rejected', /^1 row of the source was rejected/, rejected],
    ['a range that failed', 'ranges_failed', /fail/, pending('failed')],
    ['an empty range', 'awaiting_second_answer', /second answer/, pending('empty')],
    ...(inject('absent').timescale === ''
      ? [
          [
            'an overdue job',
            'jobs_failing',
            /^1 job of TimescaleDB fails, policy_compression of tidemark.candle_points: /,
            overdueJob,
          ] as const,
        ]
      : []),
  ] as const)('names %s', async (_, kind, sentence, happen) => {
    const { database } = store;
    onTestFinished(async () => {
      await database.pool.query('truncate tidemark.fetches, tidemark.pending_windows, tidemark.quarantine');
    });
    await happen(database);
    const [source] = quietQueue.facts.sources;
    const pausedMs = kind === 'banned' ? 300_000 : 0;
    const facts = { schedulers: 1, sources: source === undefined ? [] : [{ ...source, pausedMs }] };
    const { summary } = await stateReader({
      ...{
        database,
        clock: clockAt(() => nowMs),
        graceMs: 0,
        rangeLimits: {},
        perMinute: 0,
        synthetic: false,
      },
      queue: createQueueReader(systemClock, async () => ({ ...quietQueue, facts })),
    })();
    const { headline, also } = summary.state;
    expect([headline, ...also].find((one) => one.kind === kind)?.text).toMatch(sentence);
  });
});
