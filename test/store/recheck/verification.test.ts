import { expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../contract/intervals.ts';
import type { SeriesKey } from '../../../contract/series.ts';
import { prepareWindow, type WindowCommit } from '../../../store/commit/prepare-window.ts';
import { consumeResults } from '../../../store/recheck/command-results.ts';
import { verifyWindow } from '../../../store/recheck/verification.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { answerOf, commitPoints, pointsOf } from '../committing.ts';
import { openOwnStore } from '../open-store.ts';
import { market } from '../views/candles.ts';

const startMs = Date.UTC(2024, 0, 1);
const window = { startMs, endMs: startMs + hourMs };
const candles = market('bitcoin', 'm1');
const history: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'm1' };

/** A series with the points of the window, and its verification. */
async function filled(series: SeriesKey) {
  const { database } = await openOwnStore();
  const { seriesId } = await trackSeries(database, series, window.startMs, window.endMs);
  await commitPoints(database, { seriesId, series, window });
  const nowMs = Date.now();
  const verify = (
    rows: ReturnType<typeof pointsOf>,
    rejected: readonly { raw: string; reason: string }[],
    more = {},
  ) =>
    verifyWindow(
      database,
      prepareWindow({
        ...{ seriesId, series, window: { ...window, ...more }, lane: 'verify', attempt: 1 },
        ...{
          nowMs,
          answer: answerOf(rows, nowMs, { rejected }),
          graceMs: minuteMs,
          emptyConfirmMs: minuteMs,
        },
      } as WindowCommit),
    );
  return { database, verify };
}

it('compares nothing of a window whose rows were all rejected, beside it too', async () => {
  const { database, verify } = await filled(candles);
  const rejected = Array.from({ length: 62 }, (_, place) => ({
    raw: `{"period":${startMs + (place - 1) * minuteMs + 1}}`,
    reason: 'period: off the grid',
  }));
  const requested = { startMs: startMs - minuteMs, endMs: window.endMs + minuteMs };
  expect(await verify([], rejected, { requested, run: 'a' })).toMatchObject({
    verdict: 'unreadable',
    comparison: { points: 0 },
  });
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
    const { database, verify } = await filled(series);
    const [rejectedMs, absentMs] = [startMs + 30 * minuteMs, startMs + 40 * minuteMs];
    const rows = pointsOf(series, window).filter((row) => {
      const timeMs = 'period' in row ? row.period : row.time;
      return timeMs !== rejectedMs && timeMs !== absentMs;
    });
    expect(await verify(rows, [{ raw: `{"${time}":${rejectedMs}}`, reason: 'not a decimal' }])).toMatchObject(
      {
        verdict: 'differs',
        comparison: { points: 59, missingThere: 1 },
      },
    );
    const differences = await database.pool.query('select time from tidemark.differences');
    expect(differences.rows.map((row) => Number(row.time))).toEqual([absentMs]);
  },
);
