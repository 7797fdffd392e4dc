import pLimit from 'p-limit';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decimalText } from '../../model/decimal.ts';
import { type EpochMs, hourMs, minuteMs } from '../../model/intervals.ts';
import type { PointLines } from '../../model/point-lines.ts';
import type { HistorySeries } from '../../model/series.ts';
import type { WindowCommit } from '../../store/commit/prepare-window.ts';
import type { Database } from '../../store/db/database.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { trackSeries } from '../../store/series/series.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { groupCommits } from '../../workers/commit-groups.ts';
import type { Committer } from '../../workers/worker-context.ts';
import { pointLinesOf } from '../parts/points.ts';
import { fillOf, rulesOf } from '../parts/windows.ts';
import { market } from '../schema/api/candles.ts';
import { useStore } from '../store/open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const nowMs = startMs + 24 * hourMs;
const poison = '666.6';

function candle(period: EpochMs, close = '1.50'): Candle {
  const value = decimalText(close);
  return { open: value, high: value, low: value, close: value, volume: decimalText('0.0'), period };
}

describe('a group of waiting windows', () => {
  const store = useStore();
  let database: Database;
  let markets = 0;
  let ids: number[];
  let historyId: number;
  const seriesOf = (place: number) => market(`base-${markets}-${place}`, 'm1');
  const history = (): HistorySeries => ({ dataset: 'asset_history', assetId: `asset-${markets}`, interval: 'm1' });

  beforeAll(() => {
    ({ database } = store);
  });
  beforeEach(async () => {
    markets += 1;
    ids = [];
    for (const place of [0, 1]) {
      ids.push((await trackSeries(database, seriesOf(place), startMs, startMs + 10 * hourMs)).seriesId);
    }
    historyId = (await trackSeries(database, history(), startMs, startMs + 10 * hourMs)).seriesId;
  });

  const common = { attempt: 1, nowMs, rules: rulesOf(hourMs) };
  const answered = (rows: PointLines) => ({
    rows,
    rejected: [],
    sourceTimeMs: nowMs,
    status: 200,
    bytes: 10,
    durationMs: 1,
  });
  const hourOf = (hour: number) => ({ startMs: startMs + hour * hourMs, endMs: startMs + (hour + 1) * hourMs });
  const minutesOf = (hour: number, close?: string) =>
    Array.from({ length: 60 }, (_, minute) => candle(startMs + hour * hourMs + minute * minuteMs, close));

  function candles(place: number, hour: number, rows: readonly Candle[] = minutesOf(hour)): WindowCommit {
    const window = fillOf({ seriesId: ids[place] ?? 0, series: seriesOf(place), ...hourOf(hour) });
    return { ...common, window, answer: answered(pointLinesOf('candles', rows)) };
  }
  function prices(hour: number): WindowCommit {
    const rows: HistoryPoint[] = minutesOf(hour).map(({ period }) => ({ priceUsd: decimalText('7.0'), time: period }));
    const window = fillOf({ seriesId: historyId, series: history(), ...hourOf(hour) });
    return { ...common, window, answer: answered(pointLinesOf('asset_history', rows)) };
  }

  /** All are waiting before the first transaction begins. */
  const together = (commitWindow: Committer['store'], commits: readonly WindowCommit[]) =>
    Promise.allSettled(commits.map(commitWindow));
  const gapsOf = async (seriesIds: readonly number[]) =>
    (await listGaps(database, { nowMs, graceMs: 0, seriesIds })).map((gap) => [gap.startMs, gap.endMs]);
  const transactions = async (seriesIds: readonly number[]) => {
    const result = await database.pool.query<{ count: number }>(
      'select count(distinct xmin::text) as count from tidemark.fetches where series_id = any ($1)',
      [seriesIds],
    );
    return result.rows[0]?.count;
  };

  test('is committed in one transaction, for any datasets and verdicts', async () => {
    const firstHalf = minutesOf(3).slice(0, 30);
    const halfMs = hourOf(3).startMs + hourMs / 2;
    const results = await together(groupCommits(database, pLimit(1)), [
      candles(1, 2),
      prices(1),
      candles(0, 0),
      candles(1, 3, firstHalf),
      candles(1, 4, []),
    ]);
    expect(results).toMatchObject([
      { value: { verdict: 'filled', fresh: 60, covered: hourOf(2) } },
      { value: { verdict: 'filled', fresh: 60, covered: hourOf(1) } },
      { value: { verdict: 'filled', fresh: 60, covered: hourOf(0) } },
      { value: { verdict: 'cut_short', fresh: 30, covered: { ...hourOf(3), endMs: halfMs } } },
      { value: { verdict: 'empty', covered: null } },
    ]);
    expect(await transactions(ids.concat(historyId))).toBe(1);
    const [, second = 0] = ids;
    const { rows } = await database.pool.query(
      'select points, most_rows, earliest, newest from tidemark.series where id = $1',
      [second],
    );
    expect(rows).toEqual([
      { points: 90, most_rows: 60, earliest: hourOf(2).startMs, newest: firstHalf.at(-1)?.period },
    ]);
    expect(await gapsOf([second])).toEqual([
      [startMs, hourOf(2).startMs],
      [halfMs, hourOf(3).endMs],
      [hourOf(4).startMs, hourOf(4).endMs],
      [hourOf(5).startMs, startMs + 10 * hourMs],
    ]);
  });

  test('stores the other windows when one cannot be stored', async () => {
    await database.pool.query(`alter table tidemark.candle_points add constraint poison check (close <> ${poison})`);
    const results = await together(groupCommits(database, pLimit(1)), [
      candles(1, 0),
      candles(1, 1, minutesOf(1, poison)),
      candles(1, 2),
    ]);
    await database.pool.query('alter table tidemark.candle_points drop constraint poison');
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await gapsOf(ids.slice(1))).toEqual([
      [hourOf(1).startMs, hourOf(1).endMs],
      [hourOf(3).startMs, startMs + 10 * hourMs],
    ]);
  });

  test('tries a failing database once, and not once a window', async () => {
    await database.pool.query(`
      create sequence tries;
      create function trouble() returns trigger language plpgsql as
        $$begin raise exception 'no space, try %', nextval('tries') using errcode = '53100'; end$$;
      create trigger trouble before insert on tidemark.fetches for each statement execute function trouble()`);
    const results = await together(groupCommits(database, pLimit(1)), [candles(1, 0), candles(1, 1)]);
    await database.pool.query('drop trigger trouble on tidemark.fetches');
    expect(results).toMatchObject([
      { status: 'rejected', reason: { code: '53100' } },
      { status: 'rejected', reason: { code: '53100' } },
    ]);
    expect((await database.pool.query('select last_value from tries')).rows).toEqual([{ last_value: 1 }]);
    expect(await gapsOf(ids.slice(1))).toEqual([[startMs, startMs + 10 * hourMs]]);
  });

  test('causes no deadlock with groups of the same series in another order', async () => {
    const commitWindow = groupCommits(database, pLimit(3));
    const windows = Array.from({ length: 9 }, (_, hour) => [candles(hour % 2, hour), candles(1 - (hour % 2), hour)]);
    const results = await Promise.all([...windows.flat(), ...windows.flat().reverse()].map(commitWindow));
    expect(results.reduce((sum, { fresh }) => sum + fresh, 0)).toBe(2 * 9 * 60);
    expect(await gapsOf(ids)).toEqual(ids.map(() => [hourOf(9).startMs, startMs + 10 * hourMs]));
  });
});
