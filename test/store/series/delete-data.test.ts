import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs } from '../../../model/intervals.ts';
import type { Database } from '../../../store/db/database.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { quarantineRows } from '../../../store/ledger/quarantine.ts';
import { beginDeletion, countData, deleteRows, endDeletion, openDeletions } from '../../../store/series/delete-data.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { refreshRollups } from '../../../store/upkeep/refresh-rollups.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { market } from '../../schema/api/candles.ts';
import { commitPoints, storedPoints } from '../committing.ts';
import { onEachDatabase, openOwnStore } from '../open-store.ts';

const startMs = Date.UTC(2025, 0, 1);
const days = (from: number, to: number) => ({ startMs: startMs + from * dayMs, endMs: startMs + to * dayMs });
const asked = { by: 'ann@desk', nowMs: startMs + 90 * dayMs };

/** Rows of a series in each table that has such rows. */
async function rowsOf({ pool }: Database, seriesId: number): Promise<Record<string, number>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select table_name as name
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = 'tidemark' and column_name = 'series_id' and table_type = 'BASE TABLE' order by 1`,
  );
  expect(tables.length).toBeGreaterThan(15);
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from tidemark.${name} where series_id = $1`,
      [seriesId],
    );
    if (rows[0]?.n !== 0) found[name] = rows[0]?.n ?? 0;
  }
  return found;
}

/** A row that stops the transaction which writes it into the table, until it is released. */
async function holdWrites({ pool }: Database, table: string) {
  await pool.query(`
    create function hold_write() returns trigger language plpgsql as $$ begin
      perform set_config('lock_timeout', '0', true);
      perform pg_advisory_xact_lock_shared(77);
      return null;
    end $$;
    create trigger hold_write after insert on tidemark.${table} for each row execute function hold_write()`);
  const holder = await pool.connect();
  onTestFinished(() => holder.release(true));
  await holder.query('select pg_advisory_lock(77)');
  const waits = async (type: string) => {
    const { rows } = await pool.query(
      `select from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and wait_event = $1`,
      [type],
    );
    return rows.length > 0;
  };
  return {
    isHeld: () => waitFor('a commit that stands still', () => waits('advisory')),
    waitsForIt: () => waitFor('a deletion that waits', () => waits('transactionid')),
    release: () => holder.query('select pg_advisory_unlock(77)'),
  };
}

onEachDatabase('the deletion of a series', (on) => {
  async function store() {
    const { database } = await openOwnStore(on);
    const [gone, kept] = [market('a', 'h1'), market('b', 'h1')];
    const { seriesId } = await trackSeries(database, gone, startMs, null);
    const other = await trackSeries(database, kept, startMs, null);
    return { database, gone: { seriesId, series: gone }, kept: { seriesId: other.seriesId, series: kept } };
  }

  const read = async (database: Database, seriesId: number) => {
    const [data] = await countData.on(database.pool, { seriesIds: [seriesId] });
    if (data === undefined) throw new Error('no series');
    return data;
  };

  async function erase(database: Database, seriesId: number) {
    const begun = await beginDeletion(database, await read(database, seriesId), asked);
    if (begun === null) throw new Error('nothing was deleted');
    await deleteRows(database, seriesId, {});
    await endDeletion.on(database.pool, { id: begun.id, result: 'deleted', nowMs: asked.nowMs });
    return begun;
  }

  it('leaves no row in any table, also of compressed chunks, and touches no other series', async () => {
    const { database, gone, kept } = await store();
    const of = [gone, kept];
    const changed = new Map([[startMs, '7']]);
    for (const one of of) {
      await commitPoints(database, { ...one, window: days(0, 60) });
      await commitPoints(database, { ...one, window: days(0, 1), changed });
      await quarantineRows(await client(database), {
        ...{ dataset: 'candles', seriesId: one.seriesId, window: days(0, 1), seenAtMs: startMs },
        rows: [{ reason: 'no price', raw: '{}' }],
      });
    }
    await refreshRollups(database, { clock: systemClock, nowMs: asked.nowMs });
    if (on === 'main')
      for (const table of ['candle_points', 'rollup_hours', 'rollup_days'])
        await database.pool.query(`select compress_chunk(c) from show_chunks('tidemark.${table}') c`);
    const before = await rowsOf(database, kept.seriesId);
    expect(Object.keys(before)).toEqual(
      expect.arrayContaining(['candle_points', 'fetches', 'point_revisions', 'quarantine', 'rollup_days']),
    );
    const points = await storedPoints(database, kept);
    expect(await read(database, gone.seriesId)).toMatchObject({
      ...{ points: 60 * 24, revisions: 1, requests: 2, rejected: 1, earliest: startMs },
    });

    await erase(database, gone.seriesId);
    expect(await rowsOf(database, gone.seriesId)).toEqual({});
    expect(await countData.on(database.pool, { seriesIds: [gone.seriesId] })).toEqual([]);
    expect(await rowsOf(database, kept.seriesId)).toEqual(before);
    expect(await storedPoints(database, kept)).toEqual(points);
    // Tracked anew it is another series.
    const again = await trackSeries(database, gone.series, startMs, null);
    expect(again).toMatchObject({ change: 'created' });
    expect(again.seriesId).toBeGreaterThan(kept.seriesId);
    await commitPoints(database, { ...gone, seriesId: again.seriesId, window: days(0, 2) });
    expect((await storedPoints(database, { ...gone, seriesId: again.seriesId })).size).toBe(48);
  });

  it('goes on where it was stopped', async () => {
    const { database, gone } = await store();
    await commitPoints(database, { ...gone, window: days(0, 60) });
    const data = await read(database, gone.seriesId);
    await beginDeletion(database, data, asked);
    const stop = new AbortController();
    const stopped = deleteRows(database, gone.seriesId, { signal: stop.signal, onPiece: () => stop.abort() });
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    expect(await rowsOf(database, gone.seriesId)).toHaveProperty('fetches');
    const [left] = await openDeletions.on(database.pool, {});
    expect(left?.request).toMatchObject({ id: gone.seriesId, series: gone.series, points: 1440, sources: ['default'] });
    await deleteRows(database, gone.seriesId, {});
    await endDeletion.on(database.pool, { id: left?.id ?? 0, result: 'deleted', nowMs: asked.nowMs });
    expect(await rowsOf(database, gone.seriesId)).toEqual({});
    expect(await openDeletions.on(database.pool, {})).toEqual([]);
  });

  it('rolls a commit back that has written points, and not yet locked the series', async () => {
    const { database, gone, kept } = await store();
    const held = await holdWrites(database, 'candle_points');
    const commit = commitPoints(database, { ...gone, window: days(0, 1) });
    commit.catch(() => {});
    await held.isHeld();
    await erase(database, gone.seriesId);
    await held.release();
    await expect(commit).rejects.toMatchObject({ code: 'UNKNOWN_SERIES' });
    expect(await rowsOf(database, gone.seriesId)).toEqual({});
    expect(await commitPoints(database, { ...kept, window: days(0, 1) })).toMatchObject({ fresh: 24 });
  });

  it('waits for a commit that has locked the series, and deletes its points', async () => {
    const { database, gone } = await store();
    const held = await holdWrites(database, 'changed_months');
    const commit = commitPoints(database, { ...gone, window: days(0, 1) });
    await held.isHeld();
    const erased = erase(database, gone.seriesId);
    await held.waitsForIt();
    await held.release();
    expect(await commit).toMatchObject({ fresh: 24 });
    await erased;
    expect(await rowsOf(database, gone.seriesId)).toEqual({});
  });

  it('leaves no row of a request or a rollup that ends after it', async () => {
    const { database, gone } = await store();
    await commitPoints(database, { ...gone, window: days(0, 2) });
    await beginDeletion(database, await read(database, gone.seriesId), asked);
    await recordFetch(database.pool, {
      ...{ timeMs: startMs, dataset: 'candles', seriesId: gone.seriesId, range: days(0, 1), lane: 'backfill' },
      ...{ attempt: 1, verdict: 'timeout', status: null, bytes: 0, durationMs: 1 },
    });
    await refreshRollups(database, { clock: systemClock, nowMs: asked.nowMs });
    await deleteRows(database, gone.seriesId, {});
    expect(await rowsOf(database, gone.seriesId)).toEqual({});
  });

  it('deletes what refers to the row of a series with it', async () => {
    const { database } = await openOwnStore(on);
    const { rows } = await database.pool.query(
      `select conrelid::regclass::text from pg_constraint
       where contype = 'f' and confrelid = 'tidemark.series'::regclass and confdeltype <> 'c'`,
    );
    expect(rows).toEqual([]);
  });

  async function client(database: Database) {
    const connection = await database.pool.connect();
    onTestFinished(() => connection.release());
    return connection;
  }
});
