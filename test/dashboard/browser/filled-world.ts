/** A dashboard of two markets of which one has a gap, an asset that was never fetched, and a list that changed. */

import { hourMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import { trackList } from '../../../store/lists/lists.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { commitPoints } from '../../store/committing.ts';
import { assetOf, assets, poll } from '../../store/lists/polling.ts';
import { openTestStore } from '../../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld, quietQueue } from '../dashboard-world.ts';

export const startMs = Date.UTC(2023, 10, 1);
export const endMs = Date.UTC(2024, 3, 1);
export const hole = { startMs: Date.UTC(2024, 1, 10), endMs: Date.UTC(2024, 1, 12) };

export interface FilledWorld extends Pick<DashboardWorld, 'url' | 'close'> {
  readonly seriesId: number;
  /** Neither worker nor scheduler from now on: a long sentence above the view, and another below it. */
  stopWork(): void;
}

export async function openFilledWorld(): Promise<FilledWorld> {
  const store = await openTestStore();
  const { database } = store;
  const world = await openDashboardWorld(store, {}, 0, () => endMs + hourMs);
  const { seriesId } = await trackSeries(database, market, startMs, endMs);
  for (const window of [
    { startMs, endMs: hole.startMs },
    { startMs: hole.endMs, endMs },
  ])
    await commitPoints(database, { seriesId, series: market, window });
  const daily = { ...market, baseId: 'ethereum', interval: 'd1' } as const;
  const other = await trackSeries(database, daily, startMs, endMs);
  await commitPoints(database, { seriesId: other.seriesId, series: daily, window: { startMs, endMs } });
  const history = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' } as const;
  await trackSeries(database, history, startMs, endMs);
  await trackList(database, assets, hourMs);
  await poll(database, endMs, [assetOf('bitcoin', 1, { priceUsd: '1.10' })]);
  await poll(database, endMs + hourMs, [assetOf('bitcoin', 1, { priceUsd: '1.20' })]);
  return {
    url: world.url,
    seriesId,
    stopWork() {
      const none = { source: defaultSource, workers: 0, pausedMs: 0, perMinute: 200, lowered: null };
      world.queue = { ...quietQueue, facts: { schedulers: 0, sources: [none] } };
    },
    async close() {
      await world.close();
      await store.close();
    },
  };
}
