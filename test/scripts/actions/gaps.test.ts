import { expect, it } from 'vitest';
import { dayMs } from '../../../contract/intervals.ts';
import { explainGap } from '../../../operations/backfill/outcome.ts';
import { gapsText } from '../../../scripts/actions/gaps.ts';
import type { Gap } from '../../../store/series/gaps.ts';

const startMs = Date.UTC(2026, 0, 1);
const gap: Gap = {
  seriesId: 7,
  series: { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'm1' },
  startMs,
  endMs: startMs + 3 * dayMs,
  reason: 'failed',
  message: 'GET /candles: status 502: the gateway could not reach any of the servers behind it',
  source: null,
  retryAtMs: null,
  sinceMs: null,
};

const explainAt = (isSourceDown: boolean) => (one: Gap) => explainGap(one, { nowMs: startMs, isSourceDown });

it('gaps are a table where it fits, and else a paragraph each with the whole reason', () => {
  for (const width of [null, 400])
    expect(gapsText([gap], explainAt(false), width)).toMatch(/^id +series +from +to/);
  const narrow = gapsText([gap, gap], explainAt(true), 60);
  for (const line of narrow.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  const words = narrow.replaceAll(/\s+/g, ' ');
  expect(words).toContain('binance bitcoin/tether m1 (7), 2026-01-01 to 2026-01-04, 3 d: ');
  expect(words).toContain(`${gap.message} (again once the source answers)`);
});
