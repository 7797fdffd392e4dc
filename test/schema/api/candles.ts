/** Candles written directly into the store, and a comparison of every rollup with them. */

import { expect } from 'vitest';
import type { CandleInterval } from '../../../model/datasets/candles.ts';
import type { EpochMs } from '../../../model/intervals.ts';
import { gridOrigin, periodLiteral, type RollupLevel, rollupLevels } from '../../../model/rollup-levels.ts';
import type { CandleSeries } from '../../../model/series.ts';
import type { Database } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';

export interface StoredCandle {
  readonly timeMs: EpochMs;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
  readonly volume: string;
}

export function market(baseId: string, interval: CandleInterval): CandleSeries {
  return { dataset: 'candles', exchange: 'x', baseId, quoteId: 'tether', interval };
}

/** Candles with zero to five decimals, many of them zeros, and many equal values. */
export function candles(startMs: EpochMs, everyMs: number, count: number, turn = 0): StoredCandle[] {
  const value = (place: number) => {
    const digit = (place * 7919 + turn) % 11;
    return `${100 + digit}${['', '.0', '.50', '.500', '.12340', '.00001'][(place + turn) % 6]}`;
  };
  return Array.from({ length: count }, (_, place) => ({
    timeMs: startMs + place * everyMs,
    open: value(place),
    high: value(place + 1),
    low: value(place + 2),
    close: value(place + 3),
    volume: value(place + 4),
  }));
}

/** Inserts or changes them, as a commit does. */
export async function put(database: Database, seriesId: number, rows: readonly StoredCandle[]): Promise<void> {
  const column = (name: 'open' | 'high' | 'low' | 'close' | 'volume') => rows.map((row) => row[name]);
  await database.pool.query(
    `with behind as (
       update tidemark.series
          set rollups_behind = rollups_behind + (
                select range_agg(tstzrange(day, day + interval '24 hours'))
                from unnest($2::timestamptz[]) time, date_bin('1 day', time, timestamptz 'epoch') day)
        where id = $1 and period < interval '24 hours'
     )
     insert into tidemark.candle_points
     select $1, * from unnest($2::timestamptz[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[], $7::numeric[])
     on conflict (series_id, time) do update
       set open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close, volume = excluded.volume`,
    [
      seriesId,
      rows.map((row) => timestamp(row.timeMs)),
      ...[column('open'), column('high'), column('low'), column('close'), column('volume')],
    ],
  );
}

/** After points were written in another way: every day of the series is to be rolled up. */
export async function markBehind(database: Database, seriesId: number): Promise<void> {
  await database.pool.query(
    `update tidemark.series
        set rollups_behind = coalesce((
              select tstzmultirange(tstzrange(date_bin('1 day', min(time), timestamptz 'epoch'),
                                              date_bin('1 day', max(time), timestamptz 'epoch') + interval '24 hours'))
              from tidemark.candle_points where series_id = $1), '{}')
      where id = $1 and dataset = 'candles' and period < interval '24 hours'`,
    [seriesId],
  );
}

/**
 * Compares every level with the aggregate of the points, as text. Of equal extremes the one with the most zeros is
 * expected.
 */
export async function expectRollupsToAgree(database: Database): Promise<void> {
  let compared = 0;
  for (const level of rollupLevels) {
    const rollup = await database.pool.query(`select ${asText} from ${level.name} order by 1, 2`);
    const truth = await aggregated(database, level);
    expect(rollup.rows, level.interval).toEqual(truth);
    compared += truth.length;
  }
  expect(compared).toBeGreaterThan(0);
}

/** Compares the candles that the view `candles` derives, refreshed or not. Each market has one stored series. */
export async function expectCandlesToAgree(database: Database): Promise<void> {
  for (const level of rollupLevels) {
    const view = await database.pool.query(
      `select ${asText} from candles c
       join (select id as series_id, base_id as base from tidemark.series) s using (base)
       where derived_from is not null and interval = $1 order by 1, 2`,
      [level.interval],
    );
    expect(view.rows, level.interval).toEqual(await aggregated(database, level));
  }
}

const asText = 'series_id, time, open::text, high::text, low::text, close::text, volume::text, points';

async function aggregated(database: Database, level: RollupLevel): Promise<unknown[]> {
  const result = await database.pool.query(
    `select ${asText} from (
       select series_id, date_bin(${periodLiteral(level)}, time, ${gridOrigin}) as time,
              (array_agg(open order by time))[1] as open,
              (array_agg(high order by high desc, scale(high) desc))[1] as high,
              (array_agg(low order by low, scale(low) desc))[1] as low,
              (array_agg(close order by time desc))[1] as close, sum(volume) as volume, count(*) as points
       from tidemark.candle_points
       where series_id in (select id from tidemark.series where interval = any ($1)) group by 1, 2
     ) aggregate order by 1, 2`,
    [level.finer],
  );
  return result.rows;
}
