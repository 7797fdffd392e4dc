import { expect, it } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs, hourMs } from '../../../contract/intervals.ts';
import { rangesBehind, refreshRollups } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { openOwnStore } from '../open-store.ts';
import { candles, market, put } from '../views/candles.ts';
import { ask } from '../views/price-line.ts';

const startMs = Date.UTC(2023, 0, 1);

describeNeeding('timescale', 'ohlcv of days that await a refresh', () => {
  it('reads covered periods from the points, and does not show them as without trades', async () => {
    const { database, url } = await openOwnStore();
    const { seriesId } = await trackSeries(database, market('a', 'h1'), startMs, startMs + 40 * dayMs);
    await put(database, seriesId, candles(startMs, hourMs, 24 * 10));
    await put(database, seriesId, candles(startMs + 20 * dayMs, hourMs, 24 * 20));
    await refreshRollups(database, { clock: systemClock, nowMs: startMs + 365 * dayMs });
    // A backfill of the range between, as committed windows make it.
    await put(database, seriesId, candles(startMs + 10 * dayMs, hourMs, 24 * 10, 3));
    await database.pool.query('update tidemark.series set covered = tstzmultirange(tracked)');
    expect(await rangesBehind(database)).toHaveLength(1);

    const days = (fill: boolean) =>
      ask(url, `select * from ohlcv('x', 'a', 'tether', 'd1', gap_fill => ${fill})`);
    const behind = [await days(false), await days(true)];
    expect(behind[0]?.rows).toHaveLength(40);
    expect(behind[1]).toEqual(behind[0]);
    await refreshRollups(database, { clock: systemClock, nowMs: startMs + 365 * dayMs });
    expect(await rangesBehind(database)).toEqual([]);
    expect([await days(false), await days(true)]).toEqual(behind);
  });
});
