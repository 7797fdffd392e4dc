import { beforeAll, expect, it } from 'vitest';
import type { CandleInterval } from '../../../model/datasets/candles.ts';
import { dayMs, type EpochMs, hourMs, minuteMs, weekMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import { trackSelection } from '../../../operations/tracking/track.ts';
import type { Database } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { listGaps, seriesWithGaps } from '../../../store/series/gaps.ts';
import { blockSeries, trackSeries, untrackSeries } from '../../../store/series/series.ts';
import { market } from '../../schema/api/candles.ts';
import { useStore } from '../open-store.ts';

const nowMs = Date.UTC(2024, 5, 12, 10, 30, 30); // a Wednesday
const fromMs = Date.UTC(2024, 5, 1, 0, 0, 20);

const store = useStore();
let database: Database;
beforeAll(() => {
  ({ database } = store);
});
const track = (base: string, startMs: EpochMs, endMs: EpochMs | null = null, interval: CandleInterval = 'm1') =>
  trackSeries(database, market(base, interval), startMs, endMs);
const planned = (seriesId: number, atMs = nowMs, openRefreshMs: number | null = null) =>
  seriesWithGaps(database, {
    ...{ nowMs: atMs, graceMs: minuteMs, openRefreshMs, seriesIds: [seriesId], rangesPerSeries: 3 },
  });
const gapsOf = async (seriesId: number, atMs = nowMs, graceMs = minuteMs) =>
  (await listGaps(database, { nowMs: atMs, graceMs, seriesIds: [seriesId] })).map((gap) => [gap.startMs, gap.endMs]);

it('widens the tracked range to whole periods and ends the gap at the last closed one', async () => {
  const { seriesId } = await track('a', fromMs);
  expect(await gapsOf(seriesId)).toEqual([[Date.UTC(2024, 5, 1), Date.UTC(2024, 5, 12, 10, 29)]]);
  expect(await gapsOf(seriesId, nowMs, 0)).toEqual([[Date.UTC(2024, 5, 1), Date.UTC(2024, 5, 12, 10, 30)]]);
  const weeks = await track('a', fromMs, null, 'w1');
  const monday = Date.UTC(2024, 4, 27);
  expect(await gapsOf(weeks.seriesId)).toEqual([[monday, monday + 2 * weekMs]]);
  const hours = await track('a', fromMs, null, 'h8');
  expect(await gapsOf(hours.seriesId)).toEqual([[Date.UTC(2024, 5, 1), Date.UTC(2024, 5, 12, 8)]]);
});

it('tracks a future until it is delivered, however it is asked for, and refuses a range after that', async () => {
  const expired = { ...market('f', 'h1'), quoteId: 'tether:tether-240601' };
  const endMs = Date.UTC(2024, 5, 1, 8);
  for (const toMs of [null, nowMs]) {
    const { tracked } = await trackSeries(database, expired, fromMs, toMs);
    expect(tracked.endMs).toBe(endMs);
  }
  expect((await trackSeries(database, { ...expired, interval: 'd1' }, fromMs, null)).tracked.endMs).toBe(
    Date.UTC(2024, 5, 2),
  );
  const late = trackSeries(database, { ...expired, baseId: 'g' }, endMs, null);
  await expect(late).rejects.toThrow('x g/tether:tether-240601 h1 ended at 2024-06-01 08:00Z');
});

it('tracks a series together with its sources, or not at all', async () => {
  const series = [market('whole', 'h1')];
  const selection = { series, source: null, fromMs, toMs: null, trackFromMs: () => fromMs };
  const one = { source: 'kraken', symbol: 'A', isArchive: false };
  const tracking = (sources: (typeof one)[]) => trackSelection({ database }, { ...selection, sources }).next();
  const stored = async () => {
    const { rows } = await database.pool.query(
      `select source from tidemark.series s left join tidemark.series_sources on series_id = s.id
       where s.base_id = 'whole'`,
    );
    return rows;
  };
  await expect(tracking([one, one])).rejects.toThrow('source');
  expect(await stored()).toEqual([]);
  await tracking([one]);
  expect(await stored()).toEqual([{ source: 'kraken' }]);
});

it('requests nothing of an untracked series, which keeps its id', async () => {
  const { seriesId } = await track('c', fromMs);
  const untrackedMs = fromMs + dayMs;
  expect(await untrackSeries(database, seriesId, untrackedMs)).toEqual({
    series: market('c', 'm1'),
    untrackedMs: null,
  });
  expect(await untrackSeries(database, seriesId, untrackedMs + dayMs)).toEqual({
    series: market('c', 'm1'),
    untrackedMs,
  });
  expect(await gapsOf(seriesId)).toEqual([]);
  const again = await track('c', fromMs + hourMs);
  expect(again).toMatchObject({ seriesId, created: false });
  expect((await gapsOf(seriesId))[0]?.[0]).toBe(Date.UTC(2024, 5, 1, 1));
  await expect(untrackSeries(database, 999_999, fromMs)).rejects.toMatchObject({ code: 'UNKNOWN_SERIES' });
});

it('requests nothing of a blocked series until its time', async () => {
  const { seriesId } = await track('d', fromMs);
  const untilMs = nowMs + hourMs;
  await blockSeries(database, { seriesId, source: defaultSource, kind: 'x', message: 'd not found', untilMs });
  expect(await planned(seriesId)).toEqual([]);
  expect(await planned(seriesId, untilMs)).toHaveLength(1);
  expect(await listGaps(database, { nowMs, graceMs: minuteMs, seriesIds: [seriesId] })).toMatchObject([
    { reason: 'blocked', message: 'd not found', retryAtMs: untilMs },
  ]);
});

it('returns the oldest gaps up to the limit, and always the newest', async () => {
  const { seriesId } = await track('e', nowMs - 40 * dayMs, null, 'd1');
  const even = `select range_agg(tstzrange(d, d + interval '1 day')) from generate_series(
      (select lower(tracked) from tidemark.series where id = ${seriesId}), $1, interval '2 days') d`;
  await database.pool.query(`update tidemark.series set covered = (${even}) where id = ${seriesId}`, [
    timestamp(nowMs - 2 * dayMs),
  ]);
  const [entry] = await planned(seriesId);
  const all = await gapsOf(seriesId);
  expect(all.length).toBeGreaterThan(10);
  expect(entry?.gaps.map((gap) => [gap.startMs, gap.endMs])).toEqual([...all.slice(0, 3), all.at(-1)]);
});

it('reports when an open candle is due again', async () => {
  const { seriesId } = await track('f', nowMs - hourMs);
  await database.pool.query(
    `update tidemark.series set covered = tstzmultirange(tracked), refreshed_at = $2 where id = $1`,
    [seriesId, timestamp(nowMs)],
  );
  const due = async (atMs: number, openRefreshMs: number | null) =>
    (await planned(seriesId, atMs, openRefreshMs)).map((entry) => entry.refreshDue);
  expect(await due(nowMs + 299_000, 300_000)).toEqual([]);
  expect(await due(nowMs + 300_000, 300_000)).toEqual([true]);
  expect(await due(nowMs + 300_000, null)).toEqual([]);
});
