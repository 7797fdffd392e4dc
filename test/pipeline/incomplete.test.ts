import { expect, test } from 'vitest';
import { hourMs, minuteMs, periodStart } from '../../model/intervals.ts';
import { type Range, subtract } from '../../model/ranges.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { writeCoverage } from '../../v2/coverage-header.ts';
import { waitFor } from '../parts/wait-for.ts';
import { bitcoinHours as candles, onEachBackend } from '../queue/queue-parts.ts';
import { failedRetryMs, type GivenTime, graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { type ServedRow, serveRows } from './serve-rows.ts';
import { coverageOf, storedPoints, verdictsOf } from './stored.ts';

const noonMs = Date.UTC(2024, 2, 1, 12);
const hour = (of: number) => noonMs + of * hourMs;
const hours = (from: number, to: number) => ({ startMs: hour(from), endMs: hour(to) });

/** The part of the range that the source states to have, as a Tidemark that closes periods after a minute would. */
function stating(clock: GivenTime, covered: () => readonly Range[]) {
  return ({ startMs, endMs }: Range): string => {
    const untilMs = Math.max(startMs, Math.min(endMs, periodStart(clock.nowMs - minuteMs, 'h1')));
    const missing = subtract([{ startMs, endMs: untilMs }], covered());
    return writeCoverage({ share: missing.length === 0 ? '1' : '0.5', gaps: missing.length, untilMs, missing });
  };
}

async function truth(clock: GivenTime): Promise<ServedRow[]> {
  const simulator = await simulate(clock);
  return simulator.truth
    .candles(candles, hours(-100, 3))
    .map((row) => ({ timeMs: row.period, json: JSON.stringify(row) }));
}

onEachBackend('a source that states which ranges it lacks', (kind) => {
  test('receives one request for each range it has, and a later one for the rest', async () => {
    const clock = { nowMs: noonMs + 90_000 };
    const rows = await truth(clock);
    let has: readonly Range[] = [hours(-48, -36), hours(-30, -20), hours(-10, -1)];
    const source = await serveRows(() => ({
      // It also sends rows outside its stated coverage: they may belong to a period that it has in part.
      rows,
      timestampMs: clock.nowMs,
      coverage: stating(clock, () => has),
    }));
    const pipeline = await openPipeline(kind, clock, source.baseUrl);
    const seriesId = await pipeline.track(candles, hour(-60), hour(0));
    const limits = { rangeLimits: { candles: { h1: 60 * hourMs } } };
    await pipeline.backfill({}, limits);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual(has);
    expect(source.requests).toHaveLength(3);
    const stored = (await storedPoints(pipeline.database, candles)) as { period: number }[];
    const within = (timeMs: number | null) =>
      has.some(({ startMs, endMs }) => timeMs !== null && timeMs >= startMs && timeMs < endMs);
    expect(stored.map(({ period }) => period)).toEqual(
      rows.map(({ timeMs }) => timeMs).filter((timeMs) => within(timeMs)),
    );
    const gaps = await listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs });
    expect(gaps.map(({ startMs, endMs }) => ({ startMs, endMs }))).toEqual([
      ...[hours(-60, -48), hours(-36, -30), hours(-20, -10), hours(-1, 0)],
    ]);
    for (const { reason, message } of gaps)
      expect([reason, message]).toEqual(['failed', 'the source says that this is not complete there']);
    // A recently closed period is requested again soon, because the source may only lag.
    expect(gaps.map(({ retryAtMs }) => (retryAtMs ?? 0) - clock.nowMs)).toEqual([
      ...[failedRetryMs, failedRetryMs, failedRetryMs, 90_000],
    ]);

    clock.nowMs += 90_000;
    has = [...has, hours(-1, 0), hours(-60, -48)];
    await pipeline.backfill({}, limits);
    expect(source.requests).toHaveLength(4);
    expect((await coverageOf(pipeline.database, seriesId)).at(-1)).toEqual(hours(-10, 0));
    clock.nowMs += failedRetryMs;
    await pipeline.backfill({}, limits);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([
      ...[hours(-60, -36), hours(-30, -20), hours(-10, 0)],
    ]);
    expect(source.requests).toHaveLength(7);
  });

  test('is no outage: each window costs one attempt, and the pause grows with the age of the gap', async () => {
    const clock = { nowMs: noonMs + 90_000 };
    const source = await serveRows(() => ({ rows: [], timestampMs: clock.nowMs, coverage: stating(clock, () => []) }));
    const pipeline = await openPipeline(kind, clock, source.baseUrl);
    const seriesId = await pipeline.track(candles, hour(-40), hour(-20));
    const limits = { rangeLimits: { candles: { h1: hourMs } } };
    const pauses: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      await pipeline.backfill({}, limits);
      const gaps = await listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs });
      const [retryAtMs] = new Set(gaps.map((gap) => gap.retryAtMs));
      expect(gaps).toHaveLength(20);
      expect(new Set(gaps.map((gap) => gap.retryAtMs)).size).toBe(1);
      pauses.push((retryAtMs ?? 0) - clock.nowMs);
      clock.nowMs = retryAtMs ?? 0;
    }
    expect(pauses).toEqual([1, 1, 2, 4].map((times) => times * failedRetryMs));
    expect(source.requests).toHaveLength(4 * 20);
    expect(await verdictsOf(pipeline.database)).toEqual([{ verdict: 'incomplete', requests: 4 * 20 }]);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([]);
  });

  test('is refreshed without delay when it lags: the open candle is stored', async () => {
    const clock = { nowMs: noonMs + 65_000 };
    const rows = await truth(clock);
    let has = [hours(-10, -1)];
    const source = await serveRows(() => ({ rows, timestampMs: clock.nowMs, coverage: stating(clock, () => has) }));
    const pipeline = await openPipeline(kind, clock, source.baseUrl);
    const seriesId = await pipeline.track(candles, hour(-10), null);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    await pipeline.startWorker();
    const stored = async (of: number) =>
      (await storedPoints(pipeline.database, candles)).some((row) => (row as { period: number }).period === hour(of));
    await waitFor('the open candle', () => stored(0));
    // The source has the previous hour only as it was while that hour was open.
    expect(await stored(-1)).toBe(false);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([hours(-10, -1)]);
    const asked = source.requests.length;
    // The next refresh requests it again, although its own retry is not due.
    has = [hours(-10, 0)];
    clock.nowMs += 10_000;
    await waitFor(
      'the previous hour',
      async () => (await coverageOf(pipeline.database, seriesId))[0]?.endMs === hour(0),
    );
    expect(asked).toBe(1);
    expect(source.requests).toHaveLength(2);
    expect(await stored(-1)).toBe(true);
    expect(await listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs })).toEqual([]);
    await scheduler.close();
  });
});
