/** By what the list of series is sorted, and over what time its bands go. */

import type { SeriesLine } from '../shapes.ts';
import { element } from './element.ts';

const dayMs = 86_400_000;

export const sorts: Readonly<
  Record<string, readonly [title: string, order: (one: SeriesLine, other: SeriesLine) => number]>
> = {
  missing: [
    'most missing first',
    (one, other) => other.requestsLeft - one.requestsLeft || other.missingMs - one.missingMs,
  ],
  gaps: ['most gaps first', (one, other) => other.gaps - one.gaps],
  behind: [
    'stalest first',
    (one, other) => other.behindMs - one.behindMs || (one.newestMs ?? 0) - (other.newestMs ?? 0),
  ],
  failed: [
    'most failed first',
    (one, other) =>
      Number(other.blocked !== null) - Number(one.blocked !== null) || other.failedMs - one.failedMs,
  ],
  revised: ['most revised first', (one, other) => other.revised - one.revised],
  name: ['by name', () => 0],
};

export const axes: Readonly<Record<string, readonly [title: string, spanMs: number | null]>> = {
  own: ['each from its beginning', null],
  all: ['from the earliest to now', Number.POSITIVE_INFINITY],
  year: ['the last year', 365 * dayMs],
  month: ['the last 30 days', 30 * dayMs],
  day: ['the last 24 hours', dayMs],
};

/** A choice among them, by their titles. */
export function choice(
  id: string,
  options: Readonly<Record<string, readonly [title: string, ...rest: unknown[]]>>,
  selected: string,
): HTMLSelectElement {
  return element(
    'select',
    { id },
    ...Object.entries(options).map(([value, [title]]) =>
      element('option', { value, selected: value === selected }, title),
    ),
  );
}

/** Names as people sort them: 2 before 10. */
export const { compare } = new Intl.Collator('en', { numeric: true });
