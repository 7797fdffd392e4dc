import { afterEach, expect, it } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import type { Window } from '../../model/window.ts';
import { nextWindows } from '../../operations/next-windows.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { readRegistry } from '../../runtime/sources.ts';
import { startScheduler } from '../../scheduler/scheduler.ts';
import { readConfig } from '../../settings/config.ts';
import { venues } from '../../simulator/venues/venues.ts';
import type { Database } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { setSeriesSources } from '../parts/series-sources.ts';
import { clockAt } from '../parts/test-clock.ts';
import { defaultKind, bitcoinHours as hours, silent } from '../queue/queue-parts.ts';
import { hourMs, noonMs, openParts } from '../workers/worker-parts.ts';

const config = readConfig({});
const fromMs = noonMs - 500 * dayMs;
const history = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' } as const;
/** Covered ranges of four series, hours before noon; of the first nothing is known. */
const states = [
  [],
  [
    [12_000, 96],
    [72, 0],
  ],
  [[12_000, 3]],
  // No gap, but recent days to read again.
  [[12_000, 0]],
] as const;
const lists: ReadonlyArray<readonly string[]> = [
  [defaultSource],
  ...Object.keys(venues).map((name) => [name]),
  ['binance-archive', 'binance'],
  ['binance-archive', 'binance-archive-daily', 'binance'],
  ['kraken', 'coinbase'],
];

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** Runs one pass of a scheduler. @returns the first window that it adds of each series to the queue of each source. */
async function firstOfPass(queues: QueueBackend, database: Database) {
  const added = new Map<string, Window>();
  const requestsOf = (source: string) => ({
    ...queues.requestsOf(source),
    async addWindows(windows: readonly Window[]) {
      for (const window of [...windows].reverse()) added.set(`${source} ${window.seriesId}`, window);
    },
  });
  const sources = (await readRegistry(config)).facts;
  await new Promise<void>((resolve, reject) => {
    startScheduler({
      ...{ database, queues: { ...queues, requestsOf }, sources, graceMs: config.worker.graceMs },
      ...{ settings: { ...config.scheduler, tickMs: 50 }, refresh: true, reread: config.reread, log: silent },
      clock: clockAt(() => noonMs),
      events: ({ added: count }) => (count === null ? reject(new Error('the pass failed')) : resolve()),
    }).then((scheduler) => opened.push(scheduler), reject);
  });
  return added;
}

async function trackStates(database: Database, list: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const [place, covered] of states.entries()) {
    const series = list.includes('coincap-v3')
      ? { ...history, assetId: `a${place}` }
      : { ...hours, baseId: `a${place}` };
    const { seriesId } = await trackSeries(database, series, fromMs, null);
    const named = (source: string) => ({ source, symbol: `A${place}`, isArchive: source.includes('archive') });
    await setSeriesSources(
      database,
      seriesId,
      list.flatMap((source) => (source === null ? [] : [named(source)])),
    );
    const [starts, ends] = [covered.map(([start]) => at(start)), covered.map(([, end]) => at(end))];
    if (covered.length > 0)
      await database.pool.query(
        `update tidemark.series set earliest = lower(tracked), newest = $2, newest_covered = $2, refreshed_at = $5, covered =
           (select range_agg(tstzrange(of.start, of.end)) from unnest($3::timestamptz[], $4::timestamptz[]) of (start, "end"))
         where id = $1`,
        [seriesId, ends.at(-1), starts, ends, at(0)],
      );
    ids.push(seriesId);
  }
  return ids;
}

it.each(lists.map((list) => [list.map(String).join(', '), list] as const))(
  'names the windows that the next pass queues, at %s',
  async (_, list) => {
    const { database, queues } = await openParts(defaultKind());
    const ids = await trackStates(database, list);
    const context = { config, database, sources: () => readRegistry(config) };
    const next = new Map<string, Window>();
    for (const seriesId of ids)
      for (const { source, next: of } of await nextWindows(context, queues, seriesId)) {
        const window = await of(noonMs);
        if (window !== undefined) next.set(`${source} ${seriesId}`, window);
      }
    expect(next.size).toBeGreaterThan(0);
    expect(Object.fromEntries(next)).toEqual(Object.fromEntries(await firstOfPass(queues, database)));
  },
);

const at = (hoursBefore: number) => new Date(noonMs - hoursBefore * hourMs);
