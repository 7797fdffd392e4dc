import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs, weekMs } from '../../../contract/intervals.ts';
import type { SeriesKey } from '../../../contract/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { listGaps, seriesWithGaps } from '../../../store/series/gaps.ts';
import { blockSeries, trackSeries, untrackSeries } from '../../../store/series/series.ts';
import { openTestStore, type TestStore } from '../open-store.ts';

const nowMs = Date.UTC(2024, 5, 12, 10, 30, 30); // a Wednesday
const fromMs = Date.UTC(2024, 5, 1, 0, 0, 20);

describe('series and their gaps', () => {
  let store: TestStore;
  let database: Database;
  beforeAll(async () => {
    store = await openTestStore();
    database = store.database;
  });
  afterAll(() => store.close());

  const market = (baseId: string, interval: 'm1' | 'h8' | 'd1' | 'w1' = 'm1'): SeriesKey => ({
    dataset: 'candles',
    exchange: 'binance',
    baseId,
    quoteId: 'tether',
    interval,
  });
  const gapsOf = async (seriesId: number, atMs = nowMs, graceMs = minuteMs) =>
    (await listGaps(database, { nowMs: atMs, graceMs, seriesIds: [seriesId] })).map((gap) => [
      gap.startMs,
      gap.endMs,
    ]);

  it('widens the tracked range to whole periods and ends the gap at the last closed one', async () => {
    const { seriesId } = await trackSeries(database, market('a'), fromMs, null);
    expect(await gapsOf(seriesId)).toEqual([[Date.UTC(2024, 5, 1), Date.UTC(2024, 5, 12, 10, 29)]]);
    expect(await gapsOf(seriesId, nowMs, 0)).toEqual([[Date.UTC(2024, 5, 1), Date.UTC(2024, 5, 12, 10, 30)]]);
    const weeks = await trackSeries(database, market('a', 'w1'), fromMs, null);
    const monday = Date.UTC(2024, 4, 27);
    expect(await gapsOf(weeks.seriesId)).toEqual([[monday, monday + 2 * weekMs]]);
    const hours = await trackSeries(database, market('a', 'h8'), fromMs, null);
    expect(await gapsOf(hours.seriesId)).toEqual([[Date.UTC(2024, 5, 1), Date.UTC(2024, 5, 12, 8)]]);
  });

  it('has no gap before its range, or when the range is in the future', async () => {
    const { seriesId } = await trackSeries(database, market('future'), nowMs + dayMs, null);
    expect(await gapsOf(seriesId)).toEqual([]);
  });

  it('stays one series when it is tracked again, and its range grows', async () => {
    const first = await trackSeries(database, market('b'), fromMs, fromMs + dayMs);
    const second = await trackSeries(database, market('b'), fromMs - 3 * dayMs, fromMs - 2 * dayMs);
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.seriesId).toBe(first.seriesId);
    expect(await gapsOf(first.seriesId)).toEqual([[Date.UTC(2024, 4, 29), Date.UTC(2024, 5, 2, 0, 1)]]);
    await trackSeries(database, market('b'), fromMs, null);
    expect((await gapsOf(first.seriesId))[0]?.[1]).toBe(Date.UTC(2024, 5, 12, 10, 29));
  });

  it('requests nothing of an untracked series, which keeps its id', async () => {
    const { seriesId } = await trackSeries(database, market('c'), fromMs, null);
    const untrackedMs = fromMs + dayMs;
    expect(await untrackSeries(database, seriesId, untrackedMs)).toEqual({
      series: market('c'),
      untrackedMs: null,
    });
    expect(await untrackSeries(database, seriesId, untrackedMs + dayMs)).toEqual({
      series: market('c'),
      untrackedMs,
    });
    expect(await gapsOf(seriesId)).toEqual([]);
    const again = await trackSeries(database, market('c'), fromMs + hourMs, null);
    expect(again).toMatchObject({ seriesId, created: false });
    expect((await gapsOf(seriesId))[0]?.[0]).toBe(Date.UTC(2024, 5, 1, 1));
    await expect(untrackSeries(database, 999_999, fromMs)).rejects.toMatchObject({ code: 'UNKNOWN_SERIES' });
  });

  it('requests nothing of a blocked series until its time', async () => {
    const { seriesId } = await trackSeries(database, market('d'), fromMs, null);
    const untilMs = nowMs + hourMs;
    await blockSeries(database, { seriesId, kind: 'not_found', message: 'd not found', untilMs });
    const asked = (atMs: number) =>
      seriesWithGaps(database, {
        nowMs: atMs,
        graceMs: minuteMs,
        openRefreshMs: null,
        seriesIds: [seriesId],
        rangesPerSeries: 5,
      });
    expect(await asked(nowMs)).toEqual([]);
    expect(await asked(untilMs)).toHaveLength(1);
    expect(await listGaps(database, { nowMs, graceMs: minuteMs, seriesIds: [seriesId] })).toMatchObject([
      { reason: 'blocked', message: 'd not found', retryAtMs: untilMs },
    ]);
  });

  it('returns the oldest gaps up to the limit, and always the newest', async () => {
    const { seriesId } = await trackSeries(database, market('e', 'd1'), nowMs - 40 * dayMs, null);
    const even = `select range_agg(tstzrange(d, d + interval '1 day')) from generate_series(
      (select lower(tracked) from tidemark.series where id = ${seriesId}), $1, interval '2 days') d`;
    await database.pool.query(`update tidemark.series set covered = (${even}) where id = ${seriesId}`, [
      new Date(nowMs - 2 * dayMs).toISOString(),
    ]);
    const [entry] = await seriesWithGaps(database, {
      nowMs,
      graceMs: minuteMs,
      openRefreshMs: null,
      seriesIds: [seriesId],
      rangesPerSeries: 3,
    });
    const all = await gapsOf(seriesId);
    expect(all.length).toBeGreaterThan(10);
    expect(entry?.gaps.map((gap) => [gap.startMs, gap.endMs])).toEqual([...all.slice(0, 3), all.at(-1)]);
  });

  it('reports when an open candle is due again', async () => {
    const { seriesId } = await trackSeries(database, market('f'), nowMs - hourMs, null);
    await database.pool.query(
      `update tidemark.series set covered = tstzmultirange(tracked), refreshed_at = $2 where id = $1`,
      [seriesId, new Date(nowMs).toISOString()],
    );
    const due = async (atMs: number, openRefreshMs: number | null) =>
      (
        await seriesWithGaps(database, {
          nowMs: atMs,
          graceMs: minuteMs,
          openRefreshMs,
          seriesIds: [seriesId],
          rangesPerSeries: 3,
        })
      ).map((entry) => entry.refreshDue);
    expect(await due(nowMs + 299_000, 300_000)).toEqual([]);
    expect(await due(nowMs + 300_000, 300_000)).toEqual([true]);
    expect(await due(nowMs + 300_000, null)).toEqual([]);
  });
});
