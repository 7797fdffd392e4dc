import { expect, onTestFinished, test } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import type { PolledList } from '../../model/lists/index.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import type { Database } from '../../store/db/database.ts';
import { trackList } from '../../store/lists/lists.ts';
import { startChildModule } from '../parts/child-module.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyQueue, onEachBackend } from '../queue/queue-parts.ts';
import { serve } from '../sources/local-server.ts';
import { standingAt } from './process-clock.ts';
import { emptyConfirmMs, failedRetryMs, graceMs, openPipeline, simulate } from './run-pipeline.ts';
import type { WorkerProcessSettings } from './worker-process.ts';

const startMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const everyMs = 5 * minuteMs;
const assets: PolledList = { dataset: 'assets', asset: null };
const everything: readonly PolledList[] = [
  assets,
  { dataset: 'exchanges', asset: null },
  { dataset: 'markets', asset: null },
  { dataset: 'asset_markets', asset: 'króna-(x)' },
];

const { truth } = createSimulator({ seed: 'polls', clock: { now: () => startMs } });

const manyAssets = (count: number) =>
  Array.from({ length: count }, (_, place) => {
    const id = `asset-${place}`;
    return { ...truth.assets(startMs)[0], id, symbol: id, name: id, rank: String(place + 1) };
  });

interface Served {
  /** By path, such as `/assets`. Any other path is unknown. */
  readonly lists: Record<string, readonly object[]>;
  /** Called by the next request for a second page, which then gets no answer. */
  holdsSecondPage: (() => void) | null;
}

/** A source that serves lists in pages, each with the clock's time. The test changes them while it runs. */
async function serveLists(clock: { readonly nowMs: number }, lists: Served['lists']) {
  const served: Served = { lists: { ...lists }, holdsSecondPage: null };
  const server = await serve((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const path = decodeURIComponent(url.pathname.replace(/^\/v2/, ''));
    const offset = Number(url.searchParams.get('offset') ?? 0);
    if (offset > 0 && served.holdsSecondPage !== null) {
      served.holdsSecondPage();
      served.holdsSecondPage = null;
      return;
    }
    const rows = served.lists[path];
    response.setHeader('content-type', 'application/json');
    const data = path === '/exchanges' ? rows : rows?.slice(offset, offset + 2000);
    if (data === undefined) response.writeHead(404).end('{"error":"that was not found","timestamp":0}');
    else response.end(JSON.stringify({ data, timestamp: clock.nowMs }));
  });
  return { ...server, served };
}

async function pollsOf(database: Database, list: string) {
  const polls = await database.pool.query(
    `select pages, rows, changed, gone, completed_at is not null as complete, reason from polls
     where list = $1 order by begun_at`,
    [list],
  );
  return polls.rows;
}

/** Waits until each of the lists has this many finished polls, and no open one. */
function over(database: Database, polls: number, lists: number) {
  return waitFor(`${polls} polls of ${lists} lists`, async () => {
    const ended = await database.pool.query<{ polls: number }>(
      `select count(*) filter (where completed_at is not null or given_up_at is not null) as polls
       from tidemark.lists l left join tidemark.list_polls p on p.list_id = l.id group by l.id`,
    );
    return ended.rows.length === lists && ended.rows.every((row) => row.polls === polls);
  });
}

async function rowsKept(database: Database): Promise<number[]> {
  const kept = await database.pool.query<{ a: number; e: number; m: number; am: number }>(
    `select (select count(*) from public.asset_snapshots) as a, (select count(*) from exchange_snapshots) as e,
            (select count(*) from market_snapshots) as m, (select count(*) from asset_market_snapshots) as am`,
  );
  return kept.rows.flatMap(({ a, e, m, am }) => [a, e, m, am]);
}

/** Leaves the next request for a second page without an answer. @returns resolves when it has arrived. */
function secondPageOf(served: Served): Promise<void> {
  return new Promise((resolve) => {
    served.holdsSecondPage = resolve;
  });
}

onEachBackend('polls of lists', (kind) => {
  test('resume after the worker is lost and the queue is flushed, and are given up when that takes too long', async () => {
    const clock = { nowMs: startMs };
    const { baseUrl, requests, served } = await serveLists(clock, { '/assets': manyAssets(2500) });
    const pipeline = await openPipeline(kind, clock, baseUrl, { complaints: /./ });
    const { database, queues } = pipeline;
    await trackList(database, assets, everyMs);
    const asked = secondPageOf(served);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    const lost = await pipeline.startWorker();
    await asked;
    await lost.close(0);
    await emptyQueue(pipeline.queueOptions);
    await pipeline.startWorker();
    await over(database, 1, 1);
    expect(await pollsOf(database, 'assets')).toMatchObject([{ pages: 3, rows: 2500, complete: true }]);
    expect(requests.length).toBe(4);

    // The same again, with no worker for an hour.
    clock.nowMs += everyMs;
    await secondPageOf(served);
    await scheduler.close();
    clock.nowMs += hourMs;
    await emptyQueue(pipeline.queueOptions);
    await pipeline.startScheduler({ refresh: true });
    await over(database, 3, 1);
    expect(await pollsOf(database, 'assets')).toMatchObject([
      { complete: true },
      { pages: 1, complete: false, reason: 'cut off between two pages' },
      { pages: 2, rows: 2500, changed: 0, complete: true },
    ]);
    // The job of the last page ends a moment after its rows are stored.
    await waitFor('no page in the queue', async () => {
      return (await queues.requests.claimedWindows()).pages.size === 0;
    });
    expect(await rowsKept(database)).toEqual([2500, 0, 0, 0]);
  });

  test('request the page of a killed worker again, and store it once', async () => {
    const clock = { nowMs: startMs };
    const { baseUrl, requests, served } = await serveLists(clock, { '/assets': manyAssets(2500) });
    const pipeline = await openPipeline(kind, clock, baseUrl, { complaints: /lock|job/i });
    const { database } = pipeline;
    await trackList(database, assets, everyMs);
    const asked = secondPageOf(served);
    await pipeline.startScheduler({ refresh: true });
    const settings: WorkerProcessSettings = {
      queueOptions: pipeline.queueOptions,
      databaseUrl: database.url,
      applicationName: 'to be killed',
      sourceUrl: baseUrl,
      clock: standingAt(startMs),
      attempts: 3,
      lockMs: 1000,
      worker: { concurrency: 2, attempts: 3, failedRetryMs, emptyConfirmMs, graceMs },
    };
    const killed = startChildModule('test/pipeline/worker-process.ts', [JSON.stringify(settings)]);
    onTestFinished(() => killed.end());
    await asked;
    await killed.end('SIGKILL');
    await pipeline.startWorker({ lockMs: 1000 });
    await over(database, 1, 1);
    expect(await pollsOf(database, 'assets')).toMatchObject([{ pages: 3, rows: 2500, changed: 2500, complete: true }]);
    expect(await rowsKept(database)).toEqual([2500, 0, 0, 0]);
    const pages = requests.map(({ url }) => /offset=(\d+)/.exec(url)?.[1]);
    // A job may also come back from a worker that stood still for longer than its lock lasts.
    expect(pages.filter((page) => page === '2000').length).toBeGreaterThanOrEqual(2);
  });

  test('retry a list that the source lacks after growing pauses, and read the other lists', async () => {
    const clock = { nowMs: startMs };
    const { baseUrl, requests, served } = await serveLists(clock, { '/assets': manyAssets(3) });
    const { database, startScheduler, startWorker } = await openPipeline(kind, clock, baseUrl, { attempts: 1 });
    await trackList(database, assets, everyMs);
    await trackList(database, { dataset: 'exchanges', asset: null }, everyMs);
    await startScheduler({ refresh: true });
    await startWorker();
    await over(database, 1, 2);
    const asked = () => requests.filter(({ url }) => url.startsWith('/v2/exchanges')).length;
    const complete = async () => (await pollsOf(database, 'assets')).filter((poll) => poll.complete).length;
    for (let polls = 2; polls <= 13; polls += 1) {
      clock.nowMs += everyMs;
      await waitFor('a poll of the assets', async () => (await complete()) === polls);
    }
    // After 0, 5, 10, 20, 30, ... minutes: never longer than the pause of a failed list.
    expect(failedRetryMs).toBe(2 * everyMs);
    expect(asked()).toBe(8);
    expect((await pollsOf(database, 'exchanges'))[0]).toMatchObject({
      complete: false,
      reason: expect.stringContaining('that was not found'),
    });
    served.lists['/exchanges'] = truth.exchanges(startMs).slice(0, 1);
    clock.nowMs += failedRetryMs;
    await waitFor('the exchanges', async () => (await rowsKept(database))[1] === 1);
  });
});

onEachBackend('a day of the simulator', (kind) => {
  test('is stored unchanged, including entries that disappear and return', async () => {
    const clock = { nowMs: Date.UTC(2024, 5, 30, 4, 0, 30) };
    const simulator = await simulate(clock);
    const { database, startScheduler, startWorker } = await openPipeline(kind, clock, simulator.url);
    for (const list of [...everything.slice(0, 3), { dataset: 'asset_markets', asset: 'xrp' } as const])
      await trackList(database, list, hourMs);
    await startScheduler({ refresh: true });
    await startWorker();
    const listed = async (view: string, missing: string, ...at: string[]) => {
      const { rows } = await database.pool.query(
        `select asset as id, rank, name, supply::text, max_supply::text as "maxSupply",
                market_cap_usd::text as "marketCapUsd", price_usd::text as "priceUsd"
         from ${view} where gone_since is null ${missing} order by rank`,
        at,
      );
      return rows;
    };
    const trulyListed = (at: number) =>
      simulator.truth
        .assets(at)
        .map(({ id, rank, name, supply, maxSupply, marketCapUsd, priceUsd }) => ({
          ...{ id, rank, name, supply, maxSupply, marketCapUsd, priceUsd },
        }));
    // The third poll does not list it, and the fourth one confirms that.
    const unconfirmed = (polls: number) => (polls === 3 ? `and asset <> 'nomadcoin'` : '');
    const times: number[] = [];
    for (let polls = 1; polls <= 10; polls += 1) {
      times.push(clock.nowMs);
      await over(database, polls, 4);
      expect(await listed('assets', unconfirmed(polls))).toEqual(trulyListed(clock.nowMs));
      clock.nowMs += hourMs;
    }
    // The state at each of these times in the past.
    for (const [place, at] of times.entries())
      expect(await listed('assets_at($1)', unconfirmed(place + 1), new Date(at).toISOString())).toEqual(
        trulyListed(at),
      );
    const [sixMs, noonMs] = [times[2], times[8]];
    for (const view of [
      `public.asset_snapshots where asset = 'nomadcoin'`,
      `exchange_snapshots where exchange = 'caravan'`,
      `market_snapshots where exchange = 'bitso' and base = 'xrp'`,
      `asset_market_snapshots where exchange_name = 'Bitso'`,
    ]) {
      const rows = await database.pool.query<{ time: number; gone: boolean }>(
        `select time, gone from ${view} order by time`,
      );
      const gone = rows.rows.filter((row) => row.gone);
      expect([view, gone]).toEqual([view, [{ time: sixMs, gone: true }]]);
      expect(rows.rows.find(({ time }) => sixMs !== undefined && time > sixMs)).toEqual({ time: noonMs, gone: false });
    }
  });
});
