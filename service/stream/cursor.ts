/**
 * What a client of a stream has of each series. It is the id of an event, so that a client that comes back with
 * `Last-Event-ID` gets what it missed, from any process.
 */

import { createHash } from 'node:crypto';
import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';

/** The client has everything before `untilMs` but for what is missing here, ascending and disjoint. */
export interface Cursor {
  readonly untilMs: EpochMs;
  readonly missing: readonly Range[];
}

/** More are joined: what lies between two of them is sent again when one is filled. */
export const maxMissing = 32;

/** Joins the nearest ranges until there are few enough. */
export function fewRanges(ranges: readonly Range[]): Range[] {
  const left = ranges.map((range) => ({ ...range }));
  while (left.length > maxMissing) {
    let nearest = 1;
    const gapBefore = (place: number) => (left[place]?.startMs ?? 0) - (left[place - 1]?.endMs ?? 0);
    for (let place = 2; place < left.length; place += 1) if (gapBefore(place) < gapBefore(nearest)) nearest = place;
    const [joined] = left.splice(nearest, 1);
    const before = left[nearest - 1];
    if (joined !== undefined && before !== undefined) left[nearest - 1] = { ...before, endMs: joined.endMs };
  }
  return left;
}

/** Identifies a list of series: the id of another one would skip or repeat what it does not know. */
const digestOf = (names: readonly string[]) => createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 8);

/**
 * Letters, digits, `.`, `_` and `-`: what identifies the series, then of each the time, and the distances of what is
 * missing back from there.
 *
 * @param names of the series, as the client gave them.
 */
export function writeCursors(names: readonly string[], cursors: readonly Cursor[]): string {
  const text = (ms: number) => ms.toString(36);
  const parts = cursors.map(({ untilMs, missing }) =>
    [text(untilMs), ...missing.map(({ startMs, endMs }) => `${text(untilMs - startMs)}-${text(untilMs - endMs)}`)].join(
      '_',
    ),
  );
  return [digestOf(names), ...parts].join('.');
}

const number = /^[0-9a-z]{1,10}$/;

/** @returns null for a text that is no id of a stream of these series. */
export function readCursors(names: readonly string[], text: string): Cursor[] | null {
  const [digest, ...parts] = text.split('.');
  if (digest !== digestOf(names)) return null;
  const parse = (digits = '') => (number.test(digits) ? Number.parseInt(digits, 36) : Number.NaN);
  const cursors = parts.map((part) => {
    const [until, ...ranges] = part.split('_');
    const untilMs = parse(until);
    const missing = ranges.map((range) => {
      const [start, end] = range.split('-');
      return { startMs: untilMs - parse(start), endMs: untilMs - parse(end) };
    });
    return { untilMs, missing };
  });
  const isValid = ({ untilMs, missing }: Cursor) =>
    missing.length <= maxMissing &&
    missing.every(({ startMs, endMs }, place) => startMs < endMs && (missing[place - 1]?.endMs ?? 0) <= startMs) &&
    (missing.at(-1)?.endMs ?? 0) <= untilMs;
  return cursors.length === names.length && cursors.every(isValid) ? cursors : null;
}
