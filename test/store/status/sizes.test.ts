import { beforeAll, expect, it } from 'vitest';
import { trackSeries } from '../../../store/series/series.ts';
import { bytesPerPoint } from '../../../store/status/measures.ts';
import { market } from '../../schema/api/candles.ts';
import { onEachDatabase, useStore } from '../open-store.ts';

const startMs = Date.UTC(2024, 0, 1);

onEachDatabase('what a point takes', (kind) => {
  const store = useStore(kind);
  beforeAll(async () => {
    const { seriesId } = await trackSeries(store.database, market('bitcoin', 'm1'), startMs, null);
    const { pool } = store.database;
    await pool.query(
      `insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
         select $1, '2024-01-01'::timestamptz + m * interval '1 minute',
                40000.5 + m % 977, 40100.25 + m % 977, 39900.75 + m % 977, 40010.1 + m % 977, 12.345 + m % 91
         from generate_series(0, 119999) m`,
      [seriesId],
    );
    await pool.query('update tidemark.series set points = 120000 where id = $1', [seriesId]);
  });

  if (kind === 'plain') {
    it('is measured from the stored points, once there are enough', async () => {
      const { candles, asset_history: history } = await bytesPerPoint(store.database);
      expect(candles.kept).toBeGreaterThan(80);
      expect(candles.kept).toBeLessThan(250);
      expect(candles.row).toBe(candles.kept);
      expect(history).toEqual({ row: 133, kept: 133 });
    });
    return;
  }

  it('is measured from compressed chunks only, not from rows', async () => {
    expect((await bytesPerPoint(store.database)).candles).toEqual({ row: 137, kept: 21 });
    await store.database.pool.query(`select compress_chunk(c) from show_chunks('tidemark.candle_points') c`);
    // Their rows are counted by `analyze`, as autovacuum runs it.
    await store.database.pool.query('analyze tidemark.candle_points');
    const { kept } = (await bytesPerPoint(store.database)).candles;
    expect(kept).not.toBe(21);
    expect(kept).toBeGreaterThan(1);
    expect(kept).toBeLessThan(80);
  });
});
