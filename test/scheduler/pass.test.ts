import { expect, test } from 'vitest';
import { defaultSource } from '../../model/sources.ts';
import { type PassContext, runPass } from '../../scheduler/pass.ts';
import { trackList } from '../../store/lists/lists.ts';
import { trackSeries } from '../../store/series/series.ts';
import { bitcoinHours as candleSeries, defaultKind, onEachBackend } from '../queue/queue-parts.ts';
import { offersOf } from '../sources/source-facts.ts';
import { hourMs, noonMs, openParts, type WorkerParts } from '../workers/worker-parts.ts';

function contextOf(
  { database, queues }: WorkerParts,
  more: Partial<Pick<PassContext, 'requests' | 'seriesIds'>> & { perMinute?: number; polls?: boolean } = {},
): PassContext {
  const { perMinute: requestsPerMinute = 50, polls, ...rest } = more;
  return {
    ...{ database, requests: queues.requests },
    source: { name: defaultSource, requestsPerMinute, offers: offersOf({ candles: { h1: hourMs } }) },
    rules: { backfillShare: 0.2, graceMs: 0, openRefreshMs: null, polls },
    ...rest,
  };
}

onEachBackend('a planning pass', (kind) => {
  test('fills the queue up to a minute of budget, and a second pass adds nothing', async () => {
    const parts = await openParts(kind);
    await trackSeries(parts.database, candleSeries, noonMs - 1000 * hourMs, noonMs);
    // Otherwise the scheduler would request only the oldest window, to find out whether the series had begun by then.
    await parts.database.pool.query('update tidemark.series set earliest = lower(tracked)');
    const first = await runPass(contextOf(parts), noonMs, 0);
    expect(first).toMatchObject({ added: 50, queued: 50 });
    expect(await runPass(contextOf(parts), noonMs, first.cursor)).toMatchObject({ added: 0, queued: 50 });
    expect(await parts.queues.requests.depth()).toMatchObject({ waiting: 50 });
  });

  test('fills the queue from a series with every other window covered, with few or many jobs queued', async () => {
    const parts = await openParts(kind);
    const { seriesId } = await trackSeries(parts.database, candleSeries, noonMs - 100 * hourMs, noonMs);
    await parts.database.pool.query(
      `update tidemark.series s set covered = (
         select range_agg(tstzrange(hour, hour + interval '1 hour'))
         from generate_series(lower(s.tracked), upper(s.tracked), interval '2 hours') hour
       ) where id = $1`,
      [seriesId],
    );
    expect(await runPass(contextOf(parts, { perMinute: 20 }), noonMs, 0)).toMatchObject({ added: 20 });
    expect(await runPass(contextOf(parts), noonMs, 0)).toMatchObject({ added: 30, queued: 50 });
  });

  test('queues no window twice when two run concurrently', async () => {
    const parts = await openParts(kind);
    await trackSeries(parts.database, candleSeries, noonMs - 20 * hourMs, noonMs);
    await Promise.all([runPass(contextOf(parts), noonMs, 0), runPass(contextOf(parts), noonMs, 0)]);
    const claimed = (await parts.queues.requests.claimedWindows()).windows;
    const starts = [...claimed.values()].flat().map((range) => range.startMs);
    expect(starts.length).toBe(20);
    expect(new Set(starts).size).toBe(20);
  });

  test('requests only the given series', async () => {
    const parts = await openParts(kind);
    await trackSeries(parts.database, candleSeries, noonMs - 3 * hourMs, noonMs);
    const other = { ...candleSeries, baseId: 'ethereum' };
    const { seriesId } = await trackSeries(parts.database, other, noonMs - 2 * hourMs, noonMs);
    await runPass(contextOf(parts, { seriesIds: [seriesId] }), noonMs, 0);
    const claimed = await parts.queues.requests.claimedWindows();
    expect([...claimed.windows.keys()]).toEqual([seriesId]);
    expect(claimed.load).toMatchObject({ refresh: 0, backfill: 2 });
  });

  test('polls lists in the room that refreshes leave, and leaves backfill its share', async () => {
    const parts = await openParts(kind);
    await trackSeries(parts.database, candleSeries, noonMs - 1000 * hourMs, null);
    await parts.database.pool.query('update tidemark.series set earliest = lower(tracked)');
    for (let place = 0; place < 60; place += 1)
      await trackList(parts.database, { dataset: 'asset_markets', asset: `asset-${place}` }, 60_000);
    const pass = () => runPass(contextOf(parts, { polls: true }), noonMs, 0);
    // One slot was reserved for a page, and the refresh then used it.
    expect(await pass()).toMatchObject({ added: 49, queued: 49 });
    expect(await pass()).toMatchObject({ added: 1, queued: 50 });
    const { load, pages } = await parts.queues.requests.claimedWindows();
    // A fifth is for backfill. One of the rest is the refresh.
    expect([load.refresh, load.backfill, pages.size]).toEqual([1, 10, 39]);
    expect(await pass()).toMatchObject({ added: 0, queued: 50 });
    const open = await parts.database.pool.query('select from tidemark.list_polls');
    expect(open.rowCount).toBe(60);
  });
});

test('a planning pass fails when the queue cannot be listed, instead of treating it as empty', async () => {
  const parts = await openParts(defaultKind());
  await trackSeries(parts.database, candleSeries, noonMs - 3 * hourMs, noonMs);
  const requests = { ...parts.queues.requests, claimedWindows: () => Promise.reject(new Error('away')) };
  await expect(runPass(contextOf(parts, { requests }), noonMs, 0)).rejects.toThrow('away');
  expect(await parts.queues.requests.depth()).toEqual({ waiting: 0, active: 0, delayed: 0 });
});
