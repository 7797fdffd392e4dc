import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { grantViewer } from '../../store/auth/roles.ts';
import { trackSeries } from '../../store/series/series.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { commitPoints } from '../store/committing.ts';
import { openTestStore, type TestStore } from '../store/open-store.ts';
import { dashboards, queries, writtenOut } from './grafana.ts';

const startMs = Date.UTC(2024, 1, 1);
const hours: SeriesKey = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
};
const days: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' };
const chosen = { exchange: 'binance', base: 'bitcoin', quote: 'tether', interval: 'h1', asset: 'bitcoin' };

describe('the dashboards', () => {
  it('have unique panels and positions, and use only the provisioned data sources', () => {
    for (const { panels } of dashboards) {
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
      const sources = new Set(
        panels.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid)),
      );
      for (const uid of sources) expect(['tidemark-prometheus', 'tidemark-postgres']).toContain(uid);
    }
    expect(queries('expr').length).toBeGreaterThan(30);
    expect(queries('rawSql').length).toBeGreaterThan(10);
  });
});

for (const on of ['main', 'plain'] as const) {
  describeNeeding(on === 'main' ? 'timescale' : 'plainPostgres', `SQL of the dashboards on ${on}`, () => {
    const role = `viewer_${randomBytes(4).toString('hex')}`;
    let store: TestStore;
    let viewer: pg.Client;
    beforeAll(async () => {
      store = await openTestStore(on);
      const endMs = startMs + 60 * dayMs;
      for (const series of [hours, days]) {
        const { seriesId } = await trackSeries(store.database, series, startMs, endMs);
        await commitPoints(store.database, { seriesId, series, window: { startMs, endMs } });
      }
      expect(await grantViewer(store.database, { role, password: "it's secret" })).toBe(true);
      const url = new URL(store.url);
      url.username = role;
      url.password = encodeURIComponent("it's secret");
      viewer = new pg.Client({ connectionString: url.href });
      await viewer.connect();
    });
    afterAll(async () => {
      await viewer?.end();
      await store.database.pool.query(`drop owned by ${role}; drop role ${role}`);
      await store.close();
    });

    it.each(queries('rawSql'))('$title', async ({ query }) => {
      const { rows } = await viewer.query(writtenOut(query, chosen));
      // These need a running source: lists, rates, revisions, gaps and the recent ledger.
      const needsMore = /\bfrom (rates|assets|markets|revisions|gaps|tidemark\.fetches)\b/.test(query);
      if (!needsMore) expect(rows.length).toBeGreaterThan(0);
    });

    it('offer the tracked series', async () => {
      const offered = new Map<string, unknown[]>();
      for (const { templating } of dashboards)
        for (const { name, query } of templating.list) {
          const { rows } = await viewer.query({ text: writtenOut(query, chosen), rowMode: 'array' });
          offered.set(name, rows.flat());
        }
      expect(Object.fromEntries(offered)).toEqual({
        exchange: ['binance'],
        base: ['bitcoin'],
        quote: ['tether'],
        interval: ['h1'],
        asset: ['bitcoin'],
      });
    });

    it('query as a role that may change nothing and sees no keys', async () => {
      const code = (sql: string) =>
        viewer.query(sql).then(
          () => 'done',
          (error: pg.DatabaseError) => error.code,
        );
      const [readOnly, refused] = ['25006', '42501'];
      expect(await code('delete from tidemark.series')).toBe(readOnly);
      await viewer.query('set default_transaction_read_only = off');
      for (const sql of [
        'delete from tidemark.series',
        'update tidemark.candle_points set close = 0',
        'create table tidemark.mine (a int)',
        'select * from tidemark.api_keys',
        'select * from tidemark.request_times',
        `select tidemark.key_of('')`,
      ])
        expect([sql, await code(sql)]).toEqual([sql, refused]);
      const known = await viewer.query<{ name: string }>(
        `select format('%I.%I', schemaname, viewname) as name from pg_views where schemaname = 'public'`,
      );
      for (const { name } of known.rows)
        expect([name, await code(`select * from ${name} limit 1`)]).toEqual([name, 'done']);
      expect(known.rows.length).toBeGreaterThan(15);
      expect(await grantViewer(store.database, { role, password: null })).toBe(false);
      const owner = new URL(store.url).username || 'postgres';
      await expect(grantViewer(store.database, { role: owner, password: 'x' })).rejects.toThrow(
        'was not created by',
      );
    });
  });
}
