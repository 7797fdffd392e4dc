/** A row of the list of series. It is made once and written into, so that what is being read or has the focus stays. */

import type { SeriesLine } from '../shapes.ts';
import { seriesLink } from './address.ts';
import { bandText, emptyBand } from './band.ts';
import { element, write } from './element.ts';
import { age, count, counted, coverage, duration, percent } from './wording.ts';

export interface Row {
  readonly tr: HTMLTableRowElement;
  readonly band: SVGSVGElement;
  readonly cells: Readonly<Record<'covered' | 'missing' | 'behind' | 'newest' | 'note', HTMLElement>>;
  /** Of what the band was asked for. */
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
  row.band.setAttribute('aria-label', bandText(line, nowMs));
  write(
    row.cells.covered,
    line.wantedMs > 0 ? percent(line.coveredMs, line.wantedMs) : coverage(line, nowMs),
  );
  write(
    row.cells.missing,
    line.missingMs === 0 ? 'nothing' : `${duration(line.missingMs)} in ${counted(line.gaps, 'gap')}`,
  );
  write(row.cells.behind, line.behindMs === 0 ? 'no' : duration(line.behindMs));
  write(row.cells.newest, line.newestMs === null ? 'no point' : `${age(nowMs - line.newestMs)} ago`);
  write(row.cells.note, noteOf(line));
  row.cells.note.classList.toggle('bad', line.blocked !== null || line.failedMs > 0);
}

function noteOf(line: SeriesLine): string {
  if (line.blocked !== null) return `refused by the source: ${line.blocked}`;
  const parts = [
    line.failedMs > 0 ? `${duration(line.failedMs)} failed` : '',
    line.awaitingMs > 0 ? `${duration(line.awaitingMs)} empty so far` : '',
    line.emptyMs > 0 ? `${duration(line.emptyMs)} confirmed empty` : '',
    line.revised > 0 ? `${count(line.revised)} revised` : '',
    line.inFlight > 0 ? `${count(line.inFlight)} in flight` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
