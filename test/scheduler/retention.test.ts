import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../config.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { startScheduler } from '../../scheduler/scheduler.ts';
import { setRetention } from '../../store/retention.ts';
import { trackSeries } from '../../store/series.ts';
import { waitFor } from '../parts/wait-for.ts';
import { silent } from '../queue/queue-parts.ts';
import { commitPoints, storedPoints } from '../store/committing.ts';
import { hourMs, openParts } from '../workers/worker-parts.ts';

const series: SeriesKey = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b', interval: 'h1' };
const dayMs = 24 * hourMs;
const startMs = Date.UTC(2020, 0, 1);

test('a scheduler drops what is too old when it starts, and again by its clock', async () => {
  const parts = await openParts('postgres');
  const { database } = parts;
  let nowMs = Date.now();
  const of = { ...(await trackSeries(database, series, startMs, startMs + 900 * dayMs)), series };
  const store = (day: number) =>
    commitPoints(database, {
      ...of,
      window: { startMs: startMs + day * dayMs, endMs: startMs + (day + 1) * dayMs },
    });
  const days = async () => (await storedPoints(database, of)).size / 24;
  for (const day of [0, 400, 800]) await store(day);
  await setRetention(database, 'candles', '100d');
  nowMs = startMs + 500 * dayMs;
  const scheduler = await startScheduler({
    database,
    queues: parts.queues,
    requestsPerMinute: 0,
    settings: { tickMs: 1000, refreshMs: 1000, ratesMs: 0, backfillShare: 0.2 },
    chunkDays: readConfig({}).storage.chunkDays,
    retainEveryMs: 50,
    graceMs: 0,
    refresh: false,
    seriesIds: [],
    log: silent,
    now: () => nowMs,
  });
  onTestFinished(() => scheduler.close());
  expect(await days()).toBe(2);
  nowMs = startMs + 900 * dayMs;
  await waitFor('the next to be dropped', async () => (await days()) === 1);
});
