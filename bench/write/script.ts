/**
 * A plain script as a user would write it: day by day, fetch, JSON.parse, and a multi-row upsert. It keeps no coverage
 * and no ledger, loses the digits of a price that is a number, and has no budget.
 */

import type pg from 'pg';
import { dayMs } from '../../model/intervals.ts';
import { benchRange, benchSeries, dayQuery } from './days.ts';

interface Row {
  readonly period: number;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
  readonly volume: string;
}

export async function runScript(
  client: pg.Client,
  sourceUrl: string,
  days: number,
  seriesIds: readonly number[],
): Promise<void> {
  const { startMs, endMs } = benchRange(days);
  for (const [at, series] of benchSeries.entries()) {
    for (let start = startMs; start < endMs; start += dayMs) {
      const query = dayQuery({ series, startMs: start, endMs: start + dayMs });
      const response = await fetch(`${sourceUrl}/candles?${query}`);
      const { data } = JSON.parse(await response.text()) as { data: Row[] };
      await upsert(client, seriesIds[at] ?? 0, data);
    }
  }
}

async function upsert(client: pg.Client, seriesId: number, rows: readonly Row[]): Promise<void> {
  const values: unknown[] = [];
  const places = rows.map((row) => {
    const first = values.length;
    values.push(seriesId, new Date(row.period), row.open, row.high, row.low, row.close, row.volume);
    return `($${first + 1}, $${first + 2}, $${first + 3}, $${first + 4}, $${first + 5}, $${first + 6}, $${first + 7})`;
  });
  await client.query(
    `insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
     values ${places.join(', ')}
     on conflict (series_id, time) do update
       set open = excluded.open, high = excluded.high, low = excluded.low,
           close = excluded.close, volume = excluded.volume`,
    values,
  );
}
