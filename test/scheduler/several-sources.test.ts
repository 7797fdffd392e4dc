import { expect, test } from 'vitest';
import { defaultSource } from '../../model/sources.ts';
import { passedOverAfterMs } from '../../planning/source-share.ts';
import { runPass } from '../../scheduler/pass.ts';
import type { PlannedSource } from '../../scheduler/read-facts.ts';
import { deferWindow } from '../../store/commit/deferred-windows.ts';
import { openMissing } from '../../store/commit/open-missing.ts';
import { recordFetch } from '../../store/ledger/ledger.ts';
import { blockSeries, trackSeries } from '../../store/series/series.ts';
import { setSeriesSources } from '../parts/series-sources.ts';
import { bitcoinHours as candleSeries, defaultKind } from '../queue/queue-parts.ts';
import { offersOf } from '../sources/source-facts.ts';
import { hourMs, noonMs, openParts } from '../workers/worker-parts.ts';

const startMs = noonMs - 4 * hourMs;
const hour = (place: number) => ({ startMs: startMs + place * hourMs, endMs: startMs + (place + 1) * hourMs });

const rules = { backfillShare: 0.2, graceMs: 0, openRefreshMs: null };
const hourly = { requestsPerMinute: 50, offers: offersOf({ candles: { h1: hourMs } }) };

/** A series of four hours that two sources give. */
async function open([first, next] = ['first', 'next']) {
  const parts = await openParts(defaultKind());
  const { database } = parts;
  const { seriesId } = await trackSeries(database, candleSeries, startMs, noonMs);
  await database.pool.query('update tidemark.series set earliest = lower(tracked)');
  const named = (source: string) => ({ source, symbol: 'BTCUSDT', isArchive: false });
  await setSeriesSources(database, seriesId, [named(first), named(next)]);
  /** Starts of the windows that a source requests, hours after the first. */
  const planned = async (source: string, nowMs = noonMs, more: Partial<PlannedSource> = {}) => {
    const requests = parts.queues.requestsOf(source);
    const pausedForMs = (name: string) => parts.queues.requestsOf(name).pausedForMs();
    await runPass({ database, requests, rules, pausedForMs, source: { ...hourly, name: source, ...more } }, nowMs, 0);
    const windows = (await requests.claimedWindows()).windows.get(seriesId) ?? [];
    return windows.map((window) => (window.startMs - startMs) / hourMs).sort();
  };
  const failed = { reason: 'failed', message: 'not here', attempts: 1, nowMs: noonMs, seriesId } as const;
  const defer = (place: number, source: string) =>
    deferWindow(database.pool, { ...failed, window: hour(place), source, retryAtMs: noonMs + hourMs });
  return { database, seriesId, planned, defer, queues: parts.queues };
}

/** A series of twenty hours that one source gives. */
async function creditParts() {
  const parts = await openParts(defaultKind());
  const { database } = parts;
  const { seriesId } = await trackSeries(database, candleSeries, noonMs - 20 * hourMs, noonMs);
  await database.pool.query('update tidemark.series set earliest = lower(tracked)');
  await setSeriesSources(database, seriesId, [{ source: 'first', symbol: 'BTCUSDT', isArchive: false }]);
  return { database, seriesId, requests: parts.queues.requestsOf('first') };
}

test.each([
  ['first', 'next'],
  [defaultSource, 'next'],
  ['first', defaultSource],
])('%s comes first: %s is asked for what it could not give, and for nothing else', async (first, next) => {
  const { planned, defer } = await open([first, next]);
  await defer(1, first);
  expect(await planned(first)).toEqual([0, 2, 3]);
  expect(await planned(next)).toEqual([1]);
});

test.each([{ periods: 4 }, { ms: 4 * hourMs }])(
  'what is beyond the depth of the next source, %j, stays to be asked of the first',
  async (depth) => {
    const { planned, defer } = await open();
    await defer(3, 'first');
    const offers = offersOf({ candles: { h1: hourMs } }, depth);
    expect(await planned('next', noonMs, { offers })).toEqual([3]);
    expect(await planned('first')).toEqual([0, 1, 2]);
  },
);

test('an archive after another source is asked for what that one lacks', async () => {
  const { planned, defer } = await open();
  await defer(1, 'first');
  const files = { unit: 'day', lagMs: 0 } as const;
  expect(await planned('next', noonMs + 24 * hourMs, { files })).toEqual([1]);
});

test.each([
  ['next', { first: [], next: [1] }],
  ['first', { first: [1], next: [] }],
  ['elsewhere', { first: [], next: [] }],
])('what a comparison found at %s and not here is opened, and asked of it', async (source, asked) => {
  const { database, seriesId, planned } = await open();
  await database.pool.query('update tidemark.series set covered = tstzmultirange(tracked)');
  await database.pool.query(
    `insert into tidemark.cross_differences (series_id, source, time, seen_at, kind, there)
     select id, $1, lower(tracked) + interval '1 hour', now(), 'missing_here', '{}' from tidemark.series where id = $2`,
    [source, seriesId],
  );
  const found = await openMissing(database, [seriesId], noonMs);
  expect(found).toEqual([{ series: candleSeries, source, points: 1, isOpened: source !== 'elsewhere' }]);
  expect({ first: await planned('first'), next: await planned('next') }).toEqual(asked);
  expect(await openMissing(database, [seriesId], noonMs)).toEqual(source === 'elsewhere' ? found : []);
});

test('the order of the sources changes, and a source is left out', async () => {
  const { database, seriesId, planned, defer } = await open();
  const named = (source: string) => ({ source, symbol: 'BTCUSDT', isArchive: false });
  await blockSeries(database, {
    seriesId,
    kind: 'refused',
    untilMs: noonMs + hourMs,
    message: 'unknown here',
    source: 'first',
  });
  const ranks = async () => {
    const { rows } = await database.pool.query<{ text: string }>(
      `select rank || ' ' || source || ' ' || (blocked_until is not null) as text from tidemark.series_sources order by rank`,
    );
    return rows.map(({ text }) => text);
  };
  await setSeriesSources(database, seriesId, [named('next'), named('first')]);
  expect(await ranks()).toEqual(['1 next false', '2 first true']);
  await defer(1, 'next');
  expect(await planned('next')).toEqual([0, 2, 3]);
  await setSeriesSources(database, seriesId, [named('first')]);
  expect(await ranks()).toEqual(['1 first true']);
});

test('a source that does not know the series leaves all of it to the next one', async () => {
  const { database, seriesId, planned } = await open();
  const untilMs = noonMs + hourMs;
  await blockSeries(database, { seriesId, source: 'first', kind: 'unknown_id', message: 'unknown', untilMs });
  expect(await planned('first')).toEqual([]);
  expect(await planned('next')).toEqual([0, 1, 2, 3]);
});

test('a source that has been away for a while is passed over', async () => {
  const { database, planned } = await open();
  for (const agoMs of [passedOverAfterMs, 2000, 1000])
    await recordFetch(database.pool, {
      timeMs: noonMs - agoMs,
      dataset: 'candles',
      seriesId: null,
      range: null,
      lane: 'backfill',
      attempt: 1,
      verdict: 'unreachable',
      status: null,
      error: 'connect ECONNREFUSED',
      bytes: 0,
      durationMs: 1,
      source: 'first',
    });
  expect(await planned('next', noonMs - 1)).toEqual([]);
  expect(await planned('next')).toEqual([0, 1, 2, 3]);
});

test('no more is requested than the credits of a source allow, before the ledger knows what a request costs', async () => {
  const { database, requests, seriesId } = await creditParts();
  const longLimit = { unit: 'credit', amount: 30, periodMs: 30 * 24 * hourMs, bytesEach: 100, rowBytes: 250 } as const;
  const pass = () => runPass({ database, requests, rules, source: { ...hourly, name: 'first', longLimit } }, noonMs, 0);
  // A window costs 1 and 250 bytes: 4 credits.
  expect(await pass()).toMatchObject({ added: 7 });
  // They are not in the ledger yet.
  expect(await pass()).toMatchObject({ added: 0, queued: 7 });
  await requests.dropSeries(seriesId);
  await recordFetch(database.pool, {
    ...{ timeMs: noonMs - 1000, dataset: 'candles', seriesId: null, range: null, lane: 'backfill', attempt: 1 },
    ...{ verdict: 'filled', status: 200, error: null, bytes: 2400, durationMs: 1, source: 'first' },
  });
  expect(await pass()).toMatchObject({ added: 1 });
});

test('a source that bans us is passed over, and not one that pauses for a minute', async () => {
  const { queues, planned } = await open();
  await queues.requestsOf('first').pauseForMs(passedOverAfterMs);
  expect(await planned('next')).toEqual([]);
  await queues.requestsOf('first').pauseForMs(10 * passedOverAfterMs);
  expect(await planned('next')).toEqual([0, 1, 2, 3]);
});
