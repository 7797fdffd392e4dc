import { beforeAll, expect, it } from 'vitest';
import { minuteMs } from '../../model/intervals.ts';
import { longestRangeMs } from '../../model/request-range.ts';
import { planWindows } from '../../planning/plan.ts';
import { type FirstSeries, seriesWithGaps } from '../../store/series/gaps.ts';
import { onEachDatabase, useStore } from '../store/open-store.ts';

const nowMs = Date.UTC(2024, 5, 1, 12, 0, 30);
const series = 600;
const slots = { total: 40, refresh: 25 };

/**
 * Of each six series one is complete, one has missed some minutes, one hours, one has an earlier gap too, one never had
 * a point, and one has ended, with a gap. No two have the same newest point.
 */
const fill = `
  insert into tidemark.series
    (dataset, exchange_id, base_id, quote_id, interval, period, tracked, covered, points, earliest, newest, refreshed_at)
  select 'candles', 'x', 'coin-' || n, 'tether', 'm1', '1 minute',
         tstzrange(start, case kind when 5 then start + interval '90 days' end),
         case kind when 3 then tstzmultirange(tstzrange(start, start + interval '10 days'), tstzrange(start + interval '11 days', newest))
                   when 4 then '{}'
                   when 5 then tstzmultirange(tstzrange(start, start + interval '80 days'))
                   else tstzmultirange(tstzrange(start, newest)) end,
         case kind when 4 then 0 else 1000 end,
         case kind when 4 then null else start end, case kind when 4 then null else newest end, $1
  from (select n, n % 6 as kind, date_trunc('day', $1::timestamptz) - interval '100 days' as start,
               date_trunc('minute', $1::timestamptz) - case n % 6 when 0 then interval '0' when 2 then n * interval '13 minutes'
                                                                  else (n + 2) / 3 * interval '1 minute' end as newest
        from generate_series(1, ${series}) n) s`;

onEachDatabase('the first series of many', (kind) => {
  const store = useStore(kind);
  beforeAll(async () => {
    await store.database.pool.query(fill, [new Date(nowMs)]);
  });

  async function windowsOf(cursor: number, first?: FirstSeries) {
    const query = { nowMs, graceMs: 0, openRefreshMs: minuteMs / 2, rangesPerSeries: 1 };
    const read = await seriesWithGaps(store.database, { ...query, first });
    const claimed = new Map();
    const spanOf = () => longestRangeMs.m1;
    const { windows } = planWindows({
      source: 'x',
      series: read,
      claimed,
      nowMs,
      graceMs: 0,
      longestRangeMs: spanOf,
      slots,
      cursor,
    });
    return { read: read.length, windows };
  }

  it.each([0, 300, 10_000])('give the windows that all would give, after series %i', async (cursor) => {
    const all = await windowsOf(cursor);
    const few = await windowsOf(cursor, { count: slots.total, cursor });
    expect(all.read).toBeGreaterThan(series / 2);
    expect(few.read).toBeLessThanOrEqual(2 * slots.total);
    expect(few.windows.filter(({ lane }) => lane === 'refresh')).toHaveLength(slots.refresh);
    const sorted = ({ windows }: typeof all) =>
      windows.map(({ lane, seriesId, startMs }) => [lane, lane === 'refresh' ? startMs : [seriesId, startMs]]);
    expect(sorted(few)).toEqual(sorted(all));
  });
});
