import { describe, expect, it } from 'vitest';
import { dayMs, type EpochMs, hourMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import {
  type KnownSeries,
  notNamed,
  type SeriesChange,
  type Start,
  seriesChanges,
} from '../../planning/watch-list-changes.ts';

const series: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' };
const other: SeriesKey = { dataset: 'asset_history', assetId: 'tether', interval: 'd1' };
const nowMs = Date.UTC(2026, 0, 10, 5);
const day = (date: number) => Date.UTC(2026, 0, date);
const at = (atMs: EpochMs): Start => ({ kind: 'time', atMs });

const known = (from: EpochMs, to: EpochMs | null, more: Partial<KnownSeries> = {}): KnownSeries => ({
  ...{ seriesId: 1, series, tracked: { startMs: from, endMs: to }, isTracked: true, ages: {} },
  ...more,
});

function change(
  starts: readonly Start[],
  endMs: EpochMs | null,
  before: readonly KnownSeries[],
  more: { prune?: boolean; keptMs?: EpochMs; nowMs?: EpochMs } = {},
) {
  return seriesChanges({
    wanted: starts.length === 0 ? [] : [{ series, starts, endMs }],
    known: before,
    prune: more.prune ?? false,
    nowMs: more.nowMs ?? nowMs,
    keptSinceMs: () => more.keptMs ?? null,
  });
}

describe('the changes of a series by a watch list', () => {
  it.each<[string, EpochMs, EpochMs | null, readonly KnownSeries[], SeriesChange['kind'] | null]>([
    ['unknown', day(2), null, [], 'added'],
    ['the same', day(2), null, [known(day(2), null)], null],
    ['the same, asked for by a command alone', day(2), null, [known(day(2), null, { ages: null })], 'kept'],
    ['the same apart from rounding to whole periods', day(2) + 1000, day(4) - 1000, [known(day(2), day(4))], null],
    ['from earlier', day(1), null, [known(day(2), null)], 'widened'],
    ['into the future', day(2), null, [known(day(2), day(4))], 'widened'],
    ['from later', day(3), null, [known(day(2), null)], 'narrowed'],
    ['earlier at both ends', day(1), day(3), [known(day(2), day(4))], 'moved'],
  ])('%s', (_, from, to, before, kind) => {
    const { changes } = change([at(from)], to, before);
    expect(changes.map((one) => one.kind)).toEqual(kind === null ? [] : [kind]);
  });

  it('ignore a series that the list does not name, unless pruning', () => {
    const before = [known(day(1), null), known(day(1), null, { seriesId: 2, series: other, isTracked: false })];
    expect(change([], null, before)).toMatchObject({ changes: [], left: [{ seriesId: 1 }] });
    expect(change([], null, before, { prune: true })).toMatchObject({
      changes: [{ kind: 'stopped', seriesId: 1, after: null }],
      left: [],
    });
  });

  it('count an age back from its first application while the entry remains', () => {
    const age = (text: string): Start => ({ kind: 'age', age: text });
    const first = change([age('5d')], null, []).changes[0];
    expect(first).toMatchObject({ kind: 'added', after: { startMs: day(5) }, ages: { '5d': nowMs - 5 * dayMs } });
    const applied = known(day(5), null, { ages: first?.ages ?? null });
    const later = { nowMs: nowMs + 3 * dayMs };
    expect(change([age('5d')], null, [applied], later).changes).toEqual([]);
    expect(change([age('2d')], null, [applied], later).changes).toMatchObject([
      { kind: 'narrowed', after: { startMs: day(11) }, ages: { '2d': nowMs + dayMs } },
    ]);
    // A series that was untracked in between starts again.
    expect(change([age('5d')], null, [{ ...applied, isTracked: false }], later).changes).toMatchObject([
      { kind: 'added', after: { startMs: day(8) } },
    ]);
    // The earlier of two ages counts and both are kept. Of equal ranges only that one is kept.
    expect(change([age('5d'), age('4d')], null, [applied]).changes).toMatchObject([
      { kind: 'kept', ages: { '5d': nowMs - 5 * dayMs, '4d': nowMs - 4 * dayMs } },
    ]);
  });

  it('remember the ages of a series that the list does not name any more, for when it does again', () => {
    const age: Start = { kind: 'age', age: '5d' };
    const before = known(day(5), null, { ages: { '5d': nowMs - 5 * dayMs } });
    const [left] = notNamed([before, known(day(5), null, { ages: null })]);
    expect(left).toMatchObject({ kind: 'kept', seriesId: 1, after: before.tracked });
    const after = { ...before, ages: left?.ages ?? null };
    expect(notNamed([after])).toEqual([]);
    expect(change([age], null, [after], { nowMs: nowMs + 3 * dayMs }).changes).toEqual([
      { kind: 'kept', series, seriesId: 1, before: before.tracked, after: before.tracked, ages: before.ages },
    ]);
  });

  it('end where a future is delivered, and leave out what begins after that', () => {
    const future = { dataset: 'candles', exchange: 'x', baseId: 'a', quoteId: 'b:b-260105', interval: 'h1' } as const;
    const wanted = (from: EpochMs) => [{ series: future, starts: [at(from)], endMs: null }];
    const changed = (from: EpochMs) =>
      seriesChanges({ wanted: wanted(from), known: [], prune: false, nowMs, keptSinceMs: () => null });
    expect(changed(day(2)).changes).toMatchObject([{ after: { startMs: day(2), endMs: day(5) + 8 * hourMs } }]);
    expect(changed(day(6))).toMatchObject({ changes: [], notKept: [future] });
  });

  it('request nothing from before the retention limit', () => {
    const keptMs = day(4) + 1000; // the period that contains the cut has lost its point
    expect(change([at(day(1))], null, [], { keptMs }).changes).toMatchObject([{ after: { startMs: day(5) } }]);
    expect(change([at(day(1))], null, [known(day(5), null)], { keptMs }).changes).toEqual([]);
    // Retention will narrow it anyway.
    expect(change([at(day(1))], null, [known(day(3), null)], { keptMs }).changes).toEqual([]);
    expect(change([at(day(1))], null, [known(day(7), null)], { keptMs }).changes).toMatchObject([
      { kind: 'widened', after: { startMs: day(5) } },
    ]);
    // The cut is reported only when it is news: not for a series that is already tracked from there.
    expect(change([at(day(1))], null, [], { keptMs }).cut).toEqual([series]);
    expect(change([at(day(9))], null, [], { keptMs }).cut).toEqual([]);
    expect(change([at(day(1))], null, [known(keptMs, null)], { keptMs })).toMatchObject({ changes: [], cut: [] });
    expect(change([at(day(1))], day(4), [], { keptMs })).toMatchObject({ changes: [], notKept: [series] });
  });
});
