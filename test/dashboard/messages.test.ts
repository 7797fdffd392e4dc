/** Every answer and event of the dashboard is as its schema says, field by field. Actions have a test of their own. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answers, answers, events } from '../../dashboard/shapes.ts';
import { dayMs, hourMs } from '../../model/intervals.ts';
import { loadSyntheticYear } from '../docs/synthetic-year.ts';
import { useStore } from '../store/open-store.ts';
import { type DashboardWorld, openDashboardWorld } from './dashboard-world.ts';
import { listenTo } from './event-stream.ts';

const nowMs = Date.UTC(2025, 0, 11);
const store = useStore();
let world: DashboardWorld;

beforeAll(async () => {
  const { database } = store;
  await loadSyntheticYear(database);
  // One of each that the year does not have.
  await database.pool.query(
    `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, duration_ms, error)
     values (to_timestamp($1), 'candles', 1, 'backfill', 1, 'unavailable', 80, 'status 503'),
            (to_timestamp($1) - interval '1 day', 'candles', 1, 'backfill', 1, 'series_refused', 80, 'status 403')`,
    [(nowMs - hourMs / 2) / 1000],
  );
  await database.pool.query(
    `insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw)
     values (now(), 'candles', 1, 'open is null', '{}')`,
  );
  await database.pool.query(
    `with made as (
       insert into tidemark.backfills (asked_at, asked_by, kind, state, seen_at, progress)
       values (now(), 'somebody@host', 'backfill', 'running', now(), null),
              (now(), '127.0.0.1', 'verify', 'running', now(), '{"done": 1, "of": 3, "etaMs": null}') returning id
     )
     insert into tidemark.backfill_series
     select id, 1, '[2024-08-01Z,2024-09-01Z)', null, '[2024-08-01Z,2024-09-01Z)' from made`,
  );
  await database.pool.query(
    `insert into tidemark.actions (time, action, request, address, state)
     values (to_timestamp($1), 'pause', '{}', '127.0.0.1', 'done')`,
    [nowMs / 1000],
  );
  world = await openDashboardWorld(store, {}, 0, () => nowMs);
});
afterAll(() => world.close());

const series = 'from=1722470400000&to=1725148800000';
const paths: Readonly<Record<Exclude<keyof Answers, 'actions'>, readonly string[]>> = {
  bands: ['bands?ids=1,2&columns=100', `bands?ids=2&columns=100&${series}`],
  'series/:id': ['series/1', 'series/2', 'series/6'],
  'series/:id/points': [`series/1/points?interval=d1&${series}`, `series/6/points?interval=d1&${series}`],
  'series/:id/range': [`series/1/range?${series}`, `series/2/range?${series}`, `series/6/range?${series}`],
  problems: ['problems'],
  backfills: ['backfills'],
  calendar: ['calendar', 'calendar?series=2'],
  refusals: ['refusals?source=default'],
  requests: [`requests?minute=${nowMs - hourMs / 2}`, `requests?minute=${nowMs}`],
  storage: ['storage'],
  'events/log': ['events/log'],
  timeline: [`timeline?from=0&to=${nowMs + 1000 * dayMs}`],
  list: ['list?name=assets', 'list?name=rates', 'list?name=markets'],
};

it.each(Object.entries(paths))('%s', async (name, asked) => {
  for (const path of asked) {
    const response = await fetch(`${world.url}dashboard/${path}`);
    expect([path, response.status]).toEqual([path, 200]);
    const answer = await response.json();
    expect(answers[name as keyof Answers].parse(answer)).toEqual(answer);
    expect(JSON.stringify(answer).length).toBeGreaterThan(10);
  }
});

it('events', async () => {
  const stream = await listenTo(`${world.url}dashboard/events`);
  await stream.next(({ name }) => name === 'snapshot');
  await store.database.pool.query(`update tidemark.series set untracked_at = now() where id = 3`);
  await stream.next(({ name }) => name === 'change');
  // A response to HEAD would never end.
  expect((await fetch(`${world.url}dashboard/events`, { method: 'HEAD' })).status).toBe(405);
  for (const { name, data } of stream.events) expect(events[name].parse(data)).toEqual(data);
});
