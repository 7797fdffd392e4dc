/** The data of the service benchmark: minutes of a few markets, and two thousand assets, each polled a few times. */

import type pg from 'pg';
import { dayMs, type EpochMs, minuteMs, periodStart } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import { openDatabase } from '../../store/db/database.ts';
import { markAllBehind } from '../../store/series/rollups-behind.ts';
import { trackSeries } from '../../store/series/series.ts';
import { runColumnstorePolicy } from '../timescale.ts';

export interface Extent {
  readonly markets: number;
  readonly days: number;
  readonly assets: number;
  readonly polls: number;
}

export interface Loaded {
  readonly series: CandleSeries;
  /** The newest thousand minutes. */
  readonly range: { readonly startMs: EpochMs; readonly endMs: EpochMs };
  readonly asset: string;
  readonly nowMs: EpochMs;
}

/** Random values with the sixteen fraction digits of the interface. */
const value = (least: number) => `(${least} + random() * ${least})::numeric(38, 16)`;

/** Fills an empty, migrated database. */
export async function load(client: pg.Client, url: string, extent: Extent): Promise<Loaded> {
  const nowMs = Date.now();
  const endMs = periodStart(nowMs, 'm1') - 10 * minuteMs;
  const startMs = endMs - extent.days * dayMs;
  const first = await loadCandles(client, url, extent, { startMs, endMs });
  await loadAssets(client, extent, nowMs);
  await runColumnstorePolicy(client, 'candle_points');
  await client.query('vacuum analyze');
  return {
    series: first,
    range: { startMs: endMs - 1000 * minuteMs, endMs },
    asset: `asset-${Math.floor(extent.assets / 2)}`,
    nowMs,
  };
}

async function loadCandles(
  client: pg.Client,
  url: string,
  { markets }: Extent,
  { startMs, endMs }: { startMs: EpochMs; endMs: EpochMs },
): Promise<CandleSeries> {
  const seriesOf = (place: number): CandleSeries => ({
    ...{ dataset: 'candles', exchange: `exchange-${place}`, baseId: 'bitcoin', quoteId: 'tether', interval: 'm1' },
  });
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 1,
    statementTimeoutMs: 3_600_000,
  });
  try {
    for (let place = 0; place < markets; place += 1) {
      const { seriesId } = await trackSeries(database, seriesOf(place), startMs, null);
      await client.query(
        `insert into tidemark.candle_points
         select $1, time, ${value(50_000)}, ${value(50_000)}, ${value(50_000)}, ${value(50_000)}, ${value(10)}
         from generate_series($2::timestamptz, $3::timestamptz - interval '1 minute', interval '1 minute') time`,
        [seriesId, new Date(startMs), new Date(endMs)],
      );
      await client.query(
        `update tidemark.series set covered = tstzmultirange(tstzrange($2, $3)), points = 1, earliest = $2, newest = $3
         where id = $1`,
        [seriesId, new Date(startMs), new Date(endMs)],
      );
    }
    await client.query(markAllBehind);
  } finally {
    await database.close();
  }
  return seriesOf(0);
}

async function loadAssets(client: pg.Client, { assets, polls }: Extent, nowMs: EpochMs): Promise<void> {
  await client.query(
    `insert into tidemark.listed_assets (asset, newest) select 'asset-' || n, $2 from generate_series(1, $1) n`,
    [assets, new Date(nowMs)],
  );
  await client.query(
    `insert into tidemark.asset_states (listed_id, time, rank, symbol, name, supply, max_supply, market_cap_usd,
        volume_usd_24hr,
                               price_usd, change_percent_24hr, vwap_24hr)
     select id, $1::timestamptz - poll * interval '5 minutes', id, 'S' || id, 'Asset ' || id, ${value(1e6)},
       ${value(1e7)},
            ${value(1e9)}, ${value(1e7)}, ${value(100)}, ${value(1)}, ${value(100)}
     from tidemark.listed_assets, generate_series(0, $2::integer - 1) poll`,
    [new Date(nowMs), polls],
  );
}
