import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs, periodStart, weekMs } from '../../../contract/intervals.ts';
import { deferWindow } from '../../../store/commit/deferred-windows.ts';
import { blockSeries, trackSeries, untrackSeries } from '../../../store/series/series.ts';
import { tidemark } from '../../scripts/command.ts';
import { onEachDatabase, openTestStore, type TestStore } from '../open-store.ts';
import { market } from './candles.ts';
import { ask, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const hours = (count: number) => Array.from({ length: count }, () => '1');

interface ListedGap {
  readonly seriesId: number;
  readonly start: string;
  readonly end: string;
  readonly reason: string;
  readonly message: string | null;
  readonly retryAt: string | null;
}

onEachDatabase('completeness', (kind) => {
  let store: TestStore;
  beforeAll(async () => {
    store = await openTestStore(kind);
    const endMs = startMs + dayMs;
    const nowMs = startMs + 2 * dayMs;
    const whole = await storeLine(store.database, {
      key: market('whole', 'h1'),
      startMs,
      endMs,
      prices: hours(24),
    });
    expect(whole).toBe(1);
    const torn = await storeLine(store.database, {
      key: market('torn', 'h1'),
      startMs,
      endMs,
      prices: hours(24),
      covered: [
        [2, 10],
        [12, 18],
      ],
    });
    const failed = { startMs: startMs + 10 * hourMs, endMs: startMs + 11 * hourMs };
    const aside = { attempts: 5, nowMs, retryAtMs: nowMs + hourMs };
    await deferWindow(store.database.pool, {
      ...aside,
      seriesId: torn,
      window: failed,
      kind: 'x',
      message: '503',
    });
    await store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, kind, message, first_at, retry_at)
         values ($1, '[2024-01-01 18:00Z,2024-01-01 20:00Z)', 'empty', 'empty', 'no points', '2024-01-02Z', '2024-01-02 01:00Z')`,
      [torn],
    );
    const blocked = await storeLine(store.database, {
      key: { dataset: 'asset_history', assetId: 'coin', interval: 'h1' },
      startMs,
      endMs,
      prices: hours(6),
    });
    await blockSeries(store.database, {
      seriesId: blocked,
      kind: 'x',
      message: 'no',
      untilMs: Date.now() + dayMs,
    });
    // Open-ended, by weeks, so that the present place within its period does not matter.
    await storeLine(store.database, {
      key: market('weeks', 'w1'),
      startMs: periodStart(Date.now(), 'w1') - 3 * weekMs,
      endMs: null,
      prices: ['1', '2'],
    });
    const { seriesId: gone } = await trackSeries(store.database, market('gone', 'h1'), startMs, endMs);
    await untrackSeries(store.database, gone, endMs);
    await trackSeries(store.database, market('future', 'w1'), Date.now() + 2 * weekMs, null);
  });
  afterAll(() => store.close());

  it('lists the same gaps as the command', async () => {
    const ended = await tidemark(['gaps', '--json'], { DATABASE_URL: store.url });
    const listed = (JSON.parse(ended.stdout) as { gaps: ListedGap[] }).gaps;
    const { rows } = await ask(
      store.url,
      `select series_id, to_char(from_time, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), to_char(to_time, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                reason, message, to_char(retry_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from gaps order by series_id, from_time`,
      'UTC',
    );
    expect(new Set(listed.map((gap) => gap.reason))).toEqual(
      new Set(['not_asked', 'failed', 'awaits_second_answer', 'blocked']),
    );
    expect(rows).toEqual(
      listed.map(({ seriesId, start, end, reason, message, retryAt }) =>
        [seriesId, start, end, reason, message ?? '-', retryAt ?? '-'].join(' | '),
      ),
    );
  });

  it('lists each series with its covered share and its missing ranges', async () => {
    const { rows } = await ask(
      store.url,
      `select dataset, exchange, base, quote, asset, interval, share, gaps, untracked_at is not null,
                (select sum(upper(r) - lower(r)) from unnest(missing) r) from coverage order by series_id`,
    );
    expect(rows).toEqual([
      'candles | x | whole | tether | - | h1 | 1 | 0 | f | -',
      'candles | x | torn | tether | - | h1 | 0.583333 | 3 | f | 10:00:00',
      'asset_history | - | - | - | coin | h1 | 0.25 | 1 | f | 18:00:00',
      'candles | x | weeks | tether | - | w1 | 0.666666 | 1 | f | 7 days',
      'candles | x | gone | tether | - | h1 | 0 | 1 | t | 1 day',
      'candles | x | future | tether | - | w1 | - | 0 | f | -',
    ]);
  });
});
