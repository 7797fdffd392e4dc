import { expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { defaultSource } from '../../../model/sources.ts';
import { deferWindow } from '../../../store/commit/deferred-windows.ts';
import { timestamp } from '../../../store/db/values.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { measureGaps } from '../../../store/status/measures.ts';
import { market } from '../../schema/api/candles.ts';
import { commitPoints } from '../committing.ts';
import { useStore } from '../open-store.ts';

const startMs = Date.UTC(2024, 0, 1);
const hour = (count: number) => startMs + count * hourMs;
const nowMs = hour(100);
const hours = (from: number, to: number) => ({ startMs: hour(from), endMs: hour(to) });

const store = useStore();
let seriesId: number;
let count = 0;
async function tracked(from: number, to: number): Promise<SeriesKey> {
  const series = market(`base-${++count}`, 'h1');
  ({ seriesId } = await trackSeries(store.database, series, hour(from), hour(to)));
  return series;
}
const defer = (from: number, to: number, retryAtMs: number, message: string, more = {}) =>
  deferWindow(store.database.pool, {
    ...{
      seriesId,
      source: defaultSource,
      window: hours(from, to),
      reason: 'failed',
      message,
      attempts: 5,
      nowMs,
      retryAtMs,
    },
    ...more,
  });
const awaitAnswer = (from: number, to: number, retryAtMs: number) =>
  store.database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     values ($1, tstzrange($2, $3), 'awaiting', 'no points', $4, $5)`,
    [seriesId, ...[hour(from), hour(to), nowMs, retryAtMs].map(timestamp)],
  );
const listed = async (ledger: boolean) =>
  (await listGaps(store.database, { nowMs, graceMs: 0, seriesIds: [seriesId], ledger })).map((gap) => [
    (gap.startMs - startMs) / hourMs,
    (gap.endMs - startMs) / hourMs,
    gap.reason,
    gap.message,
    gap.retryAtMs,
  ]);

it('counts each period once where deferred windows overlap, with the window that is due last', async () => {
  await tracked(0, 50);
  await defer(0, 10, nowMs + 1000, 'first');
  await defer(5, 15, nowMs + 2000, 'second');
  await defer(8, 9, nowMs + 3000, 'third');
  await defer(15, 20, nowMs + 500, 'apart');
  await awaitAnswer(18, 30, nowMs + 4000);
  await defer(25, 28, nowMs + 5000, 'fourth');
  expect(await listed(false)).toEqual([
    [0, 5, 'failed', 'first', nowMs + 1000],
    [5, 8, 'failed', 'second', nowMs + 2000],
    [8, 9, 'failed', 'third', nowMs + 3000],
    [9, 15, 'failed', 'second', nowMs + 2000],
    [15, 18, 'failed', 'apart', nowMs + 500],
    [18, 25, 'awaits_second_answer', 'no points', nowMs + 4000],
    [25, 28, 'failed', 'fourth', nowMs + 5000],
    [28, 30, 'awaits_second_answer', 'no points', nowMs + 4000],
    [30, 50, 'not_asked', null, null],
  ]);
  const measured = await measureGaps.on(store.database.pool, { nowMs, graceMs: 0 });
  expect(measured.reduce((sum, { seconds }) => sum + seconds, 0)).toBe(50 * 3600);
});

it('doubles the pause of a window that keeps failing, up to the longest pause', async () => {
  await tracked(0, 10);
  const pauses: number[] = [];
  for (const afterMinutes of [0, 1, 3, 7, 15, 500]) {
    const atMs = nowMs + afterMinutes * minuteMs;
    await defer(0, 10, atMs + minuteMs, 'status 503', { nowMs: atMs, maxPauseMs: 10 * minuteMs });
    const [gap] = await listGaps(store.database, { nowMs, graceMs: 0, seriesIds: [seriesId] });
    expect(gap?.sinceMs).toBe(nowMs);
    pauses.push(((gap?.retryAtMs ?? 0) - atMs) / minuteMs);
  }
  expect(pauses).toEqual([1, 1, 3, 7, 10, 10]);
});

it('reports the last failure of a window that is being retried, and none after an answer', async () => {
  const series = await tracked(0, 40);
  const fail = (from: number, to: number, minutesAgo: number, message: string) =>
    recordFetch(store.database.pool, {
      ...{ timeMs: nowMs - minutesAgo * minuteMs, dataset: 'candles', seriesId, range: hours(from, to) },
      ...{ lane: 'backfill', attempt: 1, verdict: 'server_error', status: 500, error: message },
      ...{ bytes: 0, durationMs: 1 },
    });
  await fail(0, 10, 5, 'status 500');
  await fail(0, 10, 2, 'status 502');
  await fail(10, 20, 5, 'long ago');
  await fail(20, 30, 500, 'status 503');
  // Answered in part: the rest was requested again since it failed.
  await commitPoints(store.database, { seriesId, series, window: hours(10, 15) });
  await store.database.pool.query(
    `insert into tidemark.fetches (time, dataset, series_id, range, lane, attempt, verdict, duration_ms)
         values ($1, 'candles', $2, tstzrange($3, $4), 'backfill', 1, 'capped', 1)`,
    [new Date(nowMs - minuteMs), seriesId, new Date(hour(10)), new Date(hour(20))],
  );
  await defer(35, 40, nowMs + 1000, 'deferred');
  await fail(30, 40, 1, 'status 504');
  expect(await listed(true)).toEqual([
    [0, 10, 'not_asked', 'status 502', null],
    [15, 30, 'not_asked', null, null],
    [30, 35, 'not_asked', 'status 504', null],
    [35, 40, 'failed', 'deferred', nowMs + 1000],
  ]);
  expect(await listed(false)).toEqual([
    [0, 10, 'not_asked', null, null],
    [15, 35, 'not_asked', null, null],
    [35, 40, 'failed', 'deferred', nowMs + 1000],
  ]);
});
