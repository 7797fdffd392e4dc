/** Commits to a dataset with a point in every period, and to one of events. */

import { expect, it } from 'vitest';
import type { Column } from '../../../model/dataset.ts';
import { datasets } from '../../../model/datasets/index.ts';
import { decimalText } from '../../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, intervalMs, minuteMs } from '../../../model/intervals.ts';
import { linesOf } from '../../../model/point-lines.ts';
import type { MarketSeries } from '../../../model/series.ts';
import { withWitnesses } from '../../../model/window.ts';
import { estimate } from '../../../planning/estimate.ts';
import { planWindows } from '../../../planning/plan.ts';
import { listGaps, seriesWithGaps } from '../../../store/series/gaps.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { storeMarkets } from '../../../store/series/sources.ts';
import { setSeriesSources } from '../../parts/series-sources.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { answerOf, commitWindow } from '../committing.ts';
import { useStore } from '../open-store.ts';

const store = useStore();

const startMs = Date.UTC(2024, 0, 1);
const hour = (index: number) => startMs + index * hourMs;
const market = { exchange: 'x', baseId: 'events', quoteId: 'q:q', interval: 'h1' } as const;
const interest: MarketSeries = { dataset: 'open_interest', ...market };
const funding: MarketSeries = { dataset: 'funding_rates', ...market };

/** Commits the answer to the hours, of which some have a point. @param link hours; null: the source states none. */
async function commit(
  { seriesId, series }: { readonly seriesId: number; readonly series: MarketSeries },
  [from, to]: [number, number],
  hours: readonly number[],
  link: number | null,
  nowMs: EpochMs,
) {
  const [one, second] = [decimalText('1'), link === null ? null : decimalText(String(link))];
  const values = series.dataset === 'open_interest' ? [one, null] : [one, second, null, null];
  const rows = linesOf(
    series.dataset,
    hours.map((index) => ({ timeMs: hour(index), values })),
  );
  const window = withWitnesses(fillOf({ seriesId, series, startMs: hour(from), endMs: hour(to) }), 30 * dayMs);
  const answer = { ...answerOf([], nowMs), rows };
  return commitWindow(store.database, { window, attempt: 1, answer, nowMs, rules: rulesOf(hourMs, 0) });
}

async function track(series: MarketSeries, baseId: string, endMs: EpochMs | null) {
  const key = { ...series, baseId };
  return { series: key, seriesId: (await trackSeries(store.database, key, startMs, endMs)).seriesId };
}

async function gapsAt({ seriesId }: { readonly seriesId: number }, nowMs: EpochMs) {
  const gaps = await listGaps(store.database, { nowMs, graceMs: 0, seriesIds: [seriesId] });
  return gaps.map((gap) => `${(gap.startMs - startMs) / hourMs}-${(gap.endMs - startMs) / hourMs} ${gap.cause}`);
}

it('defers each period without a point between two points, and keeps a silent end as a gap', async () => {
  const tracked = await track(interest, 'interest', hour(8));
  const result = await commit(tracked, [0, 8], [-1, 0, 1, 3, 4, 6], null, hour(100));
  expect(result.verdict).toBe('cut_short');
  expect(await gapsAt(tracked, hour(100))).toEqual(['2-3 lacks', '5-6 lacks', '7-8 not_asked']);
  const [hole] = await listGaps(store.database, { nowMs: hour(100), graceMs: 0, seriesIds: [tracked.seriesId] });
  expect(hole?.message).toMatch(/^the answer has no point of this time, /);
});

it.each([8, null])('awaits no event before the next one is due, and defers what two do not join: %s', async (link) => {
  const tracked = await track(funding, `linked ${link}`, null);
  await commit(tracked, [0, 21], [-8, 0, 8, 16], link, hour(21));
  const read = async () =>
    (await store.database.pool.query('select due_at from tidemark.series where id = $1', [tracked.seriesId])).rows[0];
  expect(await read()).toEqual({ due_at: hour(24) });
  // The next event is due at hour 24: nothing is missing before, and its period when it can no longer be late.
  expect(await gapsAt(tracked, hour(24))).toEqual([]);
  expect(await gapsAt(tracked, hour(24) + minuteMs)).toEqual(['21-25 not_asked']);
  expect(await gapsAt(tracked, hour(26))).toEqual(['21-26 not_asked']);
  await commit(tracked, [21, 25], [0, 8, 16, 24], link, hour(24) + minuteMs);
  expect([await gapsAt(tracked, hour(32)), await read()]).toEqual([[], { due_at: hour(32) }]);
  // The event of hour 32 is missing.
  await commit(tracked, [21, 42], [0, 8, 16, 24, 40], link, hour(42));
  expect(await gapsAt(tracked, hour(42))).toEqual(['25-40 lacks']);
  expect(await read()).toEqual({ due_at: hour(48) });
});

/** Stores a list of the markets of a source, with this one alone. */
const list = (symbol: string, at: number) => {
  const market = { base: 'B', quote: 'Q', listedMs: null, isTrading: true, contract: null };
  return storeMarkets(store.database, 'venue', [{ ...market, symbol }], hour(at));
};

const dense = [
  ['open_interest', interest],
  ['funding_rates', funding],
] as const;

it.each(dense)(
  '%s: takes no answer without points for proof of a pause after the first point',
  async (name, series) => {
    const tracked = await track(series, `between ${name}`, hour(400));
    const confirmed = async () =>
      (
        await store.database.pool.query<{ ranges: string }>(
          'select confirmed_empty - before_beginning as ranges from tidemark.series where id = $1',
          [tracked.seriesId],
        )
      ).rows[0]?.ranges;
    const link = name === 'funding_rates' ? 1 : null;
    const hours = (from: number, to: number) => Array.from({ length: to - from }, (_, place) => from + place);
    // Before the first point two answers may agree.
    for (const now of [500, 502]) await commit(tracked, [100, 200], [], null, hour(now));
    expect(await gapsAt(tracked, hour(503))).toEqual(['0-100 not_asked', '200-400 not_asked']);
    await commit(tracked, [200, 300], hours(200, 300), link, hour(503));
    expect(await confirmed()).not.toBe('{}');
    // Then a point comes before: the series was no pause.
    await commit(tracked, [0, 50], hours(0, 50), link, hour(504));
    expect(await confirmed()).toBe('{}');
    expect(await gapsAt(tracked, hour(504))).toEqual(['50-200 not_asked', '300-400 not_asked']);
    for (const [at, beside] of [[], [79], [170], []].entries())
      await commit(tracked, [80, 170], beside, link, hour(505 + 2 * at));
    expect(await gapsAt(tracked, hour(511))).toEqual([
      ...['50-80 not_asked', '80-170 lacks', '170-200 not_asked', '300-400 not_asked'],
    ]);
    await commit(tracked, [50, 200], hours(50, 200), link, hour(512));
    expect(await gapsAt(tracked, hour(512))).toEqual(['300-400 not_asked']);
    // After the last one neither, until the market is no longer listed.
    for (const now of [513, 515]) await commit(tracked, [340, 400], [], null, hour(now));
    expect(await gapsAt(tracked, hour(516))).toEqual(['300-340 not_asked', '340-400 lacks']);
    await setSeriesSources(store.database, tracked.seriesId, [{ source: 'venue', symbol: name, isArchive: false }]);
    await list(name, 516);
    for (const now of [517, 519]) await commit(tracked, [340, 400], [], null, hour(now));
    expect(await gapsAt(tracked, hour(520))).toEqual(['300-340 not_asked', '340-400 lacks']);
    for (const now of [520, 522]) await list('another', now);
    for (const now of [523, 525]) await commit(tracked, [340, 400], [], null, hour(now));
    expect(await gapsAt(tracked, hour(526))).toEqual(['300-340 not_asked']);
  },
);

/** A market that has no point after hour 24, and from hour 49 on none in any answer. */
it.each([
  ['open_interest', 'q:q', null, 0, ['24-59 lacks', '59-60 not_asked']],
  ['funding_rates', 'q:q', null, 0, ['24-60 lacks']],
  ['open_interest', 'q:q-240102', 32, 0, []],
  ['open_interest', 'q:q', null, 30, ['58-59 awaiting', '59-60 not_asked']],
  ['funding_rates', 'q:q', null, 30, ['59-60 awaiting']],
] as const)(
  '%s of %s, tracked to %s, gone at %i: its end is a gap, seldom requested, until it is gone',
  async (...one) => {
    const [dataset, quoteId, endHour, goneHour, left] = one;
    const values =
      dataset === 'open_interest' ? [decimalText('1'), null] : [decimalText('1'), decimalText('1'), null, null];
    const all = Array.from({ length: 24 }, (_, place) => ({ timeMs: hour(place), values }));
    const series = { ...market, dataset, quoteId };
    const symbol = `${dataset} ${quoteId} ${goneHour}`;
    const tracked = await track(series, symbol, endHour === null ? null : hour(endHour));
    const seriesIds = [tracked.seriesId];
    await setSeriesSources(store.database, tracked.seriesId, [{ source: 'venue', symbol, isArchive: false }]);
    await list(symbol, 24);
    let requests = 0;
    for (let nowMs = hour(24); nowMs < hour(60); nowMs += minuteMs) {
      const read = { ...{ nowMs, graceMs: 0, openRefreshMs: null }, rangesPerSeries: 10, seriesIds };
      const { windows } = planWindows({
        ...{ nowMs, graceMs: 0, claimed: new Map(), cursor: 0, source: 'x', longestRangeMs: () => 30 * dayMs },
        ...{ series: await seriesWithGaps(store.database, read), slots: { total: 9, refresh: 9 } },
      });
      for (const window of windows) {
        const points = all.filter(({ timeMs }) => nowMs < hour(49) && timeMs >= window.asks.startMs);
        const answer = { ...answerOf([], nowMs), rows: linesOf(dataset, points) };
        const rules = { ...rulesOf(hourMs, 0), failedRetryMs: 10 * minuteMs };
        await commitWindow(store.database, { window, attempt: 1, answer, nowMs, rules });
      }
      requests += windows.length;
      if (nowMs === hour(goneHour) || nowMs === hour(goneHour + 2))
        await list(`not ${symbol}`, (nowMs - startMs) / hourMs);
    }
    expect(await gapsAt(tracked, hour(60))).toEqual(left);
    expect(requests).toBeLessThan(50);
  },
);

it.each([true, false])('covers intervals of 8, 4 and 1 hours and back, stated or not: %s', async (isStated) => {
  const tracked = await track(funding, `changing ${isStated}`, hour(72));
  const links = [8, 8, 8, 4, 4, 4, 1, 1, 1, 1, 4, 4, 8, 8, 8, 8];
  const times = links.map((_, place) => links.slice(1, place + 1).reduce((sum, link) => sum + link, -8));
  const rows = linesOf(
    'funding_rates',
    times.map((index, place) => ({
      timeMs: hour(index),
      values: [decimalText('1'), isStated ? decimalText(String(links[place])) : null, null, null],
    })),
  );
  const window = withWitnesses(
    fillOf({ seriesId: tracked.seriesId, series: tracked.series, startMs, endMs: hour(60) }),
    30 * dayMs,
  );
  const answer = { ...answerOf([], hour(100)), rows };
  const rules = rulesOf(hourMs, 0);
  const result = await commitWindow(store.database, { window, attempt: 1, answer, nowMs: hour(100), rules });
  expect([result.verdict, await gapsAt(tracked, hour(60))]).toEqual(['filled', []]);
});

it.each([
  ['candles', 'h1', hourMs, 96],
  ['open_interest', 'm5', 5 * minuteMs, 288],
  ['open_interest', 'd1', dayMs, 1],
  ['funding_rates', 'h1', 8 * hourMs, 3],
  ['funding_rates', 'h1', 4 * hourMs, 6],
] as const)(
  'requests new %s %s, one in %i ms, as often as the estimate says',
  async (dataset, interval, everyMs, perDay) => {
    const series = { ...market, dataset, interval, baseId: `${interval} each ${everyMs}` } as MarketSeries;
    const { seriesId } = await trackSeries(store.database, series, startMs, null);
    const [graceMs, refreshMs] = [minuteMs, 15 * minuteMs];
    const values = datasets[dataset].columns.map((column: Column) => (column.isOptional ? null : decimalText('1')));
    /** One planning pass; the source has every point until then. */
    const pass = async (nowMs: EpochMs) => {
      const read = { ...{ nowMs, graceMs, openRefreshMs: refreshMs }, rangesPerSeries: 10, seriesIds: [seriesId] };
      const { windows } = planWindows({
        ...{ nowMs, graceMs, claimed: new Map(), cursor: 0, source: 'x', longestRangeMs: () => 30 * dayMs },
        ...{ series: await seriesWithGaps(store.database, read), slots: { total: 9, refresh: 9 } },
      });
      for (const window of windows) {
        const { asks } = window;
        const count = Math.floor((Math.min(nowMs, asks.endMs - 1) - startMs) / everyMs) + 1;
        const times = Array.from({ length: count }, (_, place) => startMs + place * everyMs);
        const points = times.filter((timeMs) => timeMs >= asks.startMs).map((timeMs) => ({ timeMs, values }));
        const answer = { ...answerOf([], nowMs), rows: linesOf(dataset, points) };
        await commitWindow(store.database, { window, attempt: 1, answer, nowMs, rules: rulesOf(hourMs, graceMs) });
      }
      return windows.length;
    };
    await pass(hour(48) + graceMs);
    let requests = 0;
    for (let nowMs = hour(48); nowMs < hour(72); nowMs += 5 * minuteMs) requests += await pass(nowMs + 6 * minuteMs);
    const rules = { requestsPerMinute: 500, backfillShare: 0.2, refreshMs, pollsEveryMs: [] };
    const reread = { periods: 2, rangeMs: 0, everyMs: dayMs };
    const planned = { series, missing: [], requests: 0, isFollowed: true, density: intervalMs[interval] / everyMs };
    const { freshness } = estimate([planned], { ...rules, reread, longestRangeMs: () => dayMs });
    expect([requests, (freshness.refreshPerMinute * dayMs) / minuteMs]).toEqual([perDay, expect.closeTo(perDay)]);
  },
);
