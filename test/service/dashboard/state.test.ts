import { expect, it, onTestFinished } from 'vitest';
import { dayMs, minuteMs } from '../../../contract/intervals.ts';
import { createQueueReader } from '../../../service/dashboard/queue.ts';
import { stateReader } from '../../../service/dashboard/state.ts';
import { untrackList } from '../../../store/lists/lists.ts';
import { openTestStore } from '../../store/open-store.ts';

it('reports the interval and the last failure of rates like those of other lists', async () => {
  const { database, close } = await openTestStore();
  onTestFinished(close);
  const state = { nowMs: Date.UTC(2024, 0, 1) };
  const read = stateReader({
    database,
    queue: createQueueReader(() => Promise.reject()),
    now: () => state.nowMs,
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
