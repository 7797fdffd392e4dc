import { expect, it } from 'vitest';
import { dayMs } from '../../../model/intervals.ts';
import { seriesOverview } from '../../../scripts/output/status-tables.ts';
import type { SeriesStatus } from '../../../store/status/status.ts';

const startMs = Date.parse('2024-01-01Z');
const nowMs = startMs + 10 * dayMs;

function status(seriesId: number, exchange: string, missingDays: number): SeriesStatus {
  return {
    seriesId,
    series: {
      dataset: 'candles',
      exchange,
      baseId: `coin-${seriesId}`,
      quoteId: 'tether',
      interval: seriesId % 2 === 0 ? 'h1' : 'd1',
    },
    tracked: { startMs, endMs: null },
    wantedMs: 10 * dayMs,
    coveredMs: (10 - missingDays) * dayMs,
    confirmedEmptyMs: 0,
    beforeBeginningMs: 0,
    quarantined: missingDays > 5 ? 3 : 0,
    missingMs: missingDays * dayMs,
    gaps: missingDays === 0 ? 0 : 1,
    awaitingMs: 0,
    failedMs: 0,
    beyondDepthMs: 0,
    points: 100,
    earliestMs: startMs,
    newestMs: nowMs - missingDays * dayMs,
    ...{ periodMs: dayMs, behindMs: missingDays * dayMs, silentSinceMs: null, readMs: nowMs - 10_000 },
    revised: 0,
    rereadAtMs: null,
    askedFromMs: startMs,
    askedToMs: nowMs,
    blocked: null,
  };
}

it('groups many series by exchange and interval, folds complete groups, and shows the total', () => {
  const many = ['binance', 'kraken', 'okx'].flatMap((exchange, index) =>
    Array.from({ length: 20 }, (_, place) =>
      status(20 * index + place, exchange, exchange === 'okx' && place < 2 ? 4 + 2 * place : 0),
    ),
  );
  const [first] = many;
  if (first !== undefined) many[0] = { ...first, silentSinceMs: nowMs - dayMs };
  expect(seriesOverview(many, nowMs).split('\n')).toEqual([
    'series             count  incomplete  covered  missing in all  gaps  points  oldest newest  note',
    'okx h1                10           1  96.00 %             4 d     1   1,000  2024-01-07     1 behind',
    'okx d1                10           1  94.00 %             6 d     1   1,000  2024-01-05     1 behind, 1 note: 3 rows in quarantine',
    '4 complete groups     40           0    100 %               -     0   4,000  2024-01-11     1 silent',
    'total                 60           2  98.33 %            10 d     2   6,000  2024-01-05     2 behind, 1 silent, 1 note: 3 rows in quarantine',
    '',
    '`tidemark status --all` shows each series',
  ]);
});
