/** An upgrade of the extension, where the server has an older supported version of it too. */

import pg from 'pg';
import { expect, it } from 'vitest';
import { dayMs, minuteMs } from '../../../model/intervals.ts';
import { assertMigrated, migrate } from '../../../schema/migrate.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { isTooOld } from '../../../store/timescale/extension.ts';
import { listChunksInRows, missingInternals } from '../../../store/timescale/internals.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { market } from '../../schema/api/candles.ts';
import { closeAt, commitPoints, storedPoints } from '../committing.ts';
import { connect, openEmptyDatabase } from '../open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const day = (index: number) => ({ startMs: startMs + index * dayMs, endMs: startMs + (index + 1) * dayMs });

describeNeeding('timescale', 'an upgrade of the extension', () => {
  it('keeps every digit, and writes to chunks of the older release', async (context) => {
    const { pool, url } = await openEmptyDatabase('main');
    const found = await pool.query<{ version: string; newest: string }>(
      `select version, default_version as newest
       from pg_available_extension_versions join pg_available_extensions using (name)
       where name = 'timescaledb' and version ~ '^[0-9.]+$' order by string_to_array(version, '.')::int[]`,
    );
    const older = found.rows.filter(({ version, newest }) => version !== newest && !isTooOld(version));
    const [from] = older;
    if (from === undefined) return context.skip('the server has one supported version of TimescaleDB alone');
    const { version, newest } = from;
    await inSession(url, 'drop extension if exists timescaledb cascade');
    await inSession(url, `create extension timescaledb schema public version '${version}'`);
    await migrate({ url, direction: 'up', ifBusy: 'wait' });
    const before = connect(url, 2);
    const series = market('a', 'm1');
    const { seriesId } = await trackSeries(before, series, startMs, null);
    const of = { seriesId, series };
    for (let index = 0; index < 70; index += 1) await commitPoints(before, { ...of, window: day(index) });
    const due = await listChunksInRows(before.pool, { tables: ['candle_points'], beforeMs: day(60).startMs });
    expect(due.length).toBeGreaterThan(0);
    for (const { chunk } of due) await before.pool.query(`call convert_to_columnstore('${chunk}')`);
    const stored = await storedPoints(before, of);
    await before.close();

    await inSession(url, 'alter extension timescaledb update');
    const after = connect(url, 2);
    try {
      const [extension] = (await after.pool.query(`select extversion from pg_extension where extname = 'timescaledb'`))
        .rows;
      expect([version, extension.extversion]).toEqual([version, newest]);
      await assertMigrated(after.pool);
      expect(await migrate({ url, direction: 'up', ifBusy: 'wait' })).toEqual([]);
      expect(await missingInternals(after.pool)).toBe(null);
      expect(await storedPoints(after, of)).toEqual(stored);
      expect(await listChunksInRows(after.pool, { tables: ['candle_points'], beforeMs: day(60).startMs })).toEqual([]);
      const unchanged = await commitPoints(after, { ...of, window: day(3) });
      expect(unchanged).toMatchObject({ fresh: 0, changed: 0, unchanged: 1440 });
      const timeMs = day(3).startMs + 7 * minuteMs;
      const changed = await commitPoints(after, { ...of, window: day(3), changed: new Map([[timeMs, '0.10']]) });
      expect(changed).toMatchObject({ fresh: 0, changed: 1, unchanged: 1439 });
      await commitPoints(after, { ...of, window: day(70) });
      const again = await listChunksInRows(after.pool, { tables: ['candle_points'], beforeMs: day(60).startMs });
      expect(again).toHaveLength(1);
      await after.pool.query(`call convert_to_columnstore('${again[0]?.chunk}')`);
      const now = await storedPoints(after, of);
      expect(now.size).toBe(stored.size + 1440);
      for (const [at, close] of stored) expect(now.get(at)).toBe(at === timeMs ? '0.10' : close);
      expect(now.get(day(70).startMs)).toBe(closeAt(day(70).startMs));
    } finally {
      await after.close();
    }
  });
});

/** As the first statement of a new session, which the extension demands. */
async function inSession(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
