/** Rows of the series list, its sort orders and time axes. A row is updated in place, so that the focus stays. */

import { dayMs } from '../../../contract/intervals.ts';
import type { SeriesLine } from '../shapes.ts';
import { seriesLink } from './address.ts';
import { describeBand, emptyBand } from './band.ts';
import { element, setText } from './element.ts';
import {
  counted,
  describeCoverage,
  formatAge,
  formatCount,
  formatDuration,
  formatPercent,
} from './format.ts';

export interface Row {
  readonly tr: HTMLTableRowElement;
  readonly band: SVGSVGElement;
  readonly cells: Readonly<Record<'covered' | 'missing' | 'behind' | 'newest' | 'note', HTMLElement>>;
  /** The state for which the band was drawn. */
  drawn: string;
}

export function makeRow(line: SeriesLine): Row {
  const cell = (title: string, ...children: (Node | string)[]) =>
    element('td', { role: 'cell', 'data-title': title }, ...children);
  const band = emptyBand();
  const cells = {
    covered: cell('Covered'),
    missing: cell('Missing'),
    behind: cell('Behind'),
    newest: cell('Newest'),
    note: cell('Note'),
  };
  const tr = element(
    'tr',
    { role: 'row', 'data-series': line.id },
    element('th', { scope: 'row', role: 'rowheader' }, seriesLink(line.id, line.name)),
    element('td', { role: 'cell', 'data-title': 'Coverage', class: 'banded' }, band),
    ...Object.values(cells),
  );
  return { tr, band, cells, drawn: '' };
}

export function fillRow(row: Row, line: SeriesLine, nowMs: number): void {
  row.band.setAttribute('aria-label', describeBand(line, nowMs));
  setText(
    row.cells.covered,
    line.wantedMs > 0 ? formatPercent(line.coveredMs, line.wantedMs) : describeCoverage(line, nowMs),
  );
  setText(
    row.cells.missing,
    line.missingMs === 0 ? 'nothing' : `${formatDuration(line.missingMs)} in ${counted(line.gaps, 'gap')}`,
  );
  setText(row.cells.behind, line.behindMs === 0 ? 'no' : formatDuration(line.behindMs));
  setText(row.cells.newest, line.newestMs === null ? 'no point' : `${formatAge(nowMs - line.newestMs)} ago`);
  setText(row.cells.note, noteOf(line));
  row.cells.note.classList.toggle('bad', line.blocked !== null || line.failedMs > 0);
}

function noteOf(line: SeriesLine): string {
  if (line.blocked !== null) return `refused by the source: ${line.blocked}`;
  const parts = [
    line.failedMs > 0 ? `${formatDuration(line.failedMs)} failed` : '',
    line.awaitingMs > 0 ? `${formatDuration(line.awaitingMs)} empty so far` : '',
    line.emptyMs > 0 ? `${formatDuration(line.emptyMs)} confirmed empty` : '',
    line.revised > 0 ? `${formatCount(line.revised)} revised` : '',
    line.inFlight > 0 ? `${formatCount(line.inFlight)} in flight` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

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

/** Creates a select element from options with titles. */
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

/** Natural order of names: 2 before 10. */
export const { compare } = new Intl.Collator('en', { numeric: true });

/** Filters of the list: what each shows. */
export const filters: Readonly<
  Record<string, readonly [text: string, shows: (line: SeriesLine) => boolean]>
> = {
  failing: ['Failing', (line) => line.failedMs > 0 || line.blocked !== null],
  behind: ['Behind', (line) => line.behindMs > 0],
  awaiting: ['Awaiting a second answer', (line) => line.awaitingMs > 0],
  complete: ['Complete', (line) => line.wantedMs > 0 && line.missingMs === 0],
};
