import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startScheduler } from '../../scheduler/scheduler.ts';
import { readLockWaits } from '../../store/db/activity.ts';
import { openDatabase } from '../../store/db/database.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { clockAt } from '../parts/test-clock.ts';
import { waitFor } from '../parts/wait-for.ts';
import { fillOf } from '../parts/windows.ts';
import { bitcoinHours, collectingLog, onEachBackend, openQueue, prepareQueue, silent } from '../queue/queue-parts.ts';
import { sourcesOf } from '../sources/source-facts.ts';
import { openOwnStore } from '../store/open-store.ts';
import { serveCandles } from '../workers/candle-server.ts';
import { hourMs, ledgerOf, noonMs, settings, startTestWorker, trackHours } from '../workers/worker-parts.ts';

const windows = 10;
const otherSeries = { ...bitcoinHours, baseId: 'ethereum' };

/** A store with this statement timeout and a queue, and another session that locks tables. */
async function storeToLock(kind: 'postgres' | 'redis', statementTimeoutMs: number) {
  const store = await openOwnStore();
  const database = openDatabase({
    url: store.url,
    applicationName: 'tidemark test',
    maxConnections: 10,
    statementTimeoutMs,
  });
  onTestFinished(() => database.close());
  const queueOptions = await prepareQueue(kind, store.url);
  const queues = await openQueue(queueOptions, { attempts: 1 });
  const holder = new pg.Client({ connectionString: store.url });
  await holder.connect();
  onTestFinished(() => holder.end());
  return { parts: { database, queueOptions, queues }, beside: store.database, holder };
}

/** Waits until commits have started this many waits for a table lock. */
async function waitForLockWaits(beside: pg.Pool, count: number): Promise<void> {
  const seen = new Set<number>();
  await waitFor(`${count} waits for a lock`, async () => {
    const { rows } = await beside.query<{ since: number }>(
      `select extract(epoch from waitstart)::float8 as since from pg_locks
       where not granted and locktype = 'relation' and waitstart is not null
         and database = (select oid from pg_database where datname = current_database())`,
    );
    for (const { since } of rows) seen.add(since);
    return seen.size >= count;
  });
}

onEachBackend('a table that another session has locked', (kind) => {
  describe.each([
    { what: 'short', statementTimeoutMs: 2000, waits: 12 },
    { what: 'long', statementTimeoutMs: 60_000, waits: 4 },
  ])('while statements have a $what timeout', ({ statementTimeoutMs, waits }) => {
    test('costs no window an attempt, and repeats no request', async () => {
      const { parts, beside, holder } = await storeToLock(kind, statementTimeoutMs);
      const server = await serveCandles(() => noonMs);
      await trackHours(parts, windows);
      await holder.query('begin');
      await holder.query('lock table tidemark.candle_points in exclusive mode');
      const lines: string[] = [];
      await startTestWorker(parts, server.baseUrl, {
        settings: { ...settings, attempts: 1, concurrency: 4 },
        log: collectingLog(lines),
      });
      const scheduler = await startScheduler({
        database: parts.database,
        queues: parts.queues,
        sources: sourcesOf({ rangeLimits: { candles: { h1: hourMs } } }),
        settings: { tickMs: 100, refreshMs: 1000, pollsByDefault: false, backfillShare: 0.2 },
        graceMs: 0,
        refresh: false,
        log: silent,
        clock: clockAt(() => noonMs),
      });
      onTestFinished(() => scheduler.close());
      await waitForLockWaits(beside.pool, waits);
      const { rows: held } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
      if (statementTimeoutMs === 60_000)
        await waitFor('the lock waits to be reported', async () => {
          const { statements, holders } = await readLockWaits.one(beside.pool, {});
          return statements > 0 && holders.join() === `${held[0]?.pid}`;
        });
      await holder.query('rollback');
      await waitFor(
        'every window to be stored',
        async () => (await listGaps(beside, { nowMs: noonMs, graceMs: 0 })).length === 0,
      );
      expect(server.requests).toHaveLength(windows);
      const ledger = await ledgerOf(beside);
      expect(ledger.map(({ attempt }) => attempt)).toEqual(Array.from({ length: windows }, () => 1));
      const { rows } = await beside.pool.query('select from tidemark.pending_windows');
      expect(rows).toEqual([]);
      expect(lines.filter((line) => line.includes('commits wait for a lock'))).toHaveLength(1);
    });
  });

  test('blocks only the series that need it', async () => {
    const { parts, beside, holder } = await storeToLock(kind, 4000);
    const server = await serveCandles(() => noonMs);
    const [locked] = await trackHours(parts, windows);
    const [free] = await trackHours(parts, windows, otherSeries);
    if (locked === undefined || free === undefined) throw new Error('no windows');
    await holder.query('begin');
    await holder.query('select from tidemark.series where id = $1 for update', [locked.seriesId]);
    await startTestWorker(parts, server.baseUrl, { settings: { ...settings, attempts: 1, concurrency: 2 * windows } });
    for (const { seriesId, series, startMs } of [locked, free]) {
      const hours = Array.from({ length: windows }, (_, place) => startMs + place * hourMs);
      await parts.queues.requests.addWindows(
        hours.map((hour) => fillOf({ seriesId, series, startMs: hour, endMs: hour + hourMs })),
      );
    }
    const gapsOf = async (seriesId: number) =>
      (await listGaps(beside, { nowMs: noonMs, graceMs: 0, seriesIds: [seriesId] })).length;
    await waitFor('the other series to be complete', async () => (await gapsOf(free.seriesId)) === 0);
    expect(await gapsOf(locked.seriesId)).toBe(1);
    await holder.query('rollback');
    await waitFor('the locked series to be complete', async () => (await gapsOf(locked.seriesId)) === 0);
    expect(server.requests).toHaveLength(2 * windows);
  });

  test('does not keep a worker from closing', async () => {
    const { parts, beside, holder } = await storeToLock(kind, 60_000);
    const server = await serveCandles(() => noonMs);
    const [window] = await trackHours(parts, 1);
    if (window === undefined) throw new Error('no window');
    await holder.query('begin');
    await holder.query('lock table tidemark.candle_points in exclusive mode');
    const worker = await startTestWorker(parts, server.baseUrl);
    await parts.queues.requests.addWindows([window]);
    await waitForLockWaits(beside.pool, 1);
    await worker.close(60_000);
    // Its commit has ended with it, so no session waits any longer.
    const { rows } = await beside.pool.query(
      `select from pg_locks where not granted and locktype = 'relation'
         and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(rows).toEqual([]);
    await holder.query('rollback');
    expect(await listGaps(beside, { nowMs: noonMs, graceMs: 0 })).toMatchObject([{ reason: 'not_asked' }]);
  });
});
