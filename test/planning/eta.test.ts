import { describe, expect, it } from 'vitest';
import { dayMs, minuteMs, periodStart } from '../../model/intervals.ts';
import { type Range, subtract } from '../../model/ranges.ts';
import { defaultSource } from '../../model/sources.ts';
import type { Window } from '../../model/window.ts';
import { freeSlots, limiterFor } from '../../planning/budget.ts';
import { answersMs, type RecentAnswers, recentMs, requestsEtaMs, requestsUntil } from '../../planning/eta.ts';
import { countWindows, planWindows, type SeriesGaps } from '../../planning/plan.ts';
import { bitcoinHours } from '../queue/queue-parts.ts';

const startMs = Date.UTC(2026, 0, 31, 6);
const tickMs = 250;

interface Course {
  /** The budget; 0: none. */
  readonly perMinute: number;
  readonly series: number;
  /** Of each. */
  readonly days: number;
  readonly latencyMs?: number;
  readonly concurrency?: number;
  /** Nothing is answered: an outage, a ban, a pause, or no worker. */
  readonly held?: ReadonlyArray<{ readonly fromMs: number; readonly toMs: number; readonly fails?: boolean }>;
  /** Each n-th request fails, and is repeated. */
  readonly everyFails?: number;
  /** Requests at the beginning that the budget does not hold back. */
  readonly burst?: number;
  /** Series that are followed meanwhile. */
  readonly followed?: number;
  /** From this time on an answer holds at most this part of a window. */
  readonly shrinksTo?: { readonly atMs: number; readonly part: number };
}

interface Told {
  readonly atMs: number;
  readonly done: number;
  readonly etaMs: number | null;
}

/** A backfill by the real planner, limiter and estimate, with a simulated clock and source. */
function simulate(course: Course): { readonly told: readonly Told[]; readonly endMs: number; readonly all: number } {
  const { perMinute, latencyMs = 400, concurrency = 8, held = [], everyFails = 0, followed = 0 } = course;
  const limiter = limiterFor(perMinute);
  const m1 = { ...bitcoinHours, interval: 'm1' } as const;
  const closed = (nowMs: number) => periodStart(nowMs, 'm1');
  let longestMs = dayMs;
  const longestRangeMs = () => longestMs;
  const old: SeriesGaps[] = Array.from({ length: course.series }, (_, place) => ({
    ...{ seriesId: place + 1, series: m1, trackedFromMs: 0, newestMs: null, reachesNow: false, refreshDue: false },
    closedUpToMs: startMs,
    gaps: [{ startMs: startMs - course.days * dayMs, endMs: startMs }],
  }));
  const coveredTo = new Map(Array.from({ length: followed }, (_, place) => [1000 + place, startMs - minuteMs]));
  const gaps = new Map(old.map(({ seriesId, gaps: of }) => [seriesId, [...of] as Range[]]));
  const entries = (nowMs: number): SeriesGaps[] => [
    ...old.map((one) => ({ ...one, gaps: gaps.get(one.seriesId) ?? [] })),
    ...[...coveredTo].map(([seriesId, toMs]) => ({
      ...{ seriesId, series: m1, trackedFromMs: 0, newestMs: toMs, reachesNow: true, refreshDue: false },
      closedUpToMs: closed(nowMs),
      gaps: toMs < closed(nowMs) ? [{ startMs: toMs, endMs: closed(nowMs) }] : [],
    })),
  ];
  const rules = (nowMs: number) => ({ nowMs, graceMs: 0, longestRangeMs, rereadPeriods: 0 });
  const leftAt = (nowMs: number) => entries(nowMs).reduce((sum, one) => sum + countWindows(one, rules(nowMs)), 0);
  const queued: Window[] = [];
  const active: Array<{ readonly window: Window; readonly endMs: number; readonly isLost: boolean }> = [];
  const refreshed: number[] = [];
  const ledger = new Map<number, { answers: number; refreshes: number }>();
  const told: Told[] = [];
  const all = leftAt(startMs);
  let [done, sent, cursor, openMs, burst] = [0, 0, 0, startMs, course.burst ?? 0];
  let nowMs = startMs;
  for (; [...gaps.values()].some((of) => of.length > 0); nowMs += tickMs) {
    if (nowMs - startMs > dayMs) throw new Error('the backfill does not end');
    const hold = held.find(({ fromMs, toMs }) => nowMs - startMs >= fromMs && nowMs - startMs < toMs);
    if (course.shrinksTo !== undefined && nowMs - startMs >= course.shrinksTo.atMs)
      longestMs = dayMs * course.shrinksTo.part;
    for (const one of active.filter(({ endMs }) => endMs <= nowMs)) {
      active.splice(active.indexOf(one), 1);
      const { window, isLost } = one;
      if (isLost) {
        queued.unshift(window);
        continue;
      }
      const part = periodStart(
        Math.max(window.startMs + minuteMs, Math.min(window.endMs, window.startMs + longestMs)),
        'm1',
      );
      if (coveredTo.has(window.seriesId)) coveredTo.set(window.seriesId, window.endMs);
      else {
        const answered = { startMs: window.startMs, endMs: part };
        gaps.set(window.seriesId, subtract(gaps.get(window.seriesId) ?? [], [answered]));
      }
      const end = Math.floor(nowMs / answersMs) * answersMs + answersMs;
      const bin = ledger.get(end) ?? { answers: 0, refreshes: 0 };
      const isRefresh = window.lane === 'refresh';
      ledger.set(end, { answers: bin.answers + 1, refreshes: bin.refreshes + (isRefresh ? 1 : 0) });
      if (!isRefresh) done += 1;
    }
    if ((nowMs - startMs) % 1000 === 0) {
      const claimed = new Map<number, Window[]>();
      for (const window of [...queued, ...active.map((one) => one.window)])
        claimed.set(window.seriesId, [...(claimed.get(window.seriesId) ?? []), window]);
      const waiting = { refresh: queued.filter(({ lane }) => lane === 'refresh').length, backfill: queued.length };
      const slots = freeSlots({
        ...{ requestsPerMinute: perMinute, backfillShare: 0.2 },
        queued: { ...waiting, backfill: waiting.backfill - waiting.refresh },
        refreshesStarted: refreshed.filter((atMs) => atMs > nowMs - minuteMs).length,
      });
      const plan = planWindows({
        ...rules(nowMs),
        source: defaultSource,
        series: entries(nowMs),
        claimed,
        slots,
        cursor,
      });
      cursor = plan.cursor;
      queued.push(...plan.windows);
    }
    queued.sort((one, other) => Number(other.lane === 'refresh') - Number(one.lane === 'refresh'));
    while (active.length < concurrency && queued.length > 0 && (hold === undefined || hold.fails === true)) {
      if (limiter !== null && openMs > nowMs && burst === 0) break;
      if (hold?.fails === true && active.length > 0) break;
      if (burst > 0) burst -= 1;
      else if (limiter !== null)
        openMs = Math.max(openMs, nowMs - limiter.durationMs) + limiter.durationMs / limiter.max;
      const window = queued.shift() as Window;
      sent += 1;
      if (window.lane === 'refresh') refreshed.push(nowMs);
      const isLost = hold !== undefined || (everyFails > 0 && sent % everyFails === 0);
      active.push({ window, endMs: nowMs + (hold === undefined ? latencyMs : 10_000), isLost });
    }
    if ((nowMs - startMs) % answersMs === 1000 && hold === undefined) {
      const recent = [...ledger]
        .filter(([endMs]) => endMs > nowMs - recentMs)
        .map(([endMs, of]): RecentAnswers => ({ source: defaultSource, endMs, ...of }));
      const work = [{ source: defaultSource, asked: leftAt(nowMs), perMinute }];
      told.push({ atMs: nowMs, done, etaMs: requestsEtaMs(work, recent, { readAtMs: nowMs, arriving: followed }) });
    }
  }
  return { told, endMs: nowMs, all };
}

const minutes = (from: number, to: number) => ({ fromMs: from * minuteMs, toMs: to * minuteMs });

const courses: ReadonlyArray<readonly [string, Course]> = [
  ['a budget of 500', { perMinute: 500, series: 10, days: 900 }],
  ['a budget of 30', { perMinute: 30, series: 3, days: 300 }],
  ['slow answers without a limit', { perMinute: 0, series: 5, days: 1000, latencyMs: 1500 }],
  ['an outage in the middle', { perMinute: 300, series: 8, days: 750, held: [{ ...minutes(8, 15), fails: true }] }],
  ['an outage at the beginning', { perMinute: 300, series: 8, days: 750, held: [{ ...minutes(1, 4), fails: true }] }],
  ['a pause, then no worker', { perMinute: 200, series: 4, days: 750, held: [minutes(1, 2.5), minutes(5, 9)] }],
  ['each fifth request failing', { perMinute: 250, series: 5, days: 600, everyFails: 5 }],
  ['a burst of budget at first', { perMinute: 120, series: 4, days: 400, burst: 150 }],
  ['refreshes beside', { perMinute: 300, series: 6, days: 500, followed: 120 }],
  ['shrinking answers', { perMinute: 400, series: 5, days: 800, shrinksTo: { atMs: 45_000, part: 0.5 } }],
];

/** How far an estimate was from what happened. Nobody knows what will hold requests later. */
function errorOf({ atMs, etaMs }: Told, endMs: number, { held = [] }: Course): number {
  const later = held
    .filter(({ fromMs }) => startMs + fromMs > atMs)
    .reduce((sum, one) => sum + one.toMs - one.fromMs, 0);
  const tookMs = endMs - atMs - later;
  return Math.abs((etaMs ?? 0) - tookMs) / tookMs;
}

const median = (values: readonly number[]) => values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

describe('the ETA of ten simulated backfills', () => {
  const runs = courses.map(([title, course]) => ({ title, course, ...simulate(course) }));

  it('is right within 15 % after a tenth of the work, in the median', () => {
    const errors = runs.map(({ title, course, told, endMs, all }) => {
      const first = told.find(({ done, etaMs }) => done >= all / 10 && etaMs !== null);
      expect(first, title).toBeDefined();
      return errorOf(first as Told, endMs, course);
    });
    expect(median(errors)).toBeLessThan(0.15);
  });

  it.each(runs)(
    'is right within 15 % at most times, and not far off at others: $title',
    ({ course, told, endMs, all }) => {
      const known = told.filter(
        ({ done, etaMs, atMs }) => done >= all / 10 && etaMs !== null && endMs - atMs > 2 * minuteMs,
      );
      const errors = known.map((one) => errorOf(one, endMs, course));
      expect(known.length).toBeGreaterThan(20);
      expect(median(errors)).toBeLessThan(0.15);
      expect(Math.max(...errors)).toBeLessThan(0.5);
    },
  );

  it.each([
    ['later', 5, 13],
    ['from the start', 0, 8],
  ] as const)(
    'is right two minutes after a source begins to refuse most of each minute (%s), and one after it does not',
    (_, from, to) => {
      const held = Array.from({ length: to - from }, (_, place) => minutes(from + place + 0.2, from + place + 1));
      const course = { perMinute: 300, series: 8, days: 750, held };
      const { told, endMs } = simulate(course);
      const during = told.filter(
        ({ atMs }) => atMs > startMs + (from + 2) * minuteMs && atMs < startMs + to * minuteMs,
      );
      const lefts = during.map(({ done, etaMs }) => ({
        minutes: (etaMs ?? 0) / minuteMs,
        fair: (8 * 750 - done) / 60,
      }));
      expect(lefts.length).toBeGreaterThan(8);
      for (const { minutes, fair } of lefts) expect(Math.abs(minutes - fair) / fair).toBeLessThan(0.2);
      const after = told.filter(({ atMs }) => atMs > startMs + (to + 1) * minuteMs && endMs - atMs > 2 * minuteMs);
      expect(after.length).toBeGreaterThan(20);
      for (const one of after) expect(errorOf(one, endMs, course)).toBeLessThan(0.2);
    },
  );

  it('is not known before half a minute of answers', () => {
    for (const { told } of runs)
      expect(told.filter(({ atMs, etaMs }) => atMs - startMs < 30_000 && etaMs !== null)).toEqual([]);
  });
});

describe('the ETA of a backfill whose source gave little before, and was away soon after its beginning', () => {
  const perSecond = 572 / 60;
  const answers = (fromS: number, toS: number, each: number) =>
    Array.from({ length: Math.floor((toS - fromS) * each) }, (_, place) => (fromS + place / each) * 1000);
  const quiet = (everyS: number, amount: number, count: number) =>
    Array.from({ length: count }, (_, place) => -(place + 1) * everyS * 1000 + 2000).flatMap((atMs) =>
      Array.from({ length: amount }, (_, more) => atMs + more * 100),
    );

  it.each([
    ['nothing', []],
    ['an answer each minute', quiet(60, 1, 10)],
    ['ten answers each minute', quiet(60, 10, 10)],
    ['four answers in its last minutes', quiet(40, 1, 4)],
  ] as const)('is right within 15 % after $0', (_, before) => {
    const made = [...before, ...answers(0, 20, perSecond), ...answers(53, 260, perSecond)];
    for (let second = 70; second < 260; second += 10) {
      const nowMs = startMs + second * 1000;
      const ledger = new Map<number, number>();
      for (const atMs of made.map((ms) => startMs + ms).filter((ms) => ms <= nowMs && ms > nowMs - recentMs)) {
        const endMs = Math.floor(atMs / answersMs) * answersMs + answersMs;
        ledger.set(endMs, (ledger.get(endMs) ?? 0) + 1);
      }
      const recent = [...ledger]
        .toSorted(([one], [other]) => one - other)
        .map(([endMs, count]) => ({ source: defaultSource, endMs, answers: count, refreshes: 0 }));
      const work = [{ source: defaultSource, asked: 5720, perMinute: 600 }];
      const etaMs = requestsEtaMs(work, recent, { readAtMs: nowMs, arriving: 0 });
      expect(Math.abs((etaMs ?? 0) / minuteMs - 10), `${second} s`).toBeLessThan(1.5);
    }
  });
});

describe('the requests until some windows are fetched', () => {
  const turns = (left: number, queued = 0) => ({ left, queued });

  it.each([
    ['their own when nobody else asks', [turns(30)], [], 30],
    ['as many of each other series, which take turns', [turns(10)], [turns(500), turns(4)], 10 + 10 + 4],
    ['what others have queued before the first turn', [turns(10)], [turns(500, 60)], 10 + 60 + 10],
    ['no turn more when all of them are queued', [turns(10, 10)], [turns(500, 60)], 10 + 60],
    ['until the longest of several series', [turns(3), turns(20, 5)], [turns(500)], 23 + 15],
    ['not what others have queued for covered periods', [turns(10)], [turns(2, 7)], 12],
    ['all of them for all series', [turns(10), turns(500)], [], 510],
  ] as const)('are %s', (_, own, others, requests) => {
    expect(requestsUntil(own, others)).toBe(requests);
  });
});
