/** A store with something of everything to take out, and what is in a store, to compare two. */

import { afterAll, beforeAll, beforeEach } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, intervalMs, minuteMs } from '../../../model/intervals.ts';
import type { Range } from '../../../model/ranges.ts';
import type { CandleSeries, HistorySeries, SeriesKey } from '../../../model/series.ts';
import type { WindowCommit, WindowResult } from '../../../store/commit/prepare-window.ts';
import type { Database } from '../../../store/db/database.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { rowsOfPiece } from '../../../transfer/import-series.ts';
import { pointLinesOf } from '../../parts/points.ts';
import { rulesOf, fillOf as windowOf } from '../../parts/windows.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { commitRates, commitWindow } from '../../store/committing.ts';
import { openOwnStore, openTestStore, type TestStore } from '../../store/open-store.ts';
import { readStore } from '../../trials/read-store.ts';

export const startMs = Date.UTC(2024, 0, 1);
export const minutes: CandleSeries = { ...bitcoinHours, interval: 'm1' };
export const days: HistorySeries = { dataset: 'asset_history', assetId: 'bit,"coin"', interval: 'd1' };

export async function openStore(kind: 'main' | 'plain'): Promise<TestStore & { env: Record<string, string> }> {
  const store = await openOwnStore(kind);
  return { ...store, env: { DATABASE_URL: store.url } };
}

/** One store for all tests of a file, each of which finds it empty. @returns it, during a test. */
export function sharedStore(): () => TestStore & { env: Record<string, string> } {
  let store: TestStore;
  let tables: string;
  beforeAll(async () => {
    store = await openTestStore('main');
    const { rows } = await store.database.pool.query<{ names: string }>(
      `select string_agg(format('tidemark.%I', tablename), ', ') as names from pg_tables
       where schemaname = 'tidemark' and tablename not in ('migrations', 'settings')`,
    );
    tables = rows[0]?.names ?? '';
  });
  beforeEach(async () => {
    await store.database.pool.query(`truncate ${tables} restart identity`);
  });
  afterAll(() => store.close());
  return () => ({ ...store, env: { DATABASE_URL: store.url } });
}

/** Digits as they come: zeros at the end, more than a double holds, very small and very large. */
export function closeAt(timeMs: EpochMs): string {
  const step = Math.round((timeMs - startMs) / minuteMs);
  return [`${step}.10`, `${step}.1234567890123456789`, `${step}`, `${step}.000`][step % 4] ?? '0';
}
const volumes = ['0.00000000000000000001', '12345678901234567.5', '0', '1.0'];

export function commitRows(
  database: Database,
  {
    nowMs,
    rows,
    window,
    ...of
  }: { seriesId: number; series: SeriesKey; window: Range; rows: readonly object[]; nowMs: EpochMs },
): Promise<WindowResult> {
  return commitWindow(database, {
    window: windowOf({ ...of, ...window }),
    ...{ attempt: 1, nowMs, rules: rulesOf(minuteMs) },
    answer: {
      rows: pointLinesOf(of.series.dataset, rows),
      rejected: [],
      sourceTimeMs: nowMs,
      status: 200,
      bytes: 0,
      durationMs: 0,
    },
  } as WindowCommit);
}

/** Tracks a window of a series, and commits what makes it whole. */
export async function fill(
  database: Database,
  of: {
    series: SeriesKey;
    window: Range;
    skip?: (timeMs: EpochMs) => boolean;
    valueAt?: (timeMs: EpochMs) => string;
    nowMs?: EpochMs;
  },
): Promise<number> {
  const { series, window, skip = () => false, valueAt = closeAt, nowMs = Date.now() } = of;
  const { seriesId } = await trackSeries(database, series, window.startMs, window.endMs);
  const step = intervalMs[series.interval];
  const rows = [];
  for (let at = window.startMs; at < window.endMs; at += step) {
    if (skip(at)) continue;
    const value = decimalText(valueAt(at));
    const volume = decimalText(volumes[(at / step) % volumes.length] ?? '0');
    rows.push(
      series.dataset === 'candles'
        ? { open: value, high: value, low: value, close: value, volume, period: at }
        : { priceUsd: value, time: at },
    );
  }
  await commitRows(database, { seriesId, series, window, rows, nowMs });
  return seriesId;
}

/** So many minutes, most of them made by the database itself: an export has to take a while. */
export async function fillMany(database: Database, count: number): Promise<void> {
  const window = { startMs, endMs: startMs + 100 * minuteMs };
  const seriesId = await fill(database, { series: minutes, window });
  await database.pool.query(
    `insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
     select $1, '2024-01-01T00:00Z'::timestamptz + make_interval(mins => n), v, v, v, v, v
     from generate_series(100, $2::int - 1) n, lateral (select n + 0.1234567890123456789 as v) o`,
    [seriesId, count],
  );
  await database.pool.query(
    `update tidemark.series set points = $2::int, newest = lower(tracked) + make_interval(mins => $2::int - 1),
            tracked = tstzrange(lower(tracked), lower(tracked) + make_interval(mins => $2::int)),
            covered = tstzmultirange(tstzrange(lower(tracked), lower(tracked) + make_interval(mins => $2::int)))
     where id = $1`,
    [seriesId, count],
  );
}

/**
 * Lets an import store so many pieces, and holds the next one before its commit.
 *
 * @returns lets it go.
 */
export async function holdAfter({ pool }: Database, pieces: number): Promise<() => Promise<unknown>> {
  await pool.query(`
    create table if not exists public.held ();
    insert into public.held default values;
    create or replace function public.hold() returns trigger language plpgsql as $$ begin
      while (select count(*) from tidemark.candle_points) > ${pieces * rowsOfPiece} and exists (select from public.held)
      loop perform pg_sleep(0.01); end loop;
      return null;
    end $$;
    create or replace trigger hold after update on tidemark.series execute function public.hold()`);
  return () => pool.query('delete from public.held');
}

/**
 * Two days of minutes, a pause in them, two hours before that are confirmed to be empty, and a day of hours. Of the
 * minutes, those before the last half hour were asked for by days only.
 */
export async function fillAll(database: Database): Promise<void> {
  const paused = { startMs: startMs + 5 * hourMs, endMs: startMs + 7 * hourMs };
  const minutesId = await fill(database, {
    series: minutes,
    window: { startMs, endMs: startMs + 2 * dayMs },
    skip: (timeMs) => timeMs >= paused.startMs && timeMs < paused.endMs,
  });
  await trackSeries(database, minutes, startMs - 2 * hourMs, null);
  // As two empty answers have it.
  await database.pool.query(
    `update tidemark.series
        set covered = covered + '{[2023-12-31T22:00Z,2024-01-01T00:00Z)}',
            confirmed_empty = confirmed_empty + '{[2023-12-31T22:00Z,2024-01-01T00:00Z)}',
            before_beginning = before_beginning + '{[2023-12-31T22:00Z,2023-12-31T23:30Z)}'
      where id = $1`,
    [minutesId],
  );
  await fill(database, { series: bitcoinHours, window: { startMs, endMs: startMs + dayMs } });
  await fill(database, { series: days, window: { startMs, endMs: startMs + 40 * dayMs } });
  for (const [place, sign] of ['$', null].entries()) {
    const nowMs = startMs + place * 1234;
    const rows = [
      { id: 'dollar', symbol: 'USD', currencySymbol: sign, rateUsd: decimalText('1.00'), type: 'fiat' },
      { id: 'yen, "new"', symbol: 'JPY', currencySymbol: null, rateUsd: decimalText('0.0070'), type: '' },
    ];
    const answer = { rows, rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 };
    await commitRates(database, { nowMs, answer });
  }
}

/** Everything that is known of every series, by name, without what says how it came. */
export async function contentOf(database: Database) {
  const ids = await database.pool.query<{ id: number; name: string; before: string; tracked: string }>(
    `select id, concat_ws(' ', exchange_id, base_id, quote_id, asset_id, interval) as name,
            before_beginning::text as before from tidemark.series`,
  );
  const stores = await readStore(
    database,
    ids.rows.map(({ id }) => id),
  );
  const rows = async (sql: string) => (await database.pool.query(sql)).rows;
  const series = ids.rows.map(({ id, name, before }) => {
    const store = stores.get(id);
    if (store === undefined) throw new Error('a series that is gone');
    const { requests: _, pending: __, trackedFromMs: ___, trackedToMs: ____, points, ...known } = store;
    return [name, { ...known, points: [...points], before }] as const;
  });
  return {
    series: Object.fromEntries(series.sort()),
    rates: await rows('select *, rate_usd::text as text from rates order by currency, time'),
    signs: await rows('select currency, currency_symbol from tidemark.currencies order by 1'),
  };
}
