import { expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import type { Range } from '../../../model/ranges.ts';
import { defaultSource } from '../../../model/sources.ts';
import { listBackfills } from '../../../operations/backfill/list.ts';
import type { QueueFacts } from '../../../planning/headline.ts';
import { readRegistry } from '../../../runtime/sources.ts';
import { readConfig } from '../../../settings/config.ts';
import { insertBackfill, noteAlive, settleBackfills, settledText } from '../../../store/ledger/backfills.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { endPause, writePause } from '../../../store/settings/settings.ts';
import { endSourcePause, writeSourcePause } from '../../../store/settings/source-orders.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { openOwnStore } from '../../store/open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const day = (index: number) => startMs + index * dayMs;
const days = (from: number, to: number): Range => ({ startMs: day(from), endMs: day(to) });
const nowMs = day(100);
const nobody: QueueFacts = { schedulers: 0, sources: [] };

/** A backfill of the watch list for ten days of two series. */
async function watched(isAlive = false) {
  const { database } = await openOwnStore();
  const config = readConfig({});
  const registry = await readRegistry(config);
  const context = { database, sources: async () => registry, config };
  const seriesIds: number[] = [];
  for (const baseId of ['bitcoin', 'ethereum'])
    seriesIds.push((await trackSeries(database, { ...bitcoinHours, baseId }, day(0), day(10))).seriesId);
  const series = seriesIds.map((seriesId) => ({ seriesId, range: days(0, 10), before: null, after: days(0, 10) }));
  await insertBackfill(database.pool, { kind: 'watch_list', by: 'watch list', series }, { nowMs, isAlive });
  const set = async (index: number, column: 'tracked' | 'covered', { startMs, endMs }: Range) => {
    const range = 'tstzrange(to_timestamp($2), to_timestamp($3))';
    await database.pool.query(
      `update tidemark.series set ${column} = ${column === 'covered' ? `tstzmultirange(${range})` : range} where id = $1`,
      [seriesIds[index], startMs / 1000, endMs / 1000],
    );
  };
  return {
    database,
    cover: (index: number, range: Range) => set(index, 'covered', range),
    narrow: (index: number, range: Range) => set(index, 'tracked', range),
    untrack: (index: number) =>
      database.pool.query('update tidemark.series set untracked_at = now() where id = $1', [seriesIds[index]]),
    /** @param queue by default one without a scheduler. */
    async line(queue: QueueFacts | null = nobody, atMs = nowMs) {
      const [found] = await listBackfills(context, queue, { nowMs: atMs, id: null, most: 10 });
      const { state, result, progress, left } = found ?? {};
      return { state, result, progress, left };
    },
    async answers() {
      const [found] = await listBackfills(context, null, { nowMs, id: 1, most: 1 });
      return found?.answers;
    },
    settle: () => settleBackfills.on(database.pool, { nowMs }),
  };
}

const ended = { progress: null, left: null };

it('ends one of which the rest is no longer tracked, also in the record', async () => {
  const { cover, narrow, untrack, line, settle } = await watched();
  await cover(0, days(5, 10));
  await narrow(0, days(5, 10));
  await settle();
  expect(await line()).toMatchObject({ state: 'interrupted', result: 'nobody goes on with it' });
  await untrack(1);
  const done = { state: 'done', result: 'complete; the rest is no longer tracked', ...ended };
  expect(await line()).toEqual(done);
  await settle();
  expect(await line()).toEqual(done);
});

it('names what its source did not know of one that has ended, also in the record', async () => {
  const { database, cover, untrack, line, settle } = await watched();
  await cover(0, days(0, 10));
  await untrack(1);
  await database.pool.query(
    `update tidemark.series set blocked_kind = 'not_found', blocked_message = 'not found' where base_id = 'ethereum'`,
  );
  const name = 'binance ethereum/tether h1';
  const done = { state: 'done', result: `complete; not known to the source, and no longer tracked: ${name}`, ...ended };
  expect(await line()).toEqual(done);
  await settle();
  expect(await line()).toEqual(done);
  const many = ['a', 'b', 'c', 'd', 'e'];
  expect(settledText(many)).toMatch(/: a, b, c and 2 more$/);
});

it('ends one of which nothing is tracked any more', async () => {
  const { cover, narrow, untrack, line, settle } = await watched();
  await cover(0, days(2, 3));
  // The watch list asks for newer days only.
  await narrow(0, days(10, 20));
  await untrack(1);
  const over = { state: 'interrupted', result: 'no longer tracked', ...ended };
  expect(await line()).toEqual(over);
  await settle();
  expect(await line()).toEqual(over);
});

it('says of one that its source did not know why it has failed, also in the record', async () => {
  const { database, untrack, line, settle } = await watched();
  for (const index of [0, 1]) await untrack(index);
  await database.pool.query(
    `update tidemark.series set blocked_kind = 'not_found', blocked_message = 'not found: did you mean "binance"?'`,
  );
  const result = 'UNKNOWN_AT_SOURCE: not found: did you mean "binance"?';
  const failed = { state: 'failed', result, ...ended };
  expect(await line()).toEqual(failed);
  await settle();
  expect(await line()).toEqual(failed);
});

it('ends one of which no source gives the rest', async () => {
  const { database, cover, line } = await watched();
  for (const index of [0, 1]) await cover(index, days(5, 10));
  expect(await line()).toMatchObject({ state: 'interrupted', left: 2 });
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     select id, tstzrange(to_timestamp($1), to_timestamp($2)), 'beyond_depth', 'too old', now(), '2100-01-01'
     from tidemark.series`,
    [day(0) / 1000, day(5) / 1000],
  );
  expect(await line()).toEqual({ state: 'done', result: 'complete but for 2 ranges that no source gives', ...ended });
});

it('goes on until the newest period has closed, of which nothing is missing before', async () => {
  const { cover, line } = await watched();
  for (const index of [0, 1]) await cover(index, { startMs: day(0), endMs: day(10) - hourMs });
  const scheduled = { ...nobody, schedulers: 1 };
  expect(await line(scheduled, day(10))).toMatchObject({ state: 'running', result: null, left: 0 });
  expect(await line(nobody, day(10))).toMatchObject({ state: 'interrupted', result: 'nobody goes on with it' });
  for (const index of [0, 1]) await cover(index, days(0, 10));
  expect(await line(scheduled, day(10))).toEqual({ state: 'done', result: 'complete', ...ended });
});

it.each(['running', 'failed', 'interrupted'])(
  'tells no end of one that is %s while the queue is away',
  async (state) => {
    const { database, line } = await watched();
    const result = state === 'running' ? null : 'SOURCE_UNREACHABLE: no answer';
    await database.pool.query('update tidemark.backfills set state = $1, result = $2', [state, result]);
    expect(await line(nobody)).toMatchObject({ state: state === 'running' ? 'interrupted' : state });
    const open = await line({ ...nobody, schedulers: 1 });
    expect(open).toMatchObject({ state: 'running', result: null });
    expect(await line(null)).toEqual(open);
    await database.pool.query(`update tidemark.series set blocked_until = to_timestamp($1), blocked_kind = 'x'`, [
      (nowMs + dayMs) / 1000,
    ]);
    expect(await line(null)).toMatchObject({ state: 'waiting', result: null });
  },
);

/** Two backfills of minutes, of which the second begins after the pace of a minute of the first one. */
async function beside(schedulers: number) {
  const { database } = await openOwnStore();
  const config = readConfig({});
  const registry = await readRegistry(config);
  const context = { database, sources: async () => registry, config };
  const ids: number[] = [];
  for (const [baseId, to] of [
    ['bitcoin', 90],
    ['ethereum', 30],
  ] as const) {
    const { seriesId } = await trackSeries(database, { ...bitcoinHours, baseId, interval: 'm1' }, day(0), day(to));
    ids.push(seriesId);
    const series = [{ seriesId, range: days(0, to), before: null, after: days(0, to) }];
    await insertBackfill(database.pool, { kind: 'backfill', by: 'ann', series }, { nowMs, isAlive: true });
  }
  const [first = 0] = ids;
  for (let second = 1; second <= 90; second += 1)
    await recordFetch(database.pool, {
      ...{ timeMs: nowMs - second * 1000, dataset: 'candles', lane: 'backfill', attempt: 1, source: defaultSource },
      ...{ seriesId: first, verdict: 'filled', status: 200, bytes: 0, durationMs: 1 },
    });
  const source = { source: defaultSource, workers: 1, pausedMs: 0, perMinute: 60, lowered: null };
  const queue: QueueFacts = { schedulers, sources: [{ ...source, queued: new Map([[first, 40]]) }] };
  return {
    database,
    async lines(of: Partial<typeof source> = {}) {
      const given = { ...queue, sources: queue.sources.map((one) => ({ ...one, ...of })) };
      const found = await listBackfills(context, given, { nowMs, id: null, most: 10 });
      return new Map(found.map(({ left, etaMs }) => [left, etaMs]));
    },
  };
}

it.each([
  ['a scheduler', 1],
  ['their own processes', 0],
])('tells the time of one that has just begun by the pace of its source, beside another, with %s', async (_, by) => {
  const { lines } = await beside(by);
  // 60 a minute: 40 are queued before, then both take turns. Of one that takes none it would be half a minute.
  expect(await lines()).toEqual(
    new Map([
      [30, 2 * minuteMs],
      [90, 2 * minuteMs],
    ]),
  );
});

it('tells no time while nothing is requested, as status does', async () => {
  const { database, lines } = await beside(1);
  const none = new Map([
    [30, null],
    [90, null],
  ]);
  expect(await lines({ workers: 0 })).toEqual(none);
  // The spacing of a small budget is no pause.
  expect((await lines({ pausedMs: 6000, perMinute: 10 })).get(30)).toBeGreaterThan(minuteMs);
  await writePause(database, { sinceMs: nowMs, by: null });
  expect(await lines()).toEqual(none);
});

it('counts the requests of a backfill alone: not those beside it, nor those of its series outside of its range', async () => {
  const { database, cover, answers } = await watched();
  await cover(0, days(0, 3));
  const record = (lane: 'backfill' | 'refresh' | 'verify' | 'reread', of: Range, error: string | null = null) =>
    recordFetch(database.pool, {
      ...{ timeMs: nowMs, dataset: 'candles', lane, attempt: 1, source: defaultSource, seriesId: 1, range: of },
      ...{ verdict: error === null ? 'filled' : 'timeout', fresh: 24, status: 200, bytes: 0, durationMs: 1, error },
    });
  for (const index of [0, 1, 2]) await record('backfill', days(index, index + 1));
  await record('refresh', days(9, 10));
  for (const index of [3, 4]) await record('backfill', days(index, index + 1), 'no answer');
  await record('verify', days(0, 1));
  // With an archive a range is read from both, as `plan` counts it.
  await record('reread', days(1, 2));
  await record('refresh', days(50, 51));
  // A refresh of what is newer reads the last periods again.
  await record('refresh', { startMs: day(10) - 2 * hourMs, endMs: day(11) });
  expect(await answers()).toEqual({
    ...{ requests: 7, points: 7 * 24, kinds: { filled: 5 } },
    failures: [{ kind: 'timeout', requests: 2, message: 'no answer' }],
  });
});

it('says of one that waits how many ranges do, why, and until when', async () => {
  const { database, cover, answers, line } = await watched(true);
  await database.pool.query(
    `update tidemark.series set blocked_until = to_timestamp($1), blocked_kind = 'unknown', blocked_message = 'unknown'`,
    [(nowMs + dayMs) / 1000],
  );
  const refused = '2 ranges are asked again at 2024-04-11 (refused by the source), 0.00 % covered';
  expect(await line()).toMatchObject({ state: 'waiting', left: 0, progress: refused });
  expect(await answers()).toMatchObject({ requests: 0 });
  await cover(0, days(0, 9));
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     values (1, tstzrange(to_timestamp($1), to_timestamp($2)), 'awaiting', '', now(), to_timestamp($3))`,
    [day(9) / 1000, day(10) / 1000, (nowMs + dayMs / 2) / 1000],
  );
  await database.pool.query('update tidemark.series set blocked_until = null where id = 1');
  const both =
    '2 ranges are asked again, the first at 2024-04-10 12:00Z (came back empty, refused by the source), 45.00 % covered';
  expect(await line()).toMatchObject({ state: 'waiting', left: 0, progress: both });
  await database.pool.query('update tidemark.series set blocked_until = null');
  expect(await line()).toMatchObject({ state: 'running', left: 1, progress: '1 of 2 requests to go, 45.00 % covered' });
});

it('says of one that a user has paused since when, by whom, and what', async () => {
  const { database, cover, line } = await watched(true);
  const rest = '2 of 2 requests to go, 0.00 % covered';
  const running = { state: 'running', left: 2, progress: rest };
  expect(await line()).toMatchObject(running);
  await writePause(database, { sinceMs: day(99), by: 'ann' });
  const paused = { ...running, state: 'paused', progress: `${rest}; requests are paused since 2024-04-09 by ann` };
  expect(await line()).toMatchObject(paused);
  await endPause(database, nowMs);
  // Another source is asked in place of the paused one.
  await database.pool.query(
    `insert into tidemark.series_sources (series_id, rank, source, symbol) values (2, 2, 'okx', 'ETH-USDT')`,
  );
  await writeSourcePause(database, defaultSource, { sinceMs: day(99), by: null });
  expect(await line()).toMatchObject({ state: 'running' });
  await cover(1, days(0, 10));
  const ofSource = expect.stringMatching(/ covered; requests to the default source are paused since 2024-04-09$/);
  expect(await line()).toMatchObject({ state: 'paused', left: 1, progress: ofSource });
  await endSourcePause(database, defaultSource, nowMs);
  expect(await line()).toMatchObject({ state: 'running', progress: '1 of 2 requests to go, 50.00 % covered' });
});

it('says of one whose sources are away or refuse requests that it waits, and for what', async () => {
  const { database, line } = await watched(true);
  const queue = (pausedMs: number): QueueFacts => ({
    schedulers: 1,
    sources: [{ source: defaultSource, workers: 1, pausedMs, perMinute: 60, lowered: null }],
  });
  const rest = '2 of 2 requests to go, 0.00 % covered';
  const fail = async (verdict: string, secondsAgo: number) =>
    recordFetch(database.pool, {
      ...{ timeMs: nowMs - secondsAgo * 1000, dataset: 'candles', lane: 'backfill', attempt: 1, source: defaultSource },
      ...{ seriesId: 1, verdict, status: null, bytes: 0, durationMs: 1, error: `no answer: ${verdict}` },
    });
  for (const second of [30, 20]) await fail('unreachable', second);
  expect(await line(queue(0))).toMatchObject({ state: 'running', progress: rest });
  await fail('unreachable', 10);
  const away = 'the source is unreachable since 2024-04-09 23:59:30Z: no answer: unreachable; tried again within 10 s';
  const waiting = { state: 'waiting', left: 2, progress: `${rest}; ${away}` };
  expect(await line(queue(0))).toMatchObject(waiting);
  // Another source is asked in its place.
  await database.pool.query(
    `insert into tidemark.series_sources (series_id, rank, source, symbol) values (2, 2, 'okx', 'ETH-USDT')`,
  );
  expect(await line(queue(0))).toMatchObject({ state: 'running' });
  await database.pool.query(`delete from tidemark.series_sources where source = 'okx'`);
  await fail('rate_limited', 5);
  const banned = 'the source accepts no request until 2024-04-10 00:00:49Z: no answer: rate_limited';
  expect(await line(queue(49_000))).toMatchObject({ ...waiting, progress: `${rest}; ${banned}` });
  await writePause(database, { sinceMs: day(99), by: null });
  expect(await line(queue(49_000))).toMatchObject({ state: 'paused' });
});

it('says of a verification how many windows are to go, and that all requests are paused', async () => {
  const { database, line } = await watched();
  const series = [{ seriesId: 1, range: days(0, 10), before: null, after: null }];
  const id = await insertBackfill(
    database.pool,
    { kind: 'verify', by: 'ann', series },
    { nowMs: nowMs + 1, isAlive: true },
  );
  const begun = { state: 'running', progress: 'no window is answered yet', left: null };
  expect(await line()).toMatchObject(begun);
  await noteAlive.on(database.pool, { id, progress: { done: 12, of: 40, etaMs: null } });
  expect(await line()).toMatchObject({ state: 'running', progress: '28 of 40 windows to go', left: 28 });
  await writePause(database, { sinceMs: day(99), by: null });
  const paused = '28 of 40 windows to go; requests are paused since 2024-04-09';
  expect(await line()).toMatchObject({ state: 'paused', progress: paused });
});
