import { expect, test } from 'vitest';
import { type EpochMs, periodStart } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { waitFor } from '../parts/wait-for.ts';
import { bitcoinHours } from '../queue/queue-parts.ts';
import { describeRecordings, recording } from '../recordings.ts';
import { emptyConfirmMs, graceMs, openPipeline } from './run-pipeline.ts';
import { rowsIn, serveRows, withNumbers } from './serve-rows.ts';
import { byId, coverageOf, storedPoints, storedRates } from './stored.ts';

interface RecordedSeries {
  readonly name: string;
  readonly path: string;
  readonly series: SeriesKey;
  readonly fromMs: EpochMs;
  /** Null: open-ended, so that the newest point is read while it is open. */
  readonly toMs: EpochMs | null;
  /** The recorded timestamp of the answer, or a time shortly after the range. */
  readonly nowMs: EpochMs;
  readonly covered: Range;
  readonly requests: number;
}

const recorded: readonly RecordedSeries[] = [
  {
    // The bounds of this answer lie within minutes, so the request covers those minutes: a day and one minute.
    name: 'candles-binance-m1-bitcoin-tether-20211003-rows',
    path: '/v2/candles',
    series: { ...bitcoinHours, interval: 'm1' },
    fromMs: 1633202746000,
    toMs: 1633289146000,
    nowMs: 1633289146000 + 5 * 60_000,
    covered: { startMs: 1633202700000, endMs: 1633289160000 },
    // Its first minute lies before the recorded range. A cap may have caused this empty range, so it is requested
    // again: first with the next point, then alone.
    requests: 4,
  },
  {
    name: 'history-bitcoin-d1-default-with-gaps-20230301',
    path: '/v2/assets/bitcoin/history',
    series: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' },
    fromMs: 1646179200000,
    toMs: null,
    nowMs: 1677703325550,
    covered: { startMs: 1646179200000, endMs: periodStart(1677703325550, 'd1') },
    requests: 1,
  },
];

/** The recorded rows with the stored fields, each value as the recorded text. */
function recordedPoints(text: string, series: SeriesKey): object[] {
  const { data }: { data: Record<string, unknown>[] } = JSON.parse(text);
  return data.map(({ open, high, low, close, volume, period, priceUsd, time }) =>
    series.dataset === 'candles' ? { open, high, low, close, volume, period } : { priceUsd, time },
  );
}

const forms = [
  { form: 'as recorded', write: (text: string) => text },
  { form: 'with its decimals as JSON numbers', write: withNumbers },
];
// test/source reads every recorded answer in both forms; one of each dataset goes through the pipeline.
const cases = recorded.flatMap((entry) => forms.map((form) => ({ ...entry, ...form })));

describeRecordings('a recorded answer goes through the whole pipeline', () => {
  test.each(cases)('$name, $form', async ({ write, ...entry }) => {
    const text = recording(entry.name);
    const served = {
      rows: rowsIn(write(text)),
      timestampMs: (JSON.parse(text) as { timestamp?: number }).timestamp ?? null,
    };
    const { series, nowMs } = entry;
    const server = await serveRows((path, interval) =>
      path === entry.path && interval === series.interval ? served : null,
    );
    const clock = { nowMs };
    const pipeline = await openPipeline('postgres', clock, server.baseUrl);
    const { database } = pipeline;
    const seriesId = await pipeline.track(series, entry.fromMs, entry.toMs);
    await pipeline.backfill();
    // Days without a row before the first one are confirmed when a second answer agrees.
    if ((await listGaps(database, { nowMs, graceMs })).length > 0) {
      clock.nowMs += emptyConfirmMs;
      await pipeline.backfill();
    }

    // In both directions: every recorded value is stored as the same text, and nothing else is stored.
    expect(await storedPoints(database, series)).toEqual(recordedPoints(text, series));
    expect(await coverageOf(database, seriesId)).toEqual([entry.covered]);
    expect(await listGaps(database, { nowMs, graceMs })).toEqual([]);
    expect(server.requests).toHaveLength(entry.requests);
    const quarantined = await database.pool.query('select reason, raw from tidemark.quarantine');
    expect(quarantined.rows).toEqual([]);
  });

  test.each(forms)('rates-full-20211031, $form', async ({ write }) => {
    const text = recording('rates-full-20211031');
    const answer: { data: { id: string }[]; timestamp: number } = JSON.parse(text);
    const served = { rows: rowsIn(write(text)), timestampMs: answer.timestamp };
    const server = await serveRows((path) => (path === '/v2/rates' ? served : null));
    const pipeline = await openPipeline('postgres', { nowMs: answer.timestamp + 1000 }, server.baseUrl);
    await pipeline.startScheduler({
      refresh: true,
      settings: { tickMs: 100, refreshMs: 10_000, ratesMs: 600_000, backfillShare: 0.2 },
    });
    await pipeline.startWorker();
    const stored = () =>
      pipeline.database.pool.query<{ rates: number }>('select count(*) as rates from rates');
    await waitFor('the poll', async () => (await stored()).rows[0]?.rates !== 0);
    expect(await storedRates(pipeline.database, answer.timestamp)).toEqual(byId(answer.data));
    expect((await stored()).rows).toEqual([{ rates: answer.data.length }]);
  });
});
