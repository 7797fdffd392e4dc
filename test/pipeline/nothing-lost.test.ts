import { expect } from 'vitest';
import { type EpochMs, hourMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { listGaps } from '../../store/series/gaps.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { type Chance, seededTest } from '../faults/seeded.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { serve } from '../sources/local-server.ts';
import { emptyConfirmMs, graceMs, openPipeline } from './run-pipeline.ts';
import { coverageOf, storedPoints } from './stored.ts';

const startOfNowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const minutes: SeriesKey = { ...bitcoinHours, interval: 'm1' };
const days: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' };

type Row = Candle | HistoryPoint;
const timeOfRow = (row: object): EpochMs => Number('period' in row ? row.period : 'time' in row && row.time);

/** The remaining rows of an answer; null: status 500. `place`: the number of requests before this one. */
type Misbehaviour = (rows: readonly Row[], asked: { range: Range; place: number }) => readonly Row[] | null;

const lines = [
  { series: minutes, range: { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 1, 1) } },
  { series: days, range: { startMs: Date.UTC(2013, 0, 1), endMs: Date.UTC(2024, 0, 1) } },
];

onEachBackend('no point is missing inside coverage', (kind) => {
  /** Backfills repeatedly, an hour apart, and compares coverage with the truth after each. */
  async function backfillFrom(
    chance: Chance,
    series: SeriesKey,
    range: Range,
    misbehave: Misbehaviour,
    { rounds }: { rounds: number },
  ) {
    const clock = { nowMs: startOfNowMs };
    const { truth } = createSimulator({ seed: chance.seed, clock: { now: () => clock.nowMs } });
    const rowsOf = (of: Range): readonly Row[] => truth.points(series, of);
    let place = 0;
    const source = await serve((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://localhost');
      const asked = { startMs: Number(searchParams.get('start')), endMs: Number(searchParams.get('end')) };
      response.setHeader('content-type', 'application/json');
      // It knows no other interval, as that of a probe.
      const isKnown = searchParams.get('interval') === series.interval;
      const data = isKnown ? misbehave(rowsOf(asked), { range: asked, place }) : [];
      place += isKnown ? 1 : 0;
      const status = isKnown ? (data === null ? 500 : 200) : 404;
      response.writeHead(status).end(JSON.stringify({ data, error: 'not found', timestamp: clock.nowMs }));
    });
    const pipeline = await openPipeline(kind, clock, source.baseUrl);
    const seriesId = await pipeline.track(series, range.startMs, range.endMs);
    const expected = rowsOf(range);
    const rowsWithin = (ranges: readonly Range[], rows: readonly object[]) =>
      rows.filter((row) => ranges.some(({ startMs, endMs }) => timeOfRow(row) >= startMs && timeOfRow(row) < endMs));
    for (let round = 0; round < rounds; round += 1) {
      await pipeline.backfill();
      const covered = await coverageOf(pipeline.database, seriesId);
      const stored = await storedPoints(pipeline.database, series);
      expect(rowsWithin(covered, stored)).toEqual(rowsWithin(covered, expected));
      if ((await listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs })).length === 0) break;
      clock.nowMs += emptyConfirmMs;
    }
    return {
      expected,
      stored: () => storedPoints(pipeline.database, series),
      covered: () => coverageOf(pipeline.database, seriesId),
      gaps: () => listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs }),
    };
  }

  seededTest(
    'when a truncated answer refutes an empty one, and the rest of its window answers empty at once',
    async (chance) => {
      const day = { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 0, 2) };
      const outcome = await backfillFrom(
        chance,
        minutes,
        day,
        (rows, { place }) => (place === 1 ? rows.slice(0, 400) : place < 3 ? [] : rows),
        { rounds: 4 },
      );
      expect(await outcome.stored()).toEqual(outcome.expected);
      expect(await outcome.covered()).toEqual([day]);
    },
  );

  seededTest('when answers are capped at 1,000 rows, falsely empty and failing', async (chance) => {
    const month = { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 1, 1) };
    // Two falsely empty answers an hour apart in the same place are accepted.
    const emptied = new Set<number>();
    const outcome = await backfillFrom(
      chance,
      minutes,
      month,
      (rows, { range }) => {
        if (chance.happens(0.06)) return null;
        const place = Math.round(range.startMs / hourMs);
        if (emptied.has(place) || chance.happens(0.7)) return rows.slice(0, 1000);
        emptied.add(place);
        return [];
      },
      { rounds: 6 },
    );
    expect(await outcome.stored()).toEqual(outcome.expected);
    expect(await outcome.gaps()).toEqual([]);
  });

  seededTest('when answers are capped at any number of rows, the oldest or the newest', async (chance) => {
    for (const { series, range } of lines) {
      const outcome = await backfillFrom(
        chance,
        series,
        range,
        (rows) => {
          const most = chance.whole(1, 1440);
          return chance.happens(0.5) ? rows.slice(0, most) : rows.slice(-most);
        },
        { rounds: 3 },
      );
      expect(await outcome.stored()).toEqual(outcome.expected);
      expect(await outcome.gaps()).toEqual([]);
    }
  });
});
