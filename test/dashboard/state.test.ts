/** What the state of the dashboard has from the store: the conditions of its headline. */

import { afterEach, beforeAll, expect, inject, it } from 'vitest';
import { systemClock } from '../../clock.ts';
import { createQueueReader, type QueueSnapshot } from '../../dashboard/queue.ts';
import { stateReader } from '../../dashboard/state.ts';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { trackSeries } from '../../store/series/series.ts';
import { clockAt } from '../parts/test-clock.ts';
import { useStore } from '../store/open-store.ts';
import { market, plainPorts, quietQueue } from './dashboard-world.ts';

const nowMs = Date.now();
const window = { startMs: nowMs - dayMs, endMs: nowMs - dayMs / 2 };
const store = useStore();
let seriesId: number;
beforeAll(async () => {
  ({ seriesId } = await trackSeries(store.database, market, window.startMs, window.endMs));
});
afterEach(() => query('truncate tidemark.fetches, tidemark.pending_windows, tidemark.quarantine'));

const query = (sql: string, values: unknown[] = []) => store.database.pool.query(sql, values);

async function conditions(facts: Partial<QueueSnapshot['facts']> = {}): Promise<Record<string, string>> {
  const read = stateReader({
    database: store.database,
    queue: createQueueReader(systemClock, async () => ({ ...quietQueue, facts: { ...quietQueue.facts, ...facts } })),
    clock: clockAt(() => nowMs),
    ...{ ports: plainPorts(store.database, 0), graceMs: 0, perMinute: 0, synthetic: false },
  });
  const { headline, also } = (await read()).summary.state;
  return Object.fromEntries([headline, ...also].map(({ kind, text }) => [kind, text]));
}

const pending = (reason: string) => () =>
  query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), $4, 'HTTP 500', now(), now() + interval '1 hour')`,
    [seriesId, window.startMs / 1000, window.endMs / 1000, reason],
  );
/** Three requests with this outcome. */
const failed = (verdict: string, status: number, error: string) => () =>
  query(
    `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, status, duration_ms, error)
     select to_timestamp($1) + n * interval '1 second', 'candles', $2, 'poll', 1, $3, $4, 1, $5
     from generate_series(1, 3) n`,
    [(nowMs - minuteMs) / 1000, seriesId, verdict, status, error],
  );
const rejected = () =>
  query(
    `insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw) values (now(), 'candles', 1, 'r', '{}')`,
  );
const overdueJob = () =>
  query(
    `select alter_job(job_id, scheduled => true, next_start => now() - interval '2 hours')
     from timescaledb_information.jobs where hypertable_name = 'candle_points'`,
  );

it.each([
  ['source_away', /unreachable since .*refused.*; tried again within 10 s/, failed('unreachable', 0, 'refused')],
  ['source_notice', /service message since .*is retired.*; tried again/, failed('notice', 200, 'is retired')],
  ['source_refuses_key', /refuses the API key or its plan since /, failed('unauthorized', 401, 'unknown key')],
  ['banned', /accepts no request until 20\d\d-.*: HTTP 429/, failed('rate_limited', 429, 'HTTP 429')],
  ['rows_rejected', /^1 rejected row without a point/, rejected],
  ['ranges_failed', /fail/, pending('failed')],
  ['awaiting_second_answer', /came back empty/, pending('awaiting')],
  ...(inject('absent').timescale === ''
    ? [
        [
          'jobs_failing',
          /^1 TimescaleDB job fails \(the scheduler does its work\): no background worker/,
          overdueJob,
        ] as const,
      ]
    : []),
] as const)('the headline of what is stored names %s', async (kind, sentence, happen) => {
  expect(await conditions()).not.toHaveProperty(kind);
  await happen();
  const pausedMs = kind === 'banned' ? 300_000 : 0;
  const sources = quietQueue.facts.sources.map((source) => ({ ...source, pausedMs }));
  expect((await conditions({ sources }))[kind]).toMatch(sentence);
});

it('has the headline of the same moment as the lines', async () => {
  const read = stateReader({
    database: store.database,
    queue: createQueueReader(systemClock, async () => ({
      ...quietQueue,
      facts: { ...quietQueue.facts, schedulers: 1 },
    })),
    clock: clockAt(() => nowMs),
    ...{ ports: plainPorts(store.database, 0), graceMs: 0, perMinute: 0, synthetic: false },
  });
  const seen = async () => {
    const { series, summary } = await read();
    return { isComplete: series[0]?.missingMs === 0, left: summary.state.left };
  };
  expect(await seen()).toEqual({ isComplete: false, left: 1 });
  await query('update tidemark.series set covered = tstzmultirange(tracked) where id = $1', [seriesId]);
  expect(await seen()).toEqual({ isComplete: true, left: 0 });
  await query(`update tidemark.series set covered = '{}' where id = $1`, [seriesId]);
});
