import { expect, it } from 'vitest';
import { readBands } from '../../../dashboard/queries/bands.ts';
import { readSeriesLines } from '../../../dashboard/queries/lines.ts';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { beyondDepthText, recencyText } from '../../../planning/periods.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { seriesStatus } from '../../../store/status/status.ts';
import { market as marketOf } from '../../schema/api/candles.ts';
import { commitPoints } from '../../store/committing.ts';
import { openOwnStore } from '../../store/open-store.ts';

const market = marketOf('bitcoin', 'h1');
const graceMs = minuteMs;
const requestsFor = (_: unknown, ranges: readonly unknown[]) => ranges.length;

const opened = async () => (await openOwnStore()).database;

it('shows the figures of `status` for a series, and the remaining requests', async () => {
  const database = await opened();
  const endMs = Math.floor(Date.now() / hourMs) * hourMs - hourMs;
  const startMs = endMs - 100 * dayMs;
  const { seriesId } = await trackSeries(database, market, startMs, null);
  const window = { startMs: startMs + 10 * dayMs, endMs: startMs + 40 * dayMs };
  await commitPoints(database, { seriesId, series: market, window });
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', 'HTTP 500', now(), now()),
            ($1, tstzrange(to_timestamp($3), to_timestamp($4)), 'beyond_depth', $5, now(), now())`,
    [
      ...[seriesId, startMs / 1000, (startMs + dayMs) / 1000, (startMs + 3 * dayMs) / 1000],
      beyondDepthText('kraken', market, { periods: 720 }),
    ],
  );
  const nowMs = endMs + hourMs - 1;
  const [line] = await readSeriesLines(database, { nowMs, graceMs, requestsFor });
  const [status] = await seriesStatus(database, { nowMs, graceMs });
  expect(line).toMatchObject({
    id: seriesId,
    name: 'x bitcoin/tether h1',
    fromMs: startMs,
    toMs: null,
    gaps: 2,
    wantedMs: 100 * dayMs,
    coveredMs: 30 * dayMs,
    missingMs: 70 * dayMs,
    failedMs: 3 * dayMs,
    beyondDepthMs: 2 * dayMs,
    behindMs: 60 * dayMs,
    requestsLeft: 2,
    requests: 1,
    points: 720,
    blocked: null,
  });
  const figures = ['wantedMs', 'coveredMs', 'missingMs', 'failedMs', 'beyondDepthMs', 'gaps'] as const;
  const recency = ['newestMs', 'behindMs', 'silentSinceMs', 'readMs'] as const;
  for (const key of [...figures, ...recency, 'points'] as const) expect(line?.[key], key).toBe(status?.[key]);
});

it('is late only when the first missing period closed more than five minutes ago', async () => {
  const database = await opened();
  const startMs = Date.UTC(2024, 0, 1);
  const series = marketOf('ether', 'm1');
  const { seriesId } = await trackSeries(database, series, startMs, null);
  await commitPoints(database, { seriesId, series, window: { startMs, endMs: startMs + hourMs } });
  const behindAfter = async (ms: number) => {
    const [line] = await readSeriesLines(database, { nowMs: startMs + hourMs + ms, graceMs, requestsFor });
    return [line?.missingMs, line?.behindMs];
  };
  // The first period ends after a minute, and its grace after another.
  expect(await behindAfter(2 * minuteMs)).toEqual([minuteMs, 0]);
  expect(await behindAfter(7 * minuteMs - 1)).toEqual([5 * minuteMs, 0]);
  expect(await behindAfter(7 * minuteMs)).toEqual([6 * minuteMs, 6 * minuteMs]);
});

it('is silent since its newest point where answers up to the present had none', async () => {
  const database = await opened();
  const startMs = Date.UTC(2024, 0, 1);
  const series = marketOf('ether', 'm1');
  const { seriesId } = await trackSeries(database, series, startMs, null);
  await commitPoints(database, { seriesId, series, window: { startMs, endMs: startMs + hourMs } });
  const covered = async (ms: number, awaiting = false) => {
    await database.pool.query(
      `update tidemark.series set refreshed_at = $2, covered = tstzmultirange(tstzrange(lower(covered), $1))`,
      [new Date(startMs + hourMs + (awaiting ? 0 : ms)), new Date(startMs + hourMs + ms + 5000)],
    );
    if (awaiting)
      await database.pool.query(
        `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
         values ($1, tstzrange($2, $3), 'awaiting', '', $3, 'infinity')`,
        [seriesId, new Date(startMs + hourMs), new Date(startMs + hourMs + ms)],
      );
    const query = { nowMs: startMs + hourMs + ms + graceMs + 10_000, graceMs };
    const [line] = await readSeriesLines(database, { ...query, requestsFor });
    const [status] = await seriesStatus(database, query);
    const of = ({ behindMs, silentSinceMs, readMs }: NonNullable<typeof status>) => [behindMs, silentSinceMs, readMs];
    expect(line && of({ ...status, ...line } as NonNullable<typeof status>)).toEqual(status && of(status));
    return status && [status.behindMs, status.silentSinceMs, recencyText(status, query.nowMs)];
  };
  expect(await covered(0)).toEqual([0, null, 'read 1 min ago']);
  const silent = [0, startMs + hourMs, 'silent since 2024-01-01 01:00Z, asked 1 min ago'];
  expect(await covered(16 * minuteMs)).toEqual(silent);
  // Its second answer is due later.
  expect(await covered(16 * minuteMs, true)).toEqual(silent);
});

it('has another version after every commit, and leaves out untracked series', async () => {
  const database = await opened();
  const startMs = Date.UTC(2024, 0, 1);
  const { seriesId } = await trackSeries(database, market, startMs, startMs + 10 * dayMs);
  const read = () => readSeriesLines(database, { nowMs: Date.now(), graceMs, requestsFor });
  const [before] = await read();
  await commitPoints(database, { seriesId, series: market, window: { startMs, endMs: startMs + dayMs } });
  const [after] = await read();
  expect(after?.version).not.toBe(before?.version);
  expect((await read())[0]).toEqual(after);
  expect(after).toMatchObject({ toMs: startMs + 10 * dayMs, behindMs: 0, missingMs: 9 * dayMs });
  await database.pool.query('update tidemark.series set untracked_at = now()');
  expect(await read()).toEqual([]);
});

it('shows a gap of an hour in a year', async () => {
  const database = await opened();
  const startMs = Date.UTC(2023, 0, 1);
  const endMs = startMs + 365 * dayMs;
  const { seriesId } = await trackSeries(database, market, startMs, endMs);
  const asked = { nowMs: endMs + dayMs, graceMs, seriesIds: [seriesId], range: null, columns: 100 };
  const hole = startMs + 100 * dayMs;
  await database.pool.query(
    `update tidemark.series set covered = tstzmultirange(tracked) - tstzmultirange(tstzrange(to_timestamp($1), to_timestamp($2)))`,
    [hole / 1000, (hole + hourMs) / 1000],
  );
  const [band] = await readBands(database, asked);
  const column = Math.floor((100 / 365) * 100);
  expect(band).toEqual({
    id: seriesId,
    startMs,
    endMs,
    tracked: [0, 100],
    covered: [0, 100],
    empty: [],
    failed: [],
    gap: [column, column + 1],
  });
  const range = { startMs: hole - hourMs, endMs: hole + hourMs };
  const [close] = await readBands(database, { ...asked, range, columns: 4 });
  expect(close).toMatchObject({ covered: [0, 2], gap: [2, 4] });
});
