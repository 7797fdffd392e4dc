import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Calendar, ListContents, StoredEvent } from '../../dashboard/shapes.ts';
import { dayMs, hourMs } from '../../model/intervals.ts';
import type { Database } from '../../store/db/database.ts';
import { trackList } from '../../store/lists/lists.ts';
import { trackSeries } from '../../store/series/series.ts';
import { commitPoints } from '../store/committing.ts';
import { assetOf, assets, poll } from '../store/lists/polling.ts';
import { useStore } from '../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld } from './dashboard-world.ts';

let now: () => number = Date.now;
const store = useStore();
let world: DashboardWorld;
let database: Database;
beforeAll(async () => {
  ({ database } = store);
  world = await openDashboardWorld(store, {}, 0, () => now());
});
afterEach(async () => {
  now = Date.now;
  await database.pool.query('truncate tidemark.series, tidemark.fetches, tidemark.lists cascade');
});
afterAll(() => world.close());

const get = async <Answer>(path: string) => {
  const answer = await fetch(`${world.url}dashboard/${path}`);
  return { status: answer.status, body: (await answer.json()) as Answer };
};

it('has the wanted and covered time of each month, of one series and of all', async () => {
  const startMs = Date.UTC(2024, 0, 20);
  const endMs = Date.UTC(2024, 3, 1);
  now = () => endMs + dayMs;
  const { seriesId } = await trackSeries(database, market, startMs, endMs);
  const other = { ...market, baseId: 'ethereum' };
  const { seriesId: otherId } = await trackSeries(database, other, Date.UTC(2024, 2, 1), endMs);
  await commitPoints(database, { ...{ seriesId, series: market, window: { startMs, endMs: Date.UTC(2024, 1, 10) } } });
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     values ($1, '[2024-02-20Z,2024-02-21Z)', 'failed', 'HTTP 500', now(), now()),
            ($1, '[2024-03-05Z,2024-03-06Z)', 'awaiting', null, now(), now())`,
    [seriesId],
  );
  const month = (place: number, days: number, covered: number, failed = false, awaiting = false) => ({
    startMs: Date.UTC(2024, place),
    wantedMs: days * dayMs,
    coveredMs: covered * dayMs,
    failed,
    awaiting,
    silent: false,
  });
  const ofOne = await get<Calendar>(`calendar?series=${seriesId}`);
  expect(ofOne.body.months).toEqual([month(0, 12, 12), month(1, 29, 9, true), month(2, 31, 0, false, true)]);
  const ofAll = await get<Calendar>('calendar');
  expect(ofAll.body.months.at(-1)).toEqual(month(2, 62, 0, false, true));
  expect((await get<Calendar>(`calendar?series=${otherId}`)).body.months).toHaveLength(1);
  expect((await get<Calendar>('calendar?series=4711')).body.months).toEqual([]);
  expect((await get('calendar?series=x')).status).toBe(400);
});

it('logs outages, bans, revisions and untracked series, newest first', async () => {
  const nowMs = Date.now();
  const { seriesId } = await trackSeries(database, market, nowMs - 10 * dayMs, null);
  for (const [verdict, error, ...minutesAgo] of [
    ['unreachable', 'ECONNREFUSED', 300, 299, 298, 297],
    ['filled', null, 301, 296, 198],
    // Fewer are no outage.
    ['timeout', 'no answer', 200, 199],
    // Neither is a source that answers between its failures.
    ['server_error', 'HTTP 500', 60, 59, 58, 57, 56],
    ['filled', null, 59.8, 58.8, 57.8, 56.8, 55.8],
    // A source that fails in one way and then in another is away once.
    ['unreachable', 'ECONNREFUSED', 20],
    ['server_error', 'HTTP 500', 19],
    ['timeout', 'no answer', 18],
    ['rate_limited', 'HTTP 418', 100],
  ] as const)
    for (const minutes of minutesAgo)
      await database.pool.query(
        `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, duration_ms, error)
         values (to_timestamp($1), 'candles', $2, 'backfill', 1, $3, 1, $4)`,
        [(nowMs - minutes * 60_000) / 1000, seriesId, verdict, error],
      );
  await database.pool.query(
    `insert into tidemark.point_revisions (series_id, time, seen_at, before)
     select $1, to_timestamp($2) - n * interval '1 day', to_timestamp($2), '{}' from generate_series(1, 3) n`,
    [seriesId, nowMs / 1000 - 60],
  );
  const gone = await trackSeries(database, { ...market, baseId: 'old' }, nowMs - dayMs, null);
  await database.pool.query('update tidemark.series set untracked_at = now() where id = $1', [gone.seriesId]);
  const { body: events } = await get<StoredEvent[]>('events/log');
  // The template of the test's database was migrated some time before.
  const told = events.map(({ kind, text }) => `${kind}: ${text}`);
  expect(told.find((text) => text.startsWith('upgrade'))).toMatch(/^upgrade: schema 0001 to \d{4}$/);
  expect(told.filter((text) => !text.startsWith('upgrade'))).toEqual([
    'untracked: kraken old/euro h1',
    'revision: 3 values revised by the source',
    'outage: the source: no answer (3 requests, no good answer since)',
    'ban: the source: HTTP 418 (1 request)',
    'outage: the source: ECONNREFUSED (4 requests)',
  ]);
  const outage = events.findLast(({ kind }) => kind === 'outage');
  expect((outage?.untilMs ?? 0) - (outage?.timeMs ?? 0)).toBe(4 * 60_000);
  expect(events.find(({ kind }) => kind === 'revision')?.name).toBe('kraken bitcoin/euro h1');
});

it('has the entries of a list, the values before, and who left', async () => {
  const timeMs = Math.floor(Date.now() / 1000) * 1000 - 10 * hourMs;
  await trackList(database, assets, hourMs);
  const long = '1.23456789012345678901234567890';
  await poll(database, timeMs, [assetOf('bitcoin', 1, { priceUsd: long }), assetOf('gone', 2)]);
  for (const hours of [1, 2, 3])
    await poll(database, timeMs + hours * hourMs, [assetOf('bitcoin', 1, { priceUsd: '7.50' })]);
  const { body: list } = await get<ListContents>('list?name=assets');
  const place = list.columns.indexOf('price_usd');
  expect(list.inAll).toBe(1);
  expect(list.rows).toMatchObject([{ key: ['bitcoin'], sinceMs: timeMs + hourMs }]);
  expect(list.rows[0]?.cells[place]).toBe('7.50');
  expect(list.rows[0]?.before?.[place]).toBe(long);
  expect(list.gone).toEqual([{ key: ['gone'], sinceMs: timeMs + hourMs }]);
  expect((await get('list?name=nothing')).status).toBe(404);
});
