import { expect, it } from 'vitest';
import { failureCauses, readFailures } from '../../../dashboard/queries/problems.ts';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import type { SeriesKey } from '../../../model/series.ts';
import { defaultSource } from '../../../model/sources.ts';
import { blockSeries, trackSeries } from '../../../store/series/series.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { openOwnStore } from '../../store/open-store.ts';

const market = (baseId: string) => ({ ...bitcoinHours, exchange: 'kraken', baseId, quoteId: 'euro' });

it('lists refused series with their time, and failed windows of the others', async () => {
  const { database } = await openOwnStore();
  const startMs = Date.UTC(2024, 0, 1);
  const nowMs = startMs + 30 * dayMs;
  const untilMs = nowMs + hourMs;
  const track = async (baseId: string) =>
    (await trackSeries(database, market(baseId), startMs, startMs + 10 * dayMs)).seriesId;
  const [refused, failed, over] = [await track('refused'), await track('failed'), await track('over')];
  for (const seriesId of [refused, failed])
    await database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', 'HTTP 500',
               to_timestamp($4), to_timestamp($4))`,
      [seriesId, startMs / 1000, (startMs + hourMs) / 1000, nowMs / 1000],
    );
  // The first quarter of it failed separately before.
  await database.pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     select series_id, tstzrange(lower(range), lower(range) + interval '15 minutes'), reason, message,
            first_at, retry_at
     from tidemark.pending_windows where series_id = $1`,
    [failed],
  );
  const block = { source: defaultSource, kind: 'not_found', message: 'no such asset' };
  await blockSeries(database, { ...block, seriesId: refused, untilMs });
  // Its time has come: it is requested again.
  await blockSeries(database, { ...block, seriesId: over, untilMs: nowMs });

  const whole = { seriesId: refused, name: 'kraken refused/euro h1', window: null };
  const window = { startMs, endMs: startMs + hourMs };
  expect(await readFailures(database, { nowMs, most: 10 })).toEqual({
    inAll: 2,
    failing: [
      { ...whole, message: 'no such asset', retryMs: untilMs },
      { seriesId: failed, name: 'kraken failed/euro h1', window, message: 'HTTP 500', retryMs: nowMs },
    ],
  });
  expect(await failureCauses.on(database.pool, { nowMs, most: 10 })).toEqual([
    { message: 'HTTP 500', series: 1, ranges: 1, nextMs: nowMs, isRefused: false },
    { message: 'no such asset', series: 1, ranges: 1, nextMs: untilMs, isRefused: true },
  ]);
  // Both of the same cause now.
  expect(await failureCauses.on(database.pool, { nowMs: untilMs, most: 10 })).toEqual([
    { message: 'HTTP 500', series: 2, ranges: 2, nextMs: nowMs, isRefused: false },
  ]);
  const first = await readFailures(database, { nowMs, most: 1 });
  expect([first.inAll, first.failing.map(({ seriesId }) => seriesId)]).toEqual([2, [refused]]);
  // Once the block has ended, its failed window is listed like the others.
  const later = await readFailures(database, { nowMs: untilMs, most: 10 });
  expect(later.failing.map(({ seriesId }) => seriesId).sort()).toEqual([refused, failed].sort());
  expect(later.failing.every((one) => one.window !== null)).toBe(true);
  await database.pool.query('update tidemark.series set untracked_at = now()');
  expect(await readFailures(database, { nowMs, most: 10 })).toEqual({ inAll: 0, failing: [] });
});

it('lists no failure of a range that is no longer tracked, or that another answer covered', async () => {
  const { database } = await openOwnStore();
  const startMs = Date.UTC(2024, 0, 1);
  const nowMs = startMs + 30 * dayMs;
  const endMs = startMs + 10 * dayMs;
  const { seriesId } = await trackSeries(database, market('bitcoin'), startMs, endMs);
  const { pool } = database;
  await pool.query(
    `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
     select $1, tstzrange(day, day + interval '1 day'), 'failed', 'HTTP 500', to_timestamp($3), to_timestamp($3)
     from generate_series(to_timestamp($2), to_timestamp($2) + interval '3 days', interval '1 day') day`,
    [seriesId, startMs / 1000, nowMs / 1000],
  );
  const days = async () => {
    const { inAll, failing } = await readFailures(database, { nowMs, most: 10 });
    const [cause] = await failureCauses.on(pool, { nowMs, most: 10 });
    expect([inAll, cause?.ranges ?? 0]).toEqual([failing.length, failing.length]);
    return failing.map(
      ({ window }) => window && [(window.startMs - startMs) / dayMs, (window.endMs - startMs) / dayMs],
    );
  };
  expect(await days()).toEqual([[0, 1], [1, 2], [2, 3], [3, 4]]); // biome-ignore format: one line
  // In the middle of the second window.
  const narrowed = startMs + 1.5 * dayMs;
  await pool.query(`update tidemark.series set tracked = tstzrange(to_timestamp($1), upper(tracked))`, [
    narrowed / 1000,
  ]);
  expect(await days()).toEqual([[1.5, 2], [2, 3], [3, 4]]); // biome-ignore format: one line
  await pool.query(
    `update tidemark.series
     set covered = tstzmultirange(tstzrange(to_timestamp($1), to_timestamp($1) + interval '3 days'))`,
    [narrowed / 1000],
  );
  expect(await days()).toEqual([]);
});

it('counts a failure that names its series as that of the others', async () => {
  const { database } = await openOwnStore();
  const startMs = Date.UTC(2024, 0, 1);
  const untilMs = startMs + dayMs;
  const refuse = async (series: SeriesKey, message: string, symbol?: string) => {
    const { seriesId } = await trackSeries(database, series, startMs, null);
    if (symbol !== undefined)
      await database.pool.query(
        `update tidemark.series_sources set source = 'venue', symbol = $2 where series_id = $1`,
        [seriesId, symbol],
      );
    await blockSeries(database, { source: defaultSource, kind: 'not_found', message, seriesId, untilMs });
  };
  await refuse(market('status'), 'GET /candles: status 404: kraken status/euro not found');
  await refuse(market('b.c'), 'GET /candles: status 404: kraken b.c/euro not found');
  await refuse(market('bxc'), 'GET /candles: status 404: kraken b.c/euro not found');
  await refuse(market('d'), 'GET /ticker: no market "DEUR" or "DEURO"', 'DEUR');
  await refuse(market('e'), 'GET /ticker: no market "E-EUR" or "DEURO"', 'E-EUR');
  await refuse({ dataset: 'asset_history', assetId: 'usd', interval: 'd1' }, 'no usd, but usd-coin');
  const query = { nowMs: startMs, most: 10 };
  const found = (await failureCauses.on(database.pool, query)).map(({ message, series }) => [message, series]);
  expect(found).toEqual([
    ['GET /candles: status 404: … not found', 2],
    ['GET /ticker: no market "…" or "DEURO"', 2],
    ['GET /candles: status 404: kraken b.c/euro not found', 1],
    ['no …, but usd-coin', 1],
  ]);
  const { failing } = await readFailures(database, query);
  expect(new Set(failing.map(({ message }) => message))).toEqual(new Set(found.map(([message]) => message)));
});
