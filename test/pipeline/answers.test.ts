import { expect, test } from 'vitest';
import { dayMs, hourMs } from '../../contract/intervals.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { readQuarantined } from '../../store/ledger/quarantine.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/series/status.ts';
import { onEachBackend, bitcoinHours as series } from '../queue/queue-parts.ts';
import { serve } from '../source/local-server.ts';
import { graceMs, openPipeline } from './run-pipeline.ts';
import { coverageOf, storedPoints } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const { truth } = createSimulator({ seed: 'answers', clock: { now: () => nowMs } });
const range = { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 0, 6) };
const noonMs = Date.UTC(2024, 0, 2, 12);

onEachBackend('an answer', (kind) => {
  test('stores each point of its window once, whatever else it contains, and quarantines impossible rows', async () => {
    const far = truth.candles(series, { startMs: range.endMs + dayMs, endMs: range.endMs + 2 * dayMs });
    const impossible = (row: { period: number }) =>
      row.period === noonMs
        ? { ...row, high: '0.5', low: '1.0' }
        : row.period === noonMs + hourMs
          ? { ...row, period: row.period + 1 }
          : row;
    // Unordered, twice, with points of the windows beside it, which are requested separately, and of days far away.
    const server = await serve((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://localhost');
      const startMs = Number(searchParams.get('start')) - hourMs;
      const rows = truth.candles(series, { startMs, endMs: Number(searchParams.get('end')) + hourMs });
      const data = [...rows.slice(12).reverse(), ...far, ...rows, ...rows.slice(0, 3)].map(impossible);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data, timestamp: nowMs }));
    });
    const { database, track, backfill } = await openPipeline(kind, { nowMs }, server.baseUrl);
    const seriesId = await track(series, range.startMs, range.endMs);
    await backfill({}, { rangeLimits: { candles: { h1: dayMs } } });
    const expected = truth.candles(series, range);
    const isGood = ({ period }: { period: number }) => period !== noonMs && period !== noonMs + hourMs;
    expect(await storedPoints(database, series)).toEqual(expected.filter(isGood));
    const kept = await database.pool.query('select raw, reason, time from tidemark.quarantine order by time');
    const raw = (place: number) =>
      JSON.stringify(impossible(expected.filter((row) => !isGood(row))[place] ?? { period: 0 }));
    expect(kept.rows).toEqual([
      { raw: raw(0), reason: 'high is below low', time: noonMs },
      { raw: raw(1), reason: 'does not start a period of h1', time: noonMs + hourMs + 1 },
    ]);
    // The periods were answered, so they are no gaps, and are requested no more. The report names their rows.
    expect(await coverageOf(database, seriesId)).toEqual([range]);
    expect(await listGaps(database, { nowMs, graceMs })).toEqual([]);
    const points = expected.length - 2;
    expect(await seriesStatus(database, { nowMs, graceMs })).toMatchObject([{ quarantined: 2, points }]);
    expect(await readQuarantined(database)).toMatchObject([{ seriesId, rows: 2 }]);
    expect(server.requests).toHaveLength(5);
  });
});
