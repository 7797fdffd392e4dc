import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMs, gridOriginMs, hourMs, intervalMs, minuteMs } from '../../../contract/intervals.ts';
import { timestamp } from '../../../store/db/database.ts';
import { rollupLevels } from '../../../store/rollups/levels.ts';
import { trackSeries, untrackSeries } from '../../../store/series/series.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';
import { candles, expectRollupsToAgree, market, put } from '../views/candles.ts';

/** A Wednesday, so that weeks begin within the range. */
const startMs = Date.UTC(2024, 0, 3, 5);

describe('the levels', () => {
  it('are whole multiples of their source, and weeks begin on the grid, on Mondays', () => {
    expect(rollupLevels.map(({ interval }) => interval)).toEqual([
      ...['m5', 'm15', 'm30', 'h1', 'h2', 'h4', 'h6', 'h8', 'h12', 'd1', 'w1'],
    ]);
    for (const { from, periodMs } of rollupLevels) {
      expect(periodMs % (from === null ? minuteMs : from.periodMs)).toBe(0);
    }
    expect(new Date(gridOriginMs).getUTCDay()).toBe(1);
  });
});

onEachDatabase('rollups', (kind) => {
  let store: TestStore;
  beforeAll(async () => {
    store = await openTestStore(kind);
  });
  afterAll(() => store.close());

  it('hold the values of the points at every level, to the last zero', async () => {
    const { seriesId } = await trackSeries(
      store.database,
      market('digits', 'm1'),
      startMs,
      startMs + 20 * dayMs,
    );
    await put(store.database, seriesId, candles(startMs, 7 * minuteMs, 3000));
    await expectRollupsToAgree(store.database);
    const weeks = await store.database.pool.query<{ time: number }>(
      'select time from tidemark.rollup_w1 where series_id = $1 order by time',
      [seriesId],
    );
    expect(weeks.rows.map(({ time }) => time)).toEqual([
      Date.UTC(2024, 0, 1),
      Date.UTC(2024, 0, 8),
      Date.UTC(2024, 0, 15),
    ]);
  });

  it('show equal extremes with the same text in any order', async () => {
    const texts: string[] = [];
    for (const order of [
      ['2.5', '2.50', '2.500'],
      ['2.500', '2.50', '2.5'],
    ]) {
      const { seriesId } = await trackSeries(
        store.database,
        market(`ties-${order[0]}`, 'm1'),
        startMs,
        startMs + dayMs,
      );
      for (const [place, value = ''] of order.entries()) {
        await put(store.database, seriesId, [
          {
            timeMs: startMs + place * minuteMs,
            open: value,
            high: value,
            low: value,
            close: value,
            volume: '1',
          },
        ]);
      }
      const row = await store.database.pool.query<{ high: string; low: string }>(
        'select high, low from tidemark.rollup_d1 where series_id = $1',
        [seriesId],
      );
      texts.push(...row.rows.map(({ high, low }) => `${high} ${low}`));
    }
    expect(texts).toEqual(['2.500 2.500', '2.500 2.500']);
  });

  it('answer intervals without a series from the finest one whose periods divide them', async () => {
    const { database } = store;
    for (const interval of ['m30', 'h8'] as const) {
      const { seriesId } = await trackSeries(
        database,
        market('two', interval),
        startMs,
        startMs + 10 * dayMs,
      );
      await put(
        database,
        seriesId,
        candles(startMs - (startMs % intervalMs[interval]), intervalMs[interval], 20),
      );
    }
    const answers = await database.pool.query<{
      interval: string;
      derived_from: string | null;
      points: number;
    }>(
      `select interval, derived_from, sum(points)::int as points from candles
         where exchange = 'x' and base = 'two' and quote = 'tether' group by interval, derived_from order by min(close)`,
    );
    const named = new Map(answers.rows.map(({ interval, ...row }) => [interval, row]));
    expect(named.get('m30')).toEqual({ derived_from: null, points: null });
    expect(named.get('h8')).toEqual({ derived_from: null, points: null });
    for (const interval of ['h1', 'h2', 'h4', 'h12', 'd1', 'w1']) {
      expect(named.get(interval)).toEqual({ derived_from: 'm30', points: 20 });
    }
    expect([...named.keys()].filter((interval) => ['m1', 'm5', 'm15'].includes(interval))).toEqual([]);
  });

  it('are not hidden by an empty series', async () => {
    const { database } = store;
    const { seriesId } = await trackSeries(database, market('oops', 'h1'), startMs, startMs + 10 * dayMs);
    await put(database, seriesId, candles(startMs, hourMs, 48));
    const days = async () => {
      const counts = await database.pool.query<{ view: number; named: number }>(
        `select (select count(*)::int from candles where exchange = 'x' and base = 'oops' and interval = 'd1') as view,
                  (select count(close)::int from ohlcv('x', 'oops', 'tether', 'd1', $1, $2)) as named`,
        [timestamp(startMs), timestamp(startMs + 10 * dayMs)],
      );
      return counts.rows[0];
    };
    const before = await days();
    expect(before?.view).toBeGreaterThan(1);
    expect(before?.named).toBeGreaterThan(1);
    const mistake = await trackSeries(database, market('oops', 'd1'), startMs, null);
    expect(await days()).toEqual({ view: 0, named: 0 });
    await untrackSeries(database, mistake.seriesId, startMs);
    expect(await days()).toEqual(before);
  });

  it('prefer the longest coverage, and among equals the finest', async () => {
    const { database } = store;
    const cover = async (base: string, interval: 'm1' | 'h1' | 'h8', days: number) => {
      const { seriesId } = await trackSeries(database, market(base, interval), startMs, null);
      await database.pool.query(
        'update tidemark.series set covered = tstzmultirange(tstzrange($2, $3)) where id = $1',
        [seriesId, new Date(startMs).toISOString(), new Date(startMs + days * dayMs).toISOString()],
      );
    };
    const answering = async (base: string, interval: string) => {
      const result = await database.pool.query<{ derived_from: string }>(
        'select derived_from from tidemark.derived_series where base_id = $1 and interval = $2',
        [base, interval],
      );
      return result.rows.map((row) => row.derived_from);
    };
    await cover('late', 'm1', 10);
    await cover('late', 'h1', 100);
    await cover('late', 'h8', 1000);
    expect(await answering('late', 'm30')).toEqual(['m1']);
    expect(await answering('late', 'h4')).toEqual(['h1']);
    expect(await answering('late', 'h12')).toEqual(['h1']);
    expect(await answering('late', 'd1')).toEqual(['h8']);
    await cover('even', 'm1', 99.5);
    await cover('even', 'h1', 100);
    expect(await answering('even', 'h4')).toEqual(['m1']);
    expect(await answering('even', 'h1')).toEqual([]);
  });

  it('return the newest candle of each series', async () => {
    const { database } = store;
    const { seriesId } = await trackSeries(database, market('newest', 'h1'), startMs, null);
    await put(database, seriesId, candles(startMs, hourMs, 30));
    await database.pool.query('update tidemark.series set newest = $2 where id = $1', [
      seriesId,
      new Date(startMs + 29 * hourMs).toISOString(),
    ]);
    const newest = await database.pool.query<{ time: number }>(
      `select time from latest_candles where base = 'newest' and interval = 'h1'`,
    );
    expect(newest.rows).toEqual([{ time: startMs + 29 * hourMs }]);
  });
});
