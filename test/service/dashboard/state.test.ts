import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { createQueueReader } from '../../../service/dashboard/queue.ts';
import { stateReader } from '../../../service/dashboard/state.ts';
import { trackList, untrackList } from '../../../store/lists/lists.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { openTestStore } from '../../store/open-store.ts';
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
