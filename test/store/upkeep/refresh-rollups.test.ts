import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import type { Database } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { rangesBehind, refreshRollups } from '../../../store/upkeep/refresh-rollups.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { candles, expectCandlesToAgree, expectRollupsToAgree, market, put } from '../../schema/api/candles.ts';
import { onEachDatabase, openOwnStore } from '../open-store.ts';

const startMs = Date.UTC(2023, 9, 2);
const nowMs = Date.UTC(2024, 0, 3, 5, 7);
const todayMs = Date.UTC(2024, 0, 3);

onEachDatabase('refreshing rollups', (kind) => {
  let database: Database;
  let seriesId: number;
  const refresh = () => refreshRollups(database, { clock: systemClock, nowMs });
  const behind = () => rangesBehind(database, { nowMs });
  /** Every third hour of three months, and the last two days by the minute. */
  beforeEach(async () => {
    ({ database } = await openOwnStore(kind));
    ({ seriesId } = await trackSeries(database, market('a', 'm1'), startMs, null));
    await put(database, seriesId, candles(startMs, 3 * hourMs, 93 * 8));
    await put(database, seriesId, candles(nowMs - 2 * dayMs, minuteMs, (2 * dayMs) / minuteMs));
  });

  const stored = async (table: 'rollup_hours' | 'rollup_days') => {
    const result = await database.pool.query<{ series_id: number; time: number; version: string }>(
      `select series_id, time, xmin::text as version from tidemark.${table} order by 1, 2`,
    );
    return result.rows;
  };

  it('agrees before and after, and leaves only the current day', async () => {
    await expectRollupsToAgree(database);
    expect(await stored('rollup_days')).toEqual([]);
    expect(await behind()).toEqual([{ seriesId, periodMs: minuteMs, startMs, endMs: todayMs }]);
    expect(await refresh()).toBe(true);
    expect(await behind()).toEqual([]);
    expect(await rangesBehind(database)).toEqual([
      { seriesId, periodMs: minuteMs, startMs: todayMs, endMs: todayMs + dayMs },
    ]);
    await expectRollupsToAgree(database);
    // Otherwise the comparisons above compared the points with themselves.
    expect(await stored('rollup_days')).toHaveLength((todayMs - startMs) / dayMs);
  });

  it('recomputes the day of a revision, lists it in between, and rewrites nothing else', async () => {
    await refresh();
    const before = await stored('rollup_days');
    const dayStartMs = Date.UTC(2023, 9, 14);
    const [revised] = candles(dayStartMs + 9 * hourMs, hourMs, 1, 5);
    if (revised === undefined) throw new Error('no candle');
    await put(database, seriesId, [{ ...revised, high: '999.50', volume: '0.00000' }]);
    const named = await database.pool.query(
      `select series_id, lower(range) as first from tidemark.rollups_behind where range << tstzrange($1, null)`,
      [timestamp(Date.UTC(2023, 10, 1))],
    );
    expect(named.rows).toEqual([{ series_id: seriesId, first: dayStartMs }]);
    await expectRollupsToAgree(database);
    await expectCandlesToAgree(database);
    await refresh();
    await expectRollupsToAgree(database);
    expect(await behind()).toEqual([]);
    const after = new Map((await stored('rollup_days')).map(({ time, version }) => [time, version]));
    const rewritten = before.filter(({ time, version }) => after.get(time) !== version);
    expect(rewritten.map(({ time }) => time)).toEqual([dayStartMs]);
  });

  it('misses nothing of a commit that has not ended, and several refresh at once', async () => {
    await refresh();
    const writer = await database.pool.connect();
    await writer.query('begin');
    await writer.query('update tidemark.candle_points set close = 1.10 where series_id = $1 and time = $2', [
      seriesId,
      timestamp(startMs),
    ]);
    // A day of its own, and one that another commit has changed.
    await put(database, seriesId, candles(startMs + hourMs, hourMs, 1));
    expect(await Promise.all([refresh(), refresh(), refresh()])).toEqual([true, true, true]);
    await writer.query(
      'update tidemark.series set rollups_behind = rollups_behind + tstzmultirange(tstzrange($2, $3)) where id = $1',
      [seriesId, timestamp(startMs), timestamp(startMs + dayMs)],
    );
    await writer.query('commit');
    writer.release();
    expect(await behind()).toHaveLength(1);
    await expectRollupsToAgree(database);
    expect(await Promise.all([refresh(), refresh()])).toEqual([true, true]);
    expect(await behind()).toEqual([]);
    await expectRollupsToAgree(database);
  });

  it('awaits a lock, after the other series', async () => {
    const other = await trackSeries(database, market('b', 'h1'), startMs, null);
    await put(database, other.seriesId, candles(startMs, hourMs, 100));
    const holder = await database.pool.connect();
    await holder.query(`begin; select from tidemark.series where id = ${seriesId} for update`);
    const refreshed = refresh();
    await waitFor('the other series', async () => (await behind()).every((range) => range.seriesId === seriesId));
    expect(await behind()).toHaveLength(1);
    await holder.query('rollback');
    holder.release();
    expect(await refreshed).toBe(true);
    expect(await behind()).toEqual([]);
    await expectRollupsToAgree(database);
  });

  it('is right after each piece of a first refresh, as if killed there', async () => {
    const stop = new AbortController();
    let looks = 0;
    // One piece at a time: the signal stops the refresh after each.
    while ((await behind()).length > 0) {
      let asked = 0;
      const signal = {
        get aborted() {
          asked += 1;
          return asked > 1;
        },
      } as AbortSignal;
      await refreshRollups(database, { clock: systemClock, nowMs, signal });
      await expectRollupsToAgree(database);
      looks += 1;
    }
    expect(looks).toBeGreaterThan(3);
    stop.abort();
    await put(database, seriesId, candles(startMs, hourMs, 3));
    expect(await refreshRollups(database, { clock: systemClock, nowMs, signal: stop.signal })).toBe(false);
  });
});

describeNeeding('timescale', 'refreshing rollups of compressed points', () => {
  it('includes a revision, in compressed rollups', async () => {
    // A chunk of days is several months.
    const longAgoMs = Date.UTC(2021, 0, 4);
    const { database } = await openOwnStore();
    const { seriesId } = await trackSeries(database, market('a', 'm1'), longAgoMs, null);
    await put(database, seriesId, candles(longAgoMs, hourMs, 80 * 24));
    await refreshRollups(database, { clock: systemClock, nowMs });
    for (const table of ['candle_points', 'rollup_hours', 'rollup_days']) {
      const compressed = await database.pool.query(
        `select compress_chunk(c, true) from show_chunks('tidemark.${table}', older_than => $1::timestamptz) c`,
        [timestamp(nowMs)],
      );
      expect(compressed.rowCount, table).toBeGreaterThan(0);
    }
    await expectRollupsToAgree(database);
    await put(database, seriesId, candles(longAgoMs + 30 * dayMs, hourMs, 50, 4));
    await expectRollupsToAgree(database);
    await refreshRollups(database, { clock: systemClock, nowMs });
    expect(await rangesBehind(database, { nowMs })).toEqual([]);
    await expectRollupsToAgree(database);
    await expectCandlesToAgree(database);
  });
});
