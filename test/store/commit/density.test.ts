/**
 * Commits to a dataset with a point in every period, and to one of events: candles whose descriptor says so meanwhile.
 */

import { afterEach, expect, it } from 'vitest';
import { datasets } from '../../../model/datasets/index.ts';
import { decimalText } from '../../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs } from '../../../model/intervals.ts';
import { linesOf } from '../../../model/point-lines.ts';
import type { CandleSeries } from '../../../model/series.ts';
import { withWitnesses } from '../../../model/window.ts';
import { listGaps } from '../../../store/series/gaps.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { answerOf, commitWindow } from '../committing.ts';
import { useStore } from '../open-store.ts';

const store = useStore();
const { time } = datasets.candles;
afterEach(() => void Object.assign(datasets.candles, { time }));

const startMs = Date.UTC(2024, 0, 1);
const hour = (index: number) => startMs + index * hourMs;
const series: CandleSeries = { dataset: 'candles', exchange: 'x', baseId: 'events', quoteId: 'q', interval: 'h1' };

/**
 * Commits the answer to the hours, of which some have a point.
 *
 * @param link of each point: hours since the one before.
 */
async function commit(
  seriesId: number,
  [from, to]: [number, number],
  hours: readonly number[],
  link: number,
  nowMs: EpochMs,
) {
  const points = hours.map((index) => ({
    timeMs: hour(index),
    values: ['1', '1', '1', '1', String(link)].map(decimalText),
  }));
  const window = withWitnesses(fillOf({ seriesId, series, startMs: hour(from), endMs: hour(to) }), 30 * dayMs);
  const answer = { ...answerOf([], nowMs), rows: linesOf('candles', points) };
  return commitWindow(store.database, { window, attempt: 1, answer, nowMs, rules: rulesOf(hourMs, 0) });
}

async function gapsAt(seriesId: number, nowMs: EpochMs) {
  const gaps = await listGaps(store.database, { nowMs, graceMs: 0, seriesIds: [seriesId] });
  return gaps.map((gap) => `${(gap.startMs - startMs) / hourMs}-${(gap.endMs - startMs) / hourMs} ${gap.cause}`);
}

it('defers each period without a point between two points, and keeps a silent end as a gap', async () => {
  Object.assign(datasets.candles, { time: { density: 'every' } });
  const { seriesId } = await trackSeries(store.database, series, startMs, hour(8));
  const result = await commit(seriesId, [0, 8], [-1, 0, 1, 3, 4, 6], 0, hour(100));
  expect(result.verdict).toBe('cut_short');
  expect(await gapsAt(seriesId, hour(100))).toEqual(['2-3 lacks', '5-6 lacks', '7-8 not_asked']);
});

it('awaits no event before the next one is due, and defers what two events do not join', async () => {
  Object.assign(datasets.candles, {
    time: { density: 'linked', link: { column: 'volume', unitMs: hourMs }, reachMs: dayMs },
  });
  const events = { ...series, baseId: 'funding' } as const;
  const { seriesId } = await trackSeries(store.database, events, startMs, null);
  await commit(seriesId, [0, 21], [-8, 0, 8, 16], 8, hour(21));
  const read = async () =>
    (await store.database.pool.query('select due_at from tidemark.series where id = $1', [seriesId])).rows[0];
  expect(await read()).toEqual({ due_at: hour(24) });
  // The next event is due at hour 24: nothing is missing before, and its period when it has closed.
  expect(await gapsAt(seriesId, hour(23))).toEqual([]);
  expect(await gapsAt(seriesId, hour(26))).toEqual(['21-26 not_asked']);
  // The event of hour 32 is missing.
  await commit(seriesId, [21, 42], [16, 24, 40], 8, hour(42));
  expect(await gapsAt(seriesId, hour(42))).toEqual(['25-40 lacks']);
  expect(await read()).toEqual({ due_at: hour(48) });
});
