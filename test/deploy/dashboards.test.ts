import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { datasets } from '../../model/datasets/index.ts';
import { dayMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { grantLogin } from '../../schema/login-roles.ts';
import { trackSeries } from '../../store/series/series.ts';
import { bitcoinHours as hours } from '../queue/queue-parts.ts';
import { commitPoints } from '../store/committing.ts';
import { onEachDatabase, useStore } from '../store/open-store.ts';
import { dashboards, queries, writtenOut } from './grafana.ts';

/** By default a chart has at most so many rows: schema/api/charts.sql. */
const maxChartRows = 4000;
const startMs = Date.UTC(2024, 1, 1);
const days: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' };
const fives = { ...hours, exchange: 'kraken', interval: 'm5' } as const;
const perpetual = { ...fives, quoteId: 'tether:tether' } as const;
const minutes: SeriesKey = { ...days, assetId: 'ethereum', interval: 'm5' };
const chosen = {
  exchange: 'binance',
  base: 'bitcoin',
  quote: 'tether',
  interval: 'h1',
  asset: 'bitcoin',
  asset_interval: 'auto',
  currency: 'united-states-dollar',
  currencies: ['bitcoin', 'euro'],
  perpetual: 'kraken bitcoin/tether:tether',
};
/** Far more rows in every table than a panel may return: 60 days of 5 minutes, and of requests, rates and revisions. */
const dense = { ...chosen, exchange: 'kraken', interval: 'm5', asset: 'ethereum', asset_interval: 'm5' };

it('the dashboards have unique panels, and use only the provisioned data sources', () => {
  for (const { panels } of dashboards) {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    const sources = new Set(panels.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid)));
    for (const uid of sources) expect(['tidemark-prometheus', 'tidemark-postgres']).toContain(uid);
  }
  expect(queries('expr').length).toBeGreaterThan(30);
  expect(queries('rawSql').length).toBeGreaterThan(10);
});

onEachDatabase('SQL of the dashboards', (on) => {
  const role = `viewer_${randomBytes(4).toString('hex')}`;
  const store = useStore(on);
  let viewer: pg.Client;
  beforeAll(async () => {
    const endMs = startMs + 60 * dayMs;
    for (const series of [hours, days, fives, minutes, perpetual]) {
      const { seriesId } = await trackSeries(store.database, series, startMs, endMs);
      await commitPoints(store.database, { seriesId, series, window: { startMs, endMs } });
    }
    for (const [dataset, interval, columns, values] of [
      ['funding_rates', 'h1', 'rate, interval_hours', '0.0001, 1'],
      ['open_interest', 'm5', 'amount, value', '10, 20'],
      ['index_candles', 'm5', 'open, high, low, close', '1, 1, 1, 1'],
    ] as const) {
      const series = { ...perpetual, dataset, interval } as SeriesKey;
      const { seriesId } = await trackSeries(store.database, series, startMs, endMs);
      await store.database.pool.query(
        `insert into tidemark.${datasets[dataset].table} (series_id, time, ${columns})
         select s.id, time, ${values} from tidemark.series s,
           generate_series(to_timestamp($2), to_timestamp($3) - s.period, s.period) time where s.id = $1`,
        [seriesId, startMs / 1000, endMs / 1000],
      );
    }
    await store.database.pool.query(
      `insert into tidemark.currencies (currency, symbol, type)
         values ('bitcoin', 'BTC', 'crypto'), ('euro', 'EUR', 'fiat'), ('united-states-dollar', 'USD', 'fiat');
         insert into tidemark.rate_points (currency_id, time, rate_usd)
         select c.id, time, 1.1 from tidemark.currencies c,
           generate_series(timestamptz '2024-02-01Z', '2024-03-31Z', '10 minutes') time;
         insert into tidemark.fetches (time, dataset, lane, attempt, verdict, duration_ms)
         select time, 'rates', 'poll', 1, verdict, 1
         from generate_series(timestamptz '2024-02-01Z', '2024-03-31Z', '10 minutes') time,
           unnest(array['filled', 'empty', 'failed', 'stale', 'unreadable', 'cut_short']) verdict`,
    );
    expect(await grantLogin(store.database, { role, kind: 'viewer', password: "it's secret" }, null)).toBe(true);
    const url = new URL(store.url);
    url.username = role;
    url.password = encodeURIComponent("it's secret");
    viewer = new pg.Client({ connectionString: url.href });
    await viewer.connect();
  });
  afterAll(async () => {
    await viewer?.end();
    await store.database.pool.query(`drop owned by ${role}; drop role ${role}`);
  });

  it.each(queries('rawSql'))('$title', async ({ query }) => {
    const { rows } = await viewer.query(writtenOut(query, chosen));
    // These need a running source: lists, rates, revisions, gaps and the recent ledger.
    const needsMore = /\bfrom (assets|markets|revisions|gaps)\b/.test(query);
    if (!needsMore) expect(rows.length).toBeGreaterThan(0);
  });

  const ofTime = queries('rawSql').filter(({ query }) => query.includes('$__time'));
  const year = 365 * dayMs;
  it.each([
    ['a week', { fromMs: startMs + dayMs, toMs: startMs + 8 * dayMs }],
    ['ten years', { fromMs: startMs - 9 * year, toMs: startMs + year }],
    ['all times', { fromMs: 0, toMs: Date.UTC(2040, 0, 1) }],
  ])('return no more rows than the cap in %s', async (_, range) => {
    for (const own of [dense, { ...dense, interval: 'auto', asset_interval: 'auto', currency: 'euro' }])
      for (const { title, query, points } of ofTime) {
        const { rows } = await viewer.query(writtenOut(query, own, { ...range, points }));
        expect([title, rows.length <= maxChartRows, rows.length]).toEqual([title, true, rows.length]);
        if (!/\bfrom revisions\b/.test(query)) expect([title, rows.length > 0]).toEqual([title, true]);
      }
  });

  it('show the chosen interval where it fits, and the finest that fits otherwise', async () => {
    const query = ofTime.find(({ title }) => title === 'Candles')?.query ?? '';
    const seen = async (interval: string, forDays: number, points = 1000) => {
      const range = { fromMs: startMs, toMs: startMs + forDays * dayMs, points };
      const { rows } = await viewer.query(writtenOut(query, { ...dense, interval }, range));
      const at = rows.map(({ time }: { time: number }) => new Date(time).getTime());
      return [rows.length, ((at[1] ?? 0) - (at[0] ?? 0)) / 60_000, rows[0].derived_from];
    };
    expect(await seen('m5', 13)).toEqual([13 * 288, 5, null]);
    expect(await seen('m5', 14)).toEqual([14 * 96, 15, 'm5']);
    expect(await seen('m5', 60)).toEqual([60 * 48, 30, 'm5']);
    expect(await seen('d1', 60)).toEqual([60, 1440, 'm5']);
    expect(await seen('auto', 1)).toEqual([288, 5, null]);
    expect(await seen('auto', 60, 400)).toEqual([60 * 6, 240, 'm5']);
  });

  it('offer the tracked series', async () => {
    const offered = new Map<string, unknown[]>();
    for (const { templating } of dashboards)
      for (const { name, query } of templating.list) {
        const { rows } = await viewer.query({ text: writtenOut(query, chosen), rowMode: 'array' });
        offered.set(name, rows.flat());
      }
    expect(Object.fromEntries(offered)).toEqual({
      exchange: ['binance', 'kraken'],
      base: ['bitcoin'],
      quote: ['tether'],
      interval: ['auto', 'h1', 'h2', 'h4', 'h6', 'h8', 'h12', 'd1', 'w1'],
      perpetual: ['kraken bitcoin/tether:tether'],
      asset: ['bitcoin', 'ethereum'],
      asset_interval: ['auto', 'd1'],
      currency: ['united-states-dollar', 'bitcoin', 'euro'],
      currencies: ['bitcoin', 'euro', 'united-states-dollar'],
    });
  });
});
