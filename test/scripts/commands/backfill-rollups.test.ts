import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { rangesBehind } from '../../../store/rollups/refresh.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { openTestStore } from '../../store/open-store.ts';
import { expectRollupsToAgree } from '../../store/views/candles.ts';
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
    const stored: number[] = [];
    for (const from of ['2024-03-08', '2024-03-04']) {
      const ended = await tidemark(
        [...backfill, '--interval', 'm1', '--from', from, '--to', '2024-03-10'],
        env,
      );
      expect(ended.stderr).toBe('');
      expect(ended.exitCode).toBe(0);
      expect(await rangesBehind(database)).toEqual([]);
      await expectRollupsToAgree(database);
      // Of what is stored itself, without the part that is answered from the points.
      await database.pool.query(
        'alter materialized view tidemark.rollup_d1 set (timescaledb.materialized_only = true)',
      );
      const days = await database.pool.query('select from tidemark.rollup_d1');
      await database.pool.query(
        'alter materialized view tidemark.rollup_d1 set (timescaledb.materialized_only = false)',
      );
      stored.push(days.rowCount ?? 0);
    }
    expect(stored).toEqual([2, 6]);
  });
});
