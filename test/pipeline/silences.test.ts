import { expect, test } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import { marketDataService } from '../../sources/profiles/market-data-service.ts';
import { readSilences } from '../../store/series/silences.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { openPipeline } from './run-pipeline.ts';
import { serveRows } from './serve-rows.ts';
import { coverageOf } from './stored.ts';

const noonMs = Date.UTC(2024, 2, 1, 12);
const hour = (of: number) => noonMs + of * hourMs;

onEachBackend('a silence that is far longer than usual', (kind) => {
  test.each([
    ['is asked for a second time, alone, where a missing row proves nothing', 'unknown', 2, 1],
    ['is covered at once where it means that there was no trade', 'no trade', 1, 0],
  ] as const)('%s', async (_, absence, requests, listed) => {
    const clock = { nowMs: noonMs + 90_000 };
    const rows = [-60, -59, -57, -56, -10, -9, -8, -6, -5, -4, -3, -2].map((of) => {
      const json = `{"open":"1","high":"9","low":"1","close":"2","volume":"5","period":${hour(of)}}`;
      return { timeMs: hour(of), json };
    });
    const source = await serveRows(() => ({ rows, timestampMs: clock.nowMs }));
    const offers = marketDataService.offers.map((offer) => ({ ...offer, absence }));
    const profile = { ...marketDataService, offers };
    const pipeline = await openPipeline(kind, clock, source.baseUrl, { source: { profile } });
    const range = { startMs: hour(-60), endMs: hour(-1) };
    const seriesId = await pipeline.track(bitcoinHours, range.startMs, range.endMs);
    await pipeline.backfill({}, { rangeLimits: { candles: { h1: 60 * hourMs } } });
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    const silence = { seriesId, startMs: hour(-55), endMs: hour(-10), answeredMs: clock.nowMs };
    expect(await readSilences(pipeline.database)).toMatchObject(listed === 1 ? [silence] : []);
    expect(source.requests).toHaveLength(requests);
  });
});
