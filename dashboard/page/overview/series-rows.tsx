/** A row of the series list, the sort orders, filters and time axes. */

import { nonEmpty } from '../../../model/format.ts';
import { dayMs } from '../../../model/intervals.ts';
import { describeBlocked, describeMissing } from '../../../model/reasons.ts';
import { recencyText } from '../../../planning/periods.ts';
import type { Band, SeriesLine } from '../../shapes.ts';
import { BandView, describeBand, describeQueued } from '../parts/band.tsx';
import { counted, describeCoverage, formatCount, formatDuration, formatPercent, formatTime } from '../parts/format.ts';
import { useReasons } from '../parts/reasons.ts';
import { SeriesLink } from '../parts/series-link.tsx';
import { isAskedAgain, isComplete, isFailing, isLate } from '../state/model.ts';

export const titles = ['Series', 'Coverage', 'Covered', 'Missing', 'Newest', 'Note'];

export function SeriesRow({ line, band, nowMs }: { line: SeriesLine; band: Band | null; nowMs: number }) {
  const { load, reasonAt } = useReasons(line);
  const covered = line.wantedMs > 0 ? formatPercent(line.coveredMs, line.wantedMs) : describeCoverage(line, nowMs);
  return (
    <tr role="row" data-series={line.id}>
      <th scope="row" role="rowheader">
        <SeriesLink id={line.id} name={line.name} />
      </th>
      <td role="cell" data-title="Coverage" class="banded">
        <BandView band={band} label={describeBand(line, nowMs)} reasonAt={reasonAt} onMissing={load} />
      </td>
      <td role="cell" data-title="Covered">
        {covered}
      </td>
      {/* `usual`: not shown on a narrow screen. */}
      <td role="cell" data-title="Missing" class={line.missingMs === 0 ? 'usual' : ''}>
        {line.missingMs === 0 ? 'nothing' : `${formatDuration(line.missingMs)} in ${counted(line.gaps, 'gap')}`}
      </td>
      <td role="cell" data-title="Newest" class={line.behindMs === 0 && line.silentSinceMs === null ? 'usual' : ''}>
        {recencyText(line, nowMs) || (line.newestMs === null ? 'no point' : formatTime(line.newestMs))}
      </td>
      <td role="cell" data-title="Note" class={isFailing(line) ? 'bad' : ''}>
        {noteOf(line)}
      </td>
    </tr>
  );
}

function noteOf(line: SeriesLine): string {
  if (line.blocked !== null) return describeBlocked(line.blocked);
  const revised = line.revised > 0 ? `${formatCount(line.revised)} revised` : '';
  return nonEmpty([...describeMissing(line), revised, ...describeQueued(line)]).join(', ');
}

/** Natural order of names: 2 before 10. */
export const { compare } = new Intl.Collator('en', { numeric: true });

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
    (one, other) => Number(other.blocked !== null) - Number(one.blocked !== null) || other.failedMs - one.failedMs,
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

/** Filters of the list: what each shows. */
export const filters: Readonly<Record<string, readonly [text: string, shows: (line: SeriesLine) => boolean]>> = {
  failing: ['Failing', isFailing],
  behind: ['Late', isLate],
  awaiting: ['Asked again', isAskedAgain],
  complete: ['Complete', isComplete],
};
