import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { dayMs, hourMs } from '../../contract/intervals.ts';
import { keepRollups } from '../../scheduler/rollup-keeper.ts';
import { rangesBehind, refreshRollups } from '../../store/rollups.ts';
import { trackSeries } from '../../store/series.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { silent } from '../queue/queue-parts.ts';
import { candles, expectRollupsToAgree, market, put } from '../store/derived/candles.ts';
import { openTestStore, type TestStore } from '../store/open-store.ts';

const nowMs = Date.UTC(2024, 0, 31);

describeNeeding('timescale', 'a scheduler keeps rollups', () => {
  let store: TestStore;
  beforeEach(async () => {
    store = await openTestStore();
  });
  afterEach(() => store.close());

  it('in agreement with a backfill of old data, several schedulers together, and stops when closed', async () => {
    const { database } = store;
    const { seriesId } = await trackSeries(database, market('a', 'h1'), nowMs - 30 * dayMs, null);
    await put(database, seriesId, candles(nowMs - 10 * dayMs, hourMs, 240));
    await refreshRollups(database, { nowMs });
    const keepers = [1, 2].map(() => keepRollups({ database, everyMs: 20, log: silent, now: () => nowMs }));
    onTestFinished(async () => {
      await Promise.all(keepers.map((keeper) => keeper.close()));
    });
    await put(database, seriesId, candles(nowMs - 30 * dayMs, hourMs, 100));
    await waitFor('the rollups to be refreshed', async () => (await rangesBehind(database)).length === 0);
    await expectRollupsToAgree(database);
    await Promise.all(keepers.map((keeper) => keeper.close()));
    await put(database, seriesId, candles(nowMs - 20 * dayMs, hourMs, 100));
    expect(await rangesBehind(database)).not.toEqual([]);
  });

  it('says once that it cannot, and goes on', async () => {
    const { database } = store;
    const { seriesId } = await trackSeries(database, market('a', 'h1'), nowMs - 30 * dayMs, null);
    await put(database, seriesId, candles(nowMs - 10 * dayMs, hourMs, 240));
    await refreshRollups(database, { nowMs });
    await put(database, seriesId, candles(nowMs - 30 * dayMs, hourMs, 100));
    await database.pool.query('alter view tidemark.rollups_behind rename to elsewhere');
    const said: string[] = [];
    const log = {
      ...silent,
      warn: () => said.push('trouble'),
      info: () => said.push('well'),
      debug: () => {},
    };
    const keeper = keepRollups({ database, everyMs: 10, log: log as never, now: () => nowMs });
    onTestFinished(() => keeper.close());
    await waitFor('a complaint', () => said.length > 0);
    await database.pool.query('alter view tidemark.elsewhere rename to rollups_behind');
    await waitFor('the rollups to be refreshed', async () => (await rangesBehind(database)).length === 0);
    await waitFor('the end of it', () => said.includes('well'));
    expect(said).toEqual(['trouble', 'well']);
  });
});
