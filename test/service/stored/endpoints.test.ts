/** The service on a database against the service on the simulator whose data the database holds: the same text. */

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../contract/intervals.ts';
import { pathOf, routes } from '../../../contract/paths.ts';
import { createService } from '../../../service/server.ts';
import { simulatedMarketData } from '../../../simulator/served.ts';
import { trackList, untrackList } from '../../../store/lists/lists.ts';
import { storedMarketData } from '../../../store/market-data/series.ts';
import { refreshRollups } from '../../../store/rollups/refresh.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { clockAt } from '../../parts/test-clock.ts';
import type { TestStore } from '../../store/open-store.ts';
import { markGone } from './load-lists.ts';
import { hours, nowMs, openStoredWorld, simulator, startMs } from './stored-world.ts';

const source = createService({ data: simulatedMarketData(simulator), clock: clockAt(() => nowMs) });
afterAll(() => source.close());

for (const kind of ['main', 'plain'] as const) {
  describeNeeding(kind === 'main' ? 'timescale' : 'plainPostgres', `the service on ${kind}`, () => {
    let store: TestStore;
    let app: FastifyInstance;
    beforeAll(async () => {
      store = await openStoredWorld(kind);
      app = createService({ data: storedMarketData(store.database.pool), clock: clockAt(() => nowMs) });
    });
    afterAll(async () => {
      await app.close();
      await store.close();
    });

    /** The body with rows in an order of its own, for what comes in no order at the source. */
    const sorted = (body: string) => {
      const { data, timestamp } = JSON.parse(body) as { data: { id: string }[]; timestamp: number };
      return { data: data.toSorted((a, b) => (a.id < b.id ? -1 : 1)), timestamp };
    };
    const range = (fromMs: number, toMs = nowMs) => `start=${fromMs}&end=${toMs}`;
    const market = 'exchange=kraken&interval=h1&baseId=bitcoin&quoteId=euro';
    const march = Date.UTC(2024, 4, 1);

    it.each([
      '/assets',
      '/assets?limit=3&offset=2',
      '/assets?limit=0',
      '/assets?ids=solana,bitcoin,nothing',
      '/assets?ids=%20solana,%20bitcoin+',
      '/assets?search=gLm',
      '/assets?search=bit&limit=1',
      '/assets/bitcoin',
      pathOf('asset', 'golem-(glm)'),
      '/assets/bitcoin/markets?limit=2000',
      '/assets/bitcoin/market?limit=5&offset=5',
      '/markets',
      '/markets?limit=7&offset=30',
      '/markets?exchangeId=binance&baseSymbol=bTc&quoteSymbol=uSDT',
      '/markets?baseId=ethereum&quoteId=tether',
      '/markets?assetSymbol=eur',
      '/markets?assetId=euro',
      '/markets/data?assetId=euro',
      '/exchanges',
      '/exchanges/all',
      '/exchanges/kraken',
      pathOf('rate', 'icelandic-króna'),
      `/candles?${market}&${range(march)}`,
      `/candles?${market}`,
      `/candles/market?${market}&start=${march + 1}`,
      `/candles?${market}&end=${march - 1}`,
      `/candles?exchange=binance&interval=m1&baseId=bitcoin&quoteId=tether&${range(nowMs - 12 * hourMs)}`,
      '/assets/bitcoin/history?interval=d1',
      `/assets/bitcoin/history?interval=h1&${range(march + 1, march + 2 * dayMs + 1)}`,
      // Of these only h1 is stored.
      ...['h2', 'h6', 'h12'].map(
        (interval) => `/assets/bitcoin/history?interval=${interval}&${range(march + 1, march + 9 * dayMs)}`,
      ),
    ])('%s gives the text that the source gave', async (path) => {
      const [given, own] = [await source.inject(`/v2${path}`), await app.inject(`/v2${path}`)];
      expect(given.statusCode).toBe(200);
      expect(own.body).toBe(given.body);
      expect(own.headers['content-type']).toBe(given.headers['content-type']);
    });

    it.each(['/rates', '/rates/all'])('%s returns every rate', async (path) => {
      const [given, own] = [await source.inject(`/v2${path}`), await app.inject(`/v2${path}`)];
      expect(sorted(own.body)).toEqual(sorted(given.body));
    });

    it('answers the fourteen calls of a client that ends paths of lists with a slash', async () => {
      const calls = [
        '/assets/',
        '/assets/?limit=2&offset=1&',
        '/assets/?search=BTC&',
        '/assets/?ids=bitcoin,ethereum&',
        '/assets/bitcoin',
        '/assets/bitcoin/history?interval=d1&',
        `/assets/bitcoin/history?interval=h1&${range(march)}&`,
        '/assets/bitcoin/markets?limit=2&',
        '/rates/',
        '/rates/bitcoin',
        '/exchanges/',
        '/exchanges/kraken',
        '/markets/?exchangeId=kraken&',
        `/candles/?${market}&${range(march)}&`,
      ];
      for (const call of calls) {
        const answer = await app.inject(`/v2${call}`);
        const plain = await app.inject(`/v2${call.replace(/\/(?=\?|$)/, '').replace(/&$/, '')}`);
        expect([call, answer.statusCode, answer.body]).toEqual([call, 200, plain.body]);
        const data: unknown = answer.json().data;
        expect(Array.isArray(data) ? data.length : Object.keys(data as object).length).toBeGreaterThan(0);
      }
    });

    it('returns 404 for unknown ids', async () => {
      for (const path of [
        '/assets/asdf',
        '/assets/asdf/history?interval=h1',
        '/assets/asdf/markets',
        '/exchanges/asdf',
        '/rates/asdf',
      ]) {
        const answer = await app.inject(`/v2${path}`);
        expect([path, answer.statusCode, answer.json()]).toEqual([
          path,
          404,
          { error: 'asdf not found', timestamp: nowMs },
        ]);
      }
      const market = await app.inject('/v2/candles?exchange=kraken&interval=h1&baseId=asdf&quoteId=euro');
      expect([market.statusCode, market.json().error]).toEqual([404, 'kraken asdf/euro not found']);
    });

    describe('intervals that follow from finer ones', () => {
      const asked = (interval: string, from = startMs) =>
        `/candles?${market.replace('h1', interval)}&${range(from)}`;
      const viewed = async (interval: string) => {
        const result = await store.database.pool.query<Record<string, string | number>>(
          `select open, high, low, close, volume, time as period from candles
           where exchange = 'kraken' and base = 'bitcoin' and quote = 'euro' and interval = $1 and time >= $2 order by time`,
          [interval, new Date(startMs).toISOString()],
        );
        return result.rows;
      };
      it.each(['h2', 'h8', 'd1', 'w1'])('serves %s candles like the view `candles`', async (interval) => {
        const rows = (await app.inject(`/v2${asked(interval)}`)).json().data;
        expect(rows.length).toBeGreaterThan(4);
        expect(rows).toEqual(await viewed(interval));
      });
      it('serves candles while a rollup refresh is pending', async () => {
        await refreshRollups(store.database, { nowMs: Date.now() });
        await store.database.pool.query(
          `update tidemark.candle_points set close = close + 0.00100
           where time = '2024-04-20T23:00Z' and series_id = (select id from tidemark.series where exchange_id = 'kraken')`,
        );
        await store.database.pool.query(
          `update tidemark.series set rollups_behind = '{[2024-04-20T00:00Z,2024-04-21T00:00Z)}' where exchange_id = 'kraken'`,
        );
        const rows: { period: number; close: string }[] = (await app.inject(`/v2${asked('d1')}`)).json().data;
        expect(rows).toEqual(await viewed('d1'));
        const [hour] = simulator.truth.candles(hours, {
          startMs: Date.UTC(2024, 3, 20, 23),
          endMs: Date.UTC(2024, 3, 21),
        });
        const day = rows.find(({ period }) => period === Date.UTC(2024, 3, 20));
        expect(Number(day?.close) - Number(hour?.close)).toBeCloseTo(0.001, 8);
      });
      it('reports no coverage for an interval finer than the stored one', async () => {
        const answer = await app.inject(`/v2${asked('m30', nowMs - dayMs)}`);
        expect([answer.statusCode, answer.json().data]).toEqual([200, []]);
        const [fromMs, closedMs] = [Date.UTC(2024, 4, 15, 10, 30), Date.UTC(2024, 4, 16, 10)];
        expect(answer.headers['x-tidemark-coverage']).toBe(
          `share=0, gaps=1, until=${closedMs}, missing=${fromMs}-${closedMs}`,
        );
        const ahead = await app.inject(
          `/v2/candles?${market.replace('h1', 'm30')}&${range(nowMs, nowMs + dayMs)}`,
        );
        expect(ahead.headers['x-tidemark-coverage']).toBe(
          `share=1, gaps=0, until=${Date.UTC(2024, 4, 16, 10, 30)}`,
        );
      });
    });

    it.each([
      [`/candles?${market}&`, undefined],
      [`/candles?${market.replace('h1', 'h4')}&`, 'h1'],
      ['/assets/bitcoin/history?interval=h12&', 'h1'],
      ['/assets/bitcoin/history?interval=d1&', undefined],
      ['/assets/bitcoin/history?interval=m30&', undefined],
    ])('%s says what its rows are derived from', async (path, from) => {
      const { headers } = await app.inject(`/v2${path}${range(march)}`);
      expect(headers['x-tidemark-derived-from']).toBe(from);
    });

    describe('X-Tidemark-Coverage', () => {
      const coverage = async (path: string) =>
        (await app.inject(`/v2${path}`)).headers['x-tidemark-coverage'];
      const hour = Date.UTC(2024, 4, 16, 10);
      const day = Date.UTC(2024, 4, 16);
      it('reports share 1 and the end of the last closed period when complete', async () => {
        const all = (untilMs: number) => `share=1, gaps=0, until=${untilMs}`;
        expect(await coverage(`/candles?${market}&${range(march)}`)).toBe(all(hour));
        expect(await coverage(`/assets/bitcoin/history?interval=d1&${range(march)}`)).toBe(all(day));
        const fourHourly = `/candles?${market.replace('h1', 'h4')}&${range(march)}`;
        expect(await coverage(fourHourly)).toBe(all(Date.UTC(2024, 4, 16, 8)));
        expect(await coverage(`/candles?${market}&${range(startMs, startMs + dayMs)}`)).toBe(
          all(startMs + dayMs),
        );
      });
      it('reports the missing share and ranges', async () => {
        const missing = `missing=${startMs - 10 * dayMs}-${startMs}`;
        expect(
          await coverage(`/candles?${market}&${range(startMs - 10 * dayMs, startMs + 10 * dayMs)}`),
        ).toBe(`share=0.5, gaps=1, until=${startMs + 10 * dayMs}, ${missing}`);
        const before = await app.inject(`/v2/candles?${market}&${range(startMs - 10 * dayMs, startMs)}`);
        expect([before.json().data, before.headers['x-tidemark-coverage']]).toEqual([
          [],
          `share=0, gaps=1, until=${startMs}, ${missing}`,
        ]);
      });
      it('rounds the share down', async () => {
        expect(await coverage(`/assets/bitcoin/history?interval=d1&${range(Date.UTC(2011, 11, 31))}`)).toBe(
          `share=0.9997, gaps=1, until=${day}, missing=${Date.UTC(2011, 11, 31)}-${Date.UTC(2012, 0, 1)}`,
        );
      });
      it('does not count an open period as missing', async () => {
        const fromMs = Date.UTC(2024, 4, 17, 11);
        expect(await coverage(`/candles?${market}&${range(nowMs + dayMs, nowMs + 2 * dayMs)}`)).toBe(
          `share=1, gaps=0, until=${fromMs}`,
        );
      });
      it('counts a period as missing when its only row was rejected', async () => {
        const { pool } = store.database;
        const at = (place: number) => startMs + place * hourMs;
        const asked = `/candles?${market}&${range(at(0), at(10))}`;
        await pool.query('create table kept_candles (like tidemark.candle_points)');
        const gone = await pool.query<{ series_id: number }>(
          `with gone as (
             delete from tidemark.candle_points
             where time in ($1, $2) and series_id = (select id from tidemark.series where exchange_id = 'kraken' and interval = 'h1')
             returning *
           ), kept as (insert into kept_candles select * from gone)
           select series_id from gone`,
          [new Date(at(3)), new Date(at(6))],
        );
        const reject = (timeMs: number | null) =>
          pool.query(
            `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw, time)
             values (now(), 'candles', $1, tstzrange($2, $3), 'impossible', $4, $5)`,
            [
              gone.rows[0]?.series_id,
              new Date(at(0)),
              new Date(at(10)),
              String(timeMs),
              timeMs === null ? null : new Date(timeMs),
            ],
          );
        const holes = `share=0.8, gaps=2, until=${at(10)}, missing=${at(3)}-${at(4)} ${at(6)}-${at(7)}`;
        // A row without a time, or with one far from its window, may be of any period of the window.
        for (const timeMs of [null, 5]) {
          await reject(timeMs);
          expect(await coverage(asked)).toBe(holes);
          expect(await coverage(`/candles?${market}&${range(at(5), at(12))}`)).toBe(
            `share=0.8571, gaps=1, until=${at(12)}, missing=${at(6)}-${at(7)}`,
          );
          await pool.query('delete from tidemark.quarantine');
        }
        expect(await coverage(asked)).toBe(`share=1, gaps=0, until=${at(10)}`);
        // Of a period without a point, of one with a point, and off by seconds after one without.
        for (const timeMs of [at(3), at(4), at(6) + 7000]) await reject(timeMs);
        expect(await coverage(asked)).toBe(holes);
        await reject(null);
        // Points that come since speak for their periods.
        await pool.query('insert into tidemark.candle_points select * from kept_candles');
        expect(await coverage(asked)).toBe(`share=1, gaps=0, until=${at(10)}`);
      });
      it('counts a derived price as known where the stored period at its time is', async () => {
        const without = (from: number, to: number) =>
          store.database.pool.query(
            `update tidemark.series set covered = tstzmultirange(tstzrange($1, $2)) - tstzmultirange(tstzrange($3, $4))
             where asset_id = 'bitcoin' and interval = 'h1'`,
            [march - dayMs, hour, march + from * hourMs, march + to * hourMs].map(
              (timeMs) => new Date(timeMs),
            ),
          );
        const { rows } = await store.database.pool.query<{ covered: string }>(
          `select covered::text from tidemark.series where asset_id = 'bitcoin' and interval = 'h1'`,
        );
        const asked = `/assets/bitcoin/history?interval=h6&${range(march, march + dayMs)}`;
        await without(1, 6);
        expect(await coverage(asked)).toBe(`share=1, gaps=0, until=${march + dayMs}`);
        await without(5, 7);
        expect(await coverage(asked)).toBe(
          `share=0.75, gaps=1, until=${march + dayMs}, missing=${march + 6 * hourMs}-${march + 12 * hourMs}`,
        );
        await store.database.pool.query(
          `update tidemark.series set covered = $1 where asset_id = 'bitcoin' and interval = 'h1'`,
          [rows[0]?.covered],
        );
      });
      it('lists the first of very many missing ranges and ends before the next', async () => {
        const { rows } = await store.database.pool.query<{ covered: string }>(
          `select covered::text from tidemark.series where exchange_id = 'kraken' and interval = 'h1'`,
        );
        const cover = (ranges: string) =>
          store.database.pool.query(
            `update tidemark.series set covered = $1 where exchange_id = 'kraken' and interval = 'h1'`,
            [ranges],
          );
        // Every other hour of three days.
        const at = (place: number) => startMs + place * hourMs;
        const odd = Array.from({ length: 36 }, (_, index) => 2 * index + 1);
        const text = (timeMs: number) => new Date(timeMs).toISOString();
        await cover(`{${odd.map((place) => `[${text(at(place))},${text(at(place + 1))})`).join(',')}}`);
        const header = await coverage(`/candles?${market}&${range(startMs, at(72))}`);
        await cover(rows[0]?.covered ?? '');
        const missing = odd.slice(0, 32).map((place) => `${at(place - 1)}-${at(place)}`);
        expect(header).toBe(`share=0.5, gaps=36, until=${at(64)}, missing=${missing.join(' ')}`);
      });
      it('is absent from responses without a range', async () => {
        expect(await coverage('/rates')).toBe(undefined);
      });
    });

    it('serves the markets of an unpolled asset from all markets, without a share', async () => {
      const given = (await source.inject('/v2/assets/ethereum/markets')).json().data as Record<
        string,
        unknown
      >[];
      const own = (await app.inject('/v2/assets/ethereum/markets')).json().data as Record<string, unknown>[];
      expect(own.length).toBe(given.length);
      const names = [
        'baseId',
        'quoteId',
        'baseSymbol',
        'quoteSymbol',
        'volumeUsd24Hr',
        'priceUsd',
        'volumePercent',
      ];
      for (const row of own) expect(Object.keys(row)).toEqual(['exchangeId', ...names]);
      const tally = (rows: Record<string, unknown>[]) =>
        rows.map((row) => `${row.baseId}/${row.quoteId} ${row.volumeUsd24Hr}`).sort();
      expect(tally(own)).toEqual(tally(given));
      expect(own.every((row) => row.volumePercent === null)).toBe(true);
    });

    it('serves all markets for an asset whose list is no longer polled, if they are known', async () => {
      const list = { dataset: 'asset_markets', asset: 'bitcoin' } as const;
      const shares = async () => {
        const { data } = (await app.inject('/v2/assets/bitcoin/markets')).json();
        return data.map((row: { volumePercent: unknown }) => row.volumePercent);
      };
      await untrackList(store.database, list, nowMs);
      expect(new Set(await shares())).toEqual(new Set([null]));
      await store.database.pool.query('update tidemark.listed_markets set gone_since = now()');
      expect(await shares()).not.toContain(null);
      await store.database.pool.query('update tidemark.listed_markets set gone_since = null');
      await trackList(store.database, list, minuteMs);
      expect(await shares()).not.toContain(null);
    });

    it('serves markets of an asset that is known only from markets or a history', async () => {
      await markGone(store.database, 'assets', 'euro', nowMs);
      const markets = await app.inject('/v2/assets/euro/markets');
      expect([markets.statusCode, markets.json().data.length > 0]).toEqual([200, true]);
      const followed = { dataset: 'asset_history', assetId: 'unlisted', interval: 'd1' } as const;
      await trackSeries(store.database, followed, startMs, null);
      const none = await app.inject('/v2/assets/unlisted/markets');
      expect([none.statusCode, none.json().data]).toEqual([200, []]);
      await store.database.pool.query('update tidemark.listed_assets set gone_since = null');
    });

    it('removes rows that the source removed but keeps their history', async () => {
      await markGone(store.database, 'assets', 'bitcoin', nowMs);
      expect((await app.inject('/v2/assets/bitcoin')).statusCode).toBe(404);
      expect((await app.inject('/v2/assets?ids=bitcoin')).json().data).toEqual([]);
      expect((await app.inject('/v2/assets/bitcoin/history?interval=d1')).json().data.length).toBeGreaterThan(
        300,
      );
      await store.database.pool.query('update tidemark.listed_assets set gone_since = null');
    });

    it('covers every list endpoint', () => {
      expect(routes).toHaveLength(15);
    });
  });
}
