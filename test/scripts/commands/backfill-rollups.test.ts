import { expect, it } from 'vitest';
import { minuteMs } from '../../../contract/intervals.ts';
import { rangesBehind } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { candles, expectRollupsToAgree, market, put } from '../../store/views/candles.ts';
import { openWatched } from './watch-list-parts.ts';

describeNeeding('timescale', 'tidemark backfill', () => {
  it('refreshes the rollups before it reports completion, older ranges too', async () => {
    const { database, say, query } = await openWatched();
    // It waits for no other series.
    const { seriesId: other } = await trackSeries(database, market('other', 'm1'), 0, null);
    await put(database, other, candles(Date.UTC(2024, 0, 1), minuteMs, 10));
    const stored: number[] = [];
    for (const from of ['2024-03-08', '2024-03-04']) {
      await say(
        `backfill candles --exchange binance --base bitcoin --quote tether --interval m1 --from ${from} --to 2024-03-10`,
      );
      expect((await rangesBehind(database)).map(({ seriesId }) => seriesId)).toEqual([other]);
      await expectRollupsToAgree(database);
      stored.push((await query('select from tidemark.rollup_days')).length);
    }
    expect(stored).toEqual([2, 6]);
  });
});
