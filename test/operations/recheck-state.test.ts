import { expect, it } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import type { Limit } from '../../model/sources.ts';
import type { Window } from '../../model/window.ts';
import { type RecheckedWindow, RecheckState, windowKey } from '../../operations/recheck-state.ts';
import { type CommandResult, noResult } from '../../store/commit/command-results.ts';
import { emptiedKind, unboundedKind } from '../../store/commit/verification.ts';
import { commandOf } from '../parts/windows.ts';

const series: CandleSeries = { dataset: 'candles', exchange: 'x', baseId: 'b', quoteId: 'q', interval: 'h1' };
const hours = (startHour: number, endHour: number) => ({ startMs: startHour * hourMs, endMs: endHour * hourMs });

/** Windows of ten hours of series 1, 2, ...: series 1 has the default source, the others the source `other`. */
function begin(count: number) {
  const settled: RecheckedWindow[] = [];
  const state = new RecheckState({
    windows: Array.from({ length: count }, (_, place) => ({
      seriesId: place + 1,
      series,
      ...hours(0, 10),
      byDays: false,
    })),
    requestFor: (window, part) =>
      commandOf({ ...window, ...part }, 'verify', {
        asks: { startMs: part.startMs - hourMs, endMs: part.endMs + hourMs },
      }),
    sourceOf: ({ seriesId }) => (seriesId === 1 ? 'default' : 'other'),
    onSettled: (window) => void settled.push(window),
  });
  const take = (room = 10) => state.take(room, new Map());
  const answer = ({ seriesId, startMs, endMs }: Window, result: Partial<CommandResult>) =>
    state.receive({ ...noResult, seriesId, startMs, endMs, reached: null, ...result });
  return { state, settled, take, answer };
}

it('takes as many windows as there is room for, and finds those that the queue has lost', () => {
  const { state, settled, take, answer } = begin(3);
  const [first, second] = take(2);
  if (first === undefined || second === undefined) throw new Error('two windows are taken');
  expect(state.lost(new Set([windowKey(first)]))).toEqual([second]);
  for (const window of [first, second, ...take()]) answer(window, { reached: hours(0, 10), points: 10 });
  expect(settled).toMatchObject([{ points: 10 }, { points: 10 }, { points: 10 }]);
  expect([take(), state.isEnded, state.settled]).toEqual([[], true, 3]);
  // An answer that comes twice counts once.
  answer(first, { reached: hours(0, 10), points: 10 });
  expect(state.settled).toBe(3);
});

it('requests what a truncated answer did not reach with its adjacent periods, then alone', () => {
  const { state, settled, take, answer } = begin(1);
  for (const window of take()) answer(window, { reached: hours(0, 4), points: 4, changed: 1 });
  const [rest, ...none] = take();
  expect([rest, none]).toMatchObject([{ ...hours(4, 10), asks: hours(3, 11) }, []]);
  for (const window of rest === undefined ? [] : [rest]) answer(window, { kind: unboundedKind });
  const [alone] = take();
  expect(alone).toMatchObject({ ...hours(4, 10), asks: hours(4, 10) });
  for (const window of alone === undefined ? [] : [alone]) answer(window, { reached: hours(4, 10), points: 6 });
  expect(settled).toMatchObject([{ points: 10, changed: 1, reached: [hours(0, 4), hours(4, 10)], message: null }]);
  expect(state.differing).toEqual(settled);
});

it('requests a window that answered empty although points are stored four times again', () => {
  const { state, take, answer } = begin(1);
  for (let time = 0; time < 5; time += 1)
    for (const window of take()) answer(window, { kind: emptiedKind, message: 'empty' });
  expect([take(), state.unanswered.length, state.isEnded]).toEqual([[], 1, true]);
});

it('ends the queued and the further windows of a source that refuses, and those without credits', () => {
  const { state, settled, take } = begin(4);
  expect(take(2)).toHaveLength(2);
  state.refuse('other', { kind: 'rate_limited', message: 'banned' });
  expect(take()).toEqual([]);
  expect(settled.map(({ message }) => message)).toEqual(['banned', 'banned', 'banned']);
  expect([state.isRefusing('other'), state.isRefusing('default'), state.isEnded]).toEqual([true, false, false]);

  const poor = begin(3);
  const limit: Limit = { unit: 'credit', amount: 1, periodMs: hourMs };
  const account = { used: 1, name: 'other', limit };
  expect(poor.state.take(10, new Map([['other', account]]))).toMatchObject([{ seriesId: 1 }]);
  expect(poor.settled.map(({ kind }) => kind)).toEqual(['rate_limited', 'rate_limited']);
});
