import { expect, it, onTestFinished } from 'vitest';
import { minuteMs } from '../../../contract/intervals.ts';
import { startSimulator } from '../../../simulator/start.ts';
import { rangesBehind } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { openTestStore } from '../../store/open-store.ts';
import { candles, expectRollupsToAgree, market as ofStore, put } from '../../store/views/candles.ts';
import { market, tidemark } from '../command.ts';

describeNeeding('timescale', 'tidemark backfill', () => {
  it('refreshes the rollups before it reports completion, older ranges too', async () => {
    const { database, url, close } = await openTestStore();
    onTestFinished(close);
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = {
      DATABASE_URL: url,
      SOURCE_URL: simulator.url,
      SOURCE_REQUESTS_PER_MINUTE: '0',
      PLANNING_TICK_MS: '200',
    };
    const backfill = ['backfill', 'candles', ...market];
    expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
    // It waits for no other series.
    const { seriesId: other } = await trackSeries(database, ofStore('other', 'm1'), 0, null);
    await put(database, other, candles(Date.UTC(2024, 0, 1), minuteMs, 10));
    const stored: number[] = [];
    for (const from of ['2024-03-08', '2024-03-04']) {
      const ended = await tidemark(
        [...backfill, '--interval', 'm1', '--from', from, '--to', '2024-03-10'],
        env,
      );
      expect(ended.stderr).toBe('');
      expect(ended.exitCode).toBe(0);
      expect((await rangesBehind(database)).map(({ seriesId }) => seriesId)).toEqual([other]);
      await expectRollupsToAgree(database);
      const days = await database.pool.query('select from tidemark.rollup_days');
      stored.push(days.rowCount ?? 0);
    }
    expect(stored).toEqual([2, 6]);
  });
});
