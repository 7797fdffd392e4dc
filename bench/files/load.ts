/** A store of the minutes of one market, in the columnstore as after some days. */

import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { dayMs } from '../../model/intervals.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { openDatabase } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import type { Candle } from '../../v2/resources.ts';
import { asTraded } from '../storage/as-traded.ts';
import { runColumnstorePolicy } from '../timescale.ts';
import { benchRange, benchSeries } from '../write/days.ts';
import { copiedColumns, copiedTime } from '../write/table.ts';

const [series] = benchSeries;
if (series === undefined) throw new Error('no series');
export const market = series;

export type Digits = 'as traded' | 'random to the last digit';

/** Tracks the market. @returns the id of the series. */
export async function trackMarket(url: string, days: number): Promise<number> {
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 1,
    statementTimeoutMs: 60_000,
  });
  try {
    const { startMs, endMs } = benchRange(days);
    return (await trackSeries(database, market, startMs, endMs)).seriesId;
  } finally {
    await database.close();
  }
}

/** @returns the number of candles. */
export async function loadMarket(client: pg.Client, seriesId: number, days: number, digits: Digits): Promise<number> {
  const { startMs, endMs } = benchRange(days);
  const { truth } = createSimulator({ seed: 'bench', clock: { now: () => endMs + dayMs } });
  const target = client.query(copyFrom(`copy tidemark.candle_points (${copiedColumns}) from stdin`));
  const finished = new Promise((resolve, reject) => target.on('finish', resolve).on('error', reject));
  const received = (candle: Candle) => (digits === 'as traded' ? asTraded(market, candle) : candle);
  let rows = 0;
  for (let fromMs = startMs; fromMs < endMs; fromMs += dayMs) {
    const candles = truth.candles(market, { startMs: fromMs, endMs: fromMs + dayMs }).map(received);
    rows += candles.length;
    const lines = candles.map(({ period, open, high, low, close, volume }) =>
      [seriesId, copiedTime(period), open, high, low, close, volume].join('\t'),
    );
    await new Promise<void>((resolve) => {
      target.write(lines.map((line) => `${line}\n`).join(''), () => resolve());
    });
  }
  target.end();
  await finished;
  await client.query(
    `update tidemark.series s
        set points = p.points, earliest = p.earliest, newest = p.newest, covered = tstzmultirange(s.tracked)
       from (select series_id, count(*) as points, min(time) as earliest, max(time) as newest
             from tidemark.candle_points group by series_id) p
      where p.series_id = s.id`,
  );
  await runColumnstorePolicy(client, 'candle_points');
  await client.query('vacuum analyze');
  return rows;
}
