import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import type { SeriesKey } from '../../../model/series.ts';
import type { Portion } from '../../../planning/progress.ts';
import { type BackfillPace, backfillView } from '../../../scripts/output/backfill-progress.ts';
import { grouped } from '../../../scripts/output/series-groups.ts';
import type { Space } from '../../../scripts/output/terminal.ts';

const space = (columns: number, rows: number): Space => ({ columns, rows, paint: (_, text) => text });

function portions(exchanges: number, markets: number, of: (index: number) => Partial<Portion> = () => ({})): Portion[] {
  return Array.from({ length: exchanges * markets }, (_, index) => {
    const series: SeriesKey = {
      dataset: 'candles',
      exchange: `exchange-${Math.floor(index / markets)}`,
      baseId: `a-rather-long-name-of-a-coin-${index}`,
      quoteId: 'tether',
      interval: 'h1',
    };
    return { series, wantedMs: 1000, doneMs: 250, left: 3, requests: 4000, ...of(index) };
  });
}

const backfill: BackfillPace = {
  series: portions(2, 2),
  points: 1_000_000,
  lastMinute: 498,
  perMinute: 500,
  failures: { server_error: 3, timeout: 12 },
  pausedMs: 0,
  awaited: 0,
  left: 12_345,
  etaMs: 3_723_000,
  pointsPerSecond: 41_234.4,
};

describe.each([
  ['a backfill', (room: Space) => backfillView(backfill).lines(room)],
  ['a backfill of many', (room: Space) => backfillView({ ...backfill, series: portions(50, 8) }).lines(room)],
])('%s', (_, draw) => {
  it.each([40, 60, 200])('has no bar line that %i columns would fold', (columns) => {
    for (const rows of [4, 24]) {
      const lines = draw(space(columns, rows));
      expect(lines.length).toBeLessThanOrEqual(Math.max(rows - 1, 4));
      // The frame cuts texts; bars must fit by themselves.
      for (const line of lines) {
        if (/[█░]/.test(line)) expect(stringWidth(line)).toBeLessThan(columns);
      }
      expect(lines.join('')).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe('series in groups', () => {
  const names = (list: readonly Portion[], room: number) => grouped(list, room).map(({ name }) => name);

  it('have a bar each when there are few', () => {
    expect(names(portions(1, 3), 20)).toHaveLength(3);
    expect(names(portions(1, 3), 3)[0]).toBe('exchange-0 a-rather-long-name-of-a-coin-0/tether h1');
    expect(names(portions(1, 13), 40)).toEqual(['exchange-0 h1 (13)']);
    expect(names(portions(2, 3), 5)).toEqual(['exchange-0 h1 (3)', 'exchange-1 h1 (3)']);
  });

  it('are merged when there is no room, incomplete ones first', () => {
    const list = portions(40, 2, (index) => (index < 60 ? { doneMs: 1000, left: 0 } : {}));
    const groups = grouped(list, 4);
    expect(groups.map(({ name }) => name)).toEqual([
      'exchange-30 h1 (2)',
      'exchange-31 h1 (2)',
      'exchange-32 h1 (2)',
      'and 37 more',
    ]);
    expect(groups.reduce((sum, { series }) => sum + series, 0)).toBe(80);
    expect(groups.at(-1)).toMatchObject({ wantedMs: 74_000, doneMs: 60_000 + 14 * 250, left: 14 * 3 });
    expect(names(list, 1)).toEqual(['80 series']);
  });
});

it('a backfill shows remaining requests, pace and failures', () => {
  const lines = backfillView(backfill).lines(space(80, 24));
  expect(lines.slice(-3)).toEqual([
    '12,345 of 16,000 requests to go, about 1 h, 25.00 % covered',
    '498 of 500 requests in the last minute',
    'failed: 12 timeout, 3 server error',
  ]);
  expect(lines[0]).toMatch(/^exchange-0 .*-0\/tether h1 █+░+ {2,}25\.00 % 3 to go$/);
  expect(backfillView(backfill).line).toBe(
    'backfill: 12,345 of 16,000 requests to go, about 1 h, 25.00 % covered, 498 of 500 requests in the last minute, 41,234 points a second, failed: 12 timeout, 3 server error',
  );
  const whole = backfill.series.map((portion) => ({ ...portion, doneMs: portion.wantedMs, left: 0 }));
  expect(backfillView({ ...backfill, series: whole, left: 0 }).line).toBe(
    'backfill: nothing left, retried: 12 timeout, 3 server error',
  );
  const held = backfillView({ ...{ ...backfill, pausedMs: 30_000, etaMs: null, pointsPerSecond: null, failures: {} } });
  expect(held.line).toBe(
    'backfill: 12,345 of 16,000 requests to go, waiting 30 s for the source, 25.00 % covered, 498 of 500 requests in the last minute',
  );
});
