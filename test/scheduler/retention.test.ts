import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { SeriesKey } from '../../model/series.ts';
import { type PassEvents, startScheduler } from '../../scheduler/scheduler.ts';
import { trackSeries } from '../../store/series/series.ts';
import { writeRetention } from '../../store/upkeep/retention.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { clockAt } from '../parts/test-clock.ts';
import { lockWaits, waitFor, waitForLock } from '../parts/wait-for.ts';
import { collectingLog, defaultKind, silent } from '../queue/queue-parts.ts';
import { sourcesOf } from '../sources/source-facts.ts';
import { commitPoints, storedPoints } from '../store/committing.ts';
import { hourMs, openParts } from '../workers/worker-parts.ts';

const series: SeriesKey = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'h1' };
const dayMs = 24 * hourMs;
const startMs = Date.UTC(2020, 0, 1);

test('a scheduler drops expired points when it starts, and again at intervals', async () => {
  const parts = await openParts(defaultKind());
  const { database } = parts;
  let nowMs = Date.now();
  const of = { ...(await trackSeries(database, series, startMs, startMs + 900 * dayMs)), series };
  const store = (day: number) =>
    commitPoints(database, { ...of, window: { startMs: startMs + day * dayMs, endMs: startMs + (day + 1) * dayMs } });
  const days = async () => (await storedPoints(database, of)).size / 24;
  for (const day of [0, 400, 800]) await store(day);
  await writeRetention(database.pool, 'candles', '100d');
  nowMs = startMs + 500 * dayMs;
  const scheduler = await startScheduler({
    database,
    queues: parts.queues,
    sources: sourcesOf({}),
    settings: { tickMs: 1000, refreshMs: 1000, pollsByDefault: false, backfillShare: 0.2 },
    retainEveryMs: 50,
    graceMs: 0,
    refresh: false,
    seriesIds: [],
    log: silent,
    clock: clockAt(() => nowMs),
  });
  onTestFinished(() => scheduler.close());
  await waitFor('the oldest to be dropped', async () => (await days()) === 2);
  nowMs = startMs + 900 * dayMs;
  await waitFor('the next to be dropped', async () => (await days()) === 1);
});

test('a locked table blocks neither the start nor the end of a scheduler', async () => {
  const parts = await openParts(defaultKind());
  const { database } = parts;
  const of = { ...(await trackSeries(database, series, startMs, startMs + 900 * dayMs)), series };
  await commitPoints(database, { ...of, window: { startMs, endMs: startMs + dayMs } });
  await writeRetention(database.pool, 'candles', '100d');
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin; lock table tidemark.candle_points in row exclusive mode');
  const lines = new Arrivals<string>();
  const passes = new Arrivals<PassEvents>();
  const begin = () =>
    startScheduler({
      database,
      queues: parts.queues,
      sources: sourcesOf({}),
      settings: { tickMs: 100, refreshMs: 1000, pollsByDefault: false, backfillShare: 0.2 },
      graceMs: 0,
      refresh: false,
      log: collectingLog(lines),
      events: (pass) => passes.push(pass),
      clock: clockAt(() => startMs + 900 * dayMs),
    });
  const first = await begin();
  onTestFinished(() => first.close());
  await lines.until((all) => all.some((line) => line.includes('wait for a lock')));
  await passes.until(passes.length + 1);
  await waitForLock(holder);
  await first.close();
  expect(await lockWaits(holder)).toBe(0);
  const second = await begin();
  onTestFinished(() => second.close());
  await holder.query('rollback');
  await waitFor('the expired points to be dropped', async () => (await storedPoints(database, of)).size === 0);
});
