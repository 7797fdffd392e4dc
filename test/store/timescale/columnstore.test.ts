import { beforeAll, expect, it } from 'vitest';
import { dayMs, minuteMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { market } from '../../schema/api/candles.ts';
import { closeAt, commitPoints, storedPoints } from '../committing.ts';
import { useStore } from '../open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const day = (index: number) => ({ startMs: startMs + index * dayMs, endMs: startMs + (index + 1) * dayMs });

const kinds: Readonly<Record<string, SeriesKey>> = {
  candle_points: market('a', 'm1'),
  asset_history_points: { dataset: 'asset_history', assetId: 'a', interval: 'm1' },
};

describeNeeding('timescale', 'the columnstore', () => {
  for (const [table, series] of Object.entries(kinds)) {
    /** Days that are stored first: more points in one segment than a transaction may decompress. */
    const first = Array.from({ length: 84 }, (_, index) => index + 2).filter((index) => index !== 40);
    const store = useStore();
    let database: Database;
    let of: { seriesId: number; series: SeriesKey };

    beforeAll(async () => {
      ({ database } = store);
      of = { ...(await trackSeries(database, series, day(0).startMs, null)), series };
      for (const index of first) await commitPoints(database, { ...of, window: day(index) });
      await runPolicy();
    });

    async function runPolicy() {
      const jobs = await database.pool.query<{ id: number }>(
        `select job_id as id from timescaledb_information.jobs
         where proc_name = 'policy_compression' and hypertable_name = $1`,
        [table],
      );
      expect(jobs.rows).toHaveLength(1);
      await database.pool.query(`call run_job(${jobs.rows[0]?.id})`);
      await database.pool.query(`vacuum tidemark.${table}`);
    }
    /** 1: completely in the columnstore; any other number has rows outside. */
    async function chunkStates() {
      const result = await database.pool.query<{ status: number }>(
        `select c.status from _timescaledb_catalog.chunk c join _timescaledb_catalog.hypertable h on h.id = c.hypertable_id
         where h.schema_name = 'tidemark' and h.table_name = $1`,
        [table],
      );
      return result.rows.map((row) => row.status);
    }
    const size = async () => (await database.pool.query('select hypertable_size($1)', [`tidemark.${table}`])).rows;

    it(`keeps ${table} unchanged to the byte when a re-fetch brings nothing new`, async () => {
      const before = await size();
      // More often than a prepared statement is replanned for its values.
      for (let index = 2; index < 12; index += 1) {
        const result = await commitPoints(database, { ...of, window: day(index) });
        expect(result).toMatchObject({ fresh: 0, changed: 0, unchanged: 1440 });
      }
      await commitPoints(database, { ...of, window: { startMs: day(2).startMs, endMs: day(32).endMs } });
      expect(await size()).toEqual(before);
      expect(new Set(await chunkStates())).toEqual(new Set([1]));
    });

    it(`changes exactly the points of ${table} that changed, and compresses again`, async () => {
      const before = await storedPoints(database, of);
      const changes = Array.from({ length: 9 }, (_, index) => day(10 + index).startMs + 7 * minuteMs);
      for (const [index, timeMs] of changes.entries()) {
        const changed = new Map([[timeMs, '0.10']]);
        const result = await commitPoints(database, { ...of, window: day(10 + index), changed });
        expect(result).toMatchObject({ fresh: 0, changed: 1, unchanged: 1439 });
      }
      for (const timeMs of changes) before.set(timeMs, '0.10');
      expect(await storedPoints(database, of)).toEqual(before);
      const column = series.dataset === 'candles' ? 'close' : 'price_usd';
      const revisions = await database.pool.query(
        `select time, before->>'${column}' as before from tidemark.point_revisions where series_id = $1 order by time`,
        [of.seriesId],
      );
      expect(revisions.rows).toEqual(changes.map((timeMs) => ({ time: timeMs, before: closeAt(timeMs) })));
      expect(new Set(await chunkStates())).not.toEqual(new Set([1]));
      await runPolicy();
      expect(new Set(await chunkStates())).toEqual(new Set([1]));
      expect(await storedPoints(database, of)).toEqual(before);
    });

    it(`accepts a backfill of ${table} before, between and after compressed chunks, and compresses it`, async () => {
      const before = await storedPoints(database, of);
      const half = { startMs: day(86).startMs, endMs: day(86).startMs + dayMs / 2 };
      const windows = [day(0), day(40), day(1), day(86), day(-300), half];
      const fresh: number[] = [];
      for (const window of windows) {
        fresh.push((await commitPoints(database, { ...of, window })).fresh);
        for (let at = window.startMs; at < window.endMs; at += minuteMs) {
          if (!before.has(at)) before.set(at, closeAt(at));
        }
      }
      expect(fresh).toEqual([1440, 1440, 1440, 1440, 1440, 0]);
      // Half of it is stored, the rest is new, in one segment.
      await database.pool.query(
        `delete from tidemark.${table} where time >= $1 and time < $1::timestamptz + interval '12 hours'`,
        [timestamp(day(50).startMs)],
      );
      await runPolicy();
      expect((await commitPoints(database, { ...of, window: day(50) })).fresh).toBe(720);
      expect(new Set(await chunkStates())).not.toEqual(new Set([1]));
      await runPolicy();
      expect(new Set(await chunkStates())).toEqual(new Set([1]));
      const after = await storedPoints(database, of);
      expect(after.size).toBe(before.size);
      expect([...after.keys()]).toEqual([...before.keys()].sort((a, b) => a - b));
    });
  }
});
