import { expect, it, onTestFinished } from 'vitest';
import { hourMs, minuteMs } from '../../../contract/intervals.ts';
import type { SeriesKey } from '../../../contract/series.ts';
import { prepareWindow, type WindowCommit } from '../../../store/commit/prepare-window.ts';
import { consumeResults } from '../../../store/recheck/command-results.ts';
import { verifyWindow } from '../../../store/recheck/verification.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { commitPoints, pointsOf } from '../committing.ts';
import { onEachDatabase, openTestStore } from '../open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const window = { startMs, endMs: startMs + hourMs };
const candles: SeriesKey = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'm1',
};
const history: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'm1' };

function body(on: 'main' | 'plain') {
  it('compares nothing of a window whose rows were all rejected, beside it too', async () => {
    const { database, close } = await openTestStore(on);
    onTestFinished(close);
    const { seriesId } = await trackSeries(database, candles, window.startMs, window.endMs);
    await commitPoints(database, { seriesId, series: candles, window });
    const rejected = Array.from({ length: 62 }, (_, place) => ({
      raw: `{"period":${startMs + (place - 1) * minuteMs + 1}}`,
      reason: 'period: off the grid',
    }));
    const nowMs = Date.now();
    const requested = { startMs: startMs - minuteMs, endMs: window.endMs + minuteMs };
    const verified = await verifyWindow(
      database,
      prepareWindow({
        seriesId,
        series: candles,
        window: { ...window, requested, run: 'a' },
        lane: 'verify',
        attempt: 1,
        nowMs,
        answer: { rows: [], rejected, sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 },
        graceMs: minuteMs,
        emptyConfirmMs: minuteMs,
      } as WindowCommit),
    );
    expect(verified).toMatchObject({ verdict: 'unreadable', comparison: { points: 0 } });
    const [result] = await consumeResults(database, 'a');
    expect(result?.message).toMatch(/^60 stored points could not be compared: /);
    const ledger = await database.pool.query('select verdict from tidemark.fetches where rejected > 0');
    expect(ledger.rows).toEqual([{ verdict: 'unreadable' }]);
  });

  it.each([
    ['candles', candles, 'period'],
    ['asset history', history, 'time'],
  ])(
    'reports no stored point of %s as missing at the source when its row was rejected',
    async (_, series, time) => {
      const { database, close } = await openTestStore(on);
      onTestFinished(close);
      const { seriesId } = await trackSeries(database, series, window.startMs, window.endMs);
      await commitPoints(database, { seriesId, series, window });
      const rejectedMs = startMs + 30 * minuteMs;
      const absentMs = startMs + 40 * minuteMs;
      const rows = pointsOf(series, window).filter((row) => {
        const timeMs = 'period' in row ? row.period : row.time;
        return timeMs !== rejectedMs && timeMs !== absentMs;
      });
      const rejected = [{ raw: `{"${time}":${rejectedMs}}`, reason: 'not a decimal' }];
      const nowMs = Date.now();
      const verified = await verifyWindow(
        database,
        prepareWindow({
          seriesId,
          series,
          window,
          lane: 'verify',
          attempt: 1,
          nowMs,
          answer: { rows, rejected, sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 },
          graceMs: minuteMs,
          emptyConfirmMs: minuteMs,
        } as WindowCommit),
      );
      expect(verified).toMatchObject({ verdict: 'differs', comparison: { points: 59, missingThere: 1 } });
      const differences = await database.pool.query('select time from tidemark.differences');
      expect(differences.rows.map((row) => Number(row.time))).toEqual([absentMs]);
    },
  );
}

onEachDatabase('verifyWindow', body);
