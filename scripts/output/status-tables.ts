/** Tables of `status` and `demo`: tracked series and polled lists. */

import { counted, formatCount, formatDuration, formatPercent, formatTime, nonEmpty } from '../../model/format.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { listName } from '../../model/lists/index.ts';
import { describeBlocked, describeMissing } from '../../model/reasons.ts';
import { seriesName } from '../../model/series.ts';
import { recencyText } from '../../planning/periods.ts';
import type { ListStatus } from '../../store/lists/lists.ts';
import type { SeriesStatus } from '../../store/status/status.ts';
import { byKind } from './series-groups.ts';
import { type Column, table } from './table.ts';

const seriesColumns = (nowMs: number): ReadonlyArray<Column<SeriesStatus>> => [
  { title: 'id', value: (row) => String(row.seriesId), right: true },
  { title: 'series', value: (row) => seriesName(row.series), shorten: 'middle' },
  { title: 'tracked from', value: (row) => formatTime(row.tracked.startMs), omit: 3 },
  { title: 'to', value: (row) => (row.tracked.endMs === null ? 'now' : formatTime(row.tracked.endMs)), omit: 2 },
  { title: 'covered', value: (row) => formatPercent(row.coveredMs, row.wantedMs), right: true },
  {
    title: 'missing',
    value: (row) => (row.missingMs === 0 ? '-' : formatDuration(row.missingMs)),
    right: true,
    omit: 6,
  },
  { title: 'gaps', value: (row) => formatCount(row.gaps), right: true, omit: 4 },
  { title: 'points', value: (row) => formatCount(row.points), right: true, omit: 5 },
  { title: 'newest', value: (row) => (row.newestMs === null ? '-' : formatTime(row.newestMs)), omit: 1 },
  { title: 'state', value: (row) => recencyText(row, nowMs) || '-', shorten: 'end' },
  { title: 'note', value: seriesNote, shorten: 'end' },
];

/** @param width of a line; null: unlimited. */
export function seriesTable(series: readonly SeriesStatus[], nowMs: number, width: number | null = null): string {
  return series.length === 0
    ? 'no series is tracked: see `tidemark track --help`'
    : table(seriesColumns(nowMs), series, width);
}

/** More series are shown in groups. */
const mostRows = 40;

interface SeriesGroup {
  readonly name: string;
  readonly series: readonly SeriesStatus[];
  readonly incomplete: number;
  readonly wantedMs: number;
  readonly coveredMs: number;
  readonly missingMs: number;
  readonly gaps: number;
  readonly points: number;
  /** Of the series that is furthest behind. */
  readonly newestMs: EpochMs | null;
}

const groupColumns: ReadonlyArray<Column<SeriesGroup>> = [
  { title: 'series', value: (group) => group.name, shorten: 'middle' },
  { title: 'count', value: (group) => formatCount(group.series.length), right: true },
  { title: 'incomplete', value: (group) => formatCount(group.incomplete), right: true },
  { title: 'covered', value: (group) => formatPercent(group.coveredMs, group.wantedMs), right: true },
  {
    title: 'missing in all',
    value: (group) => (group.missingMs === 0 ? '-' : formatDuration(group.missingMs)),
    right: true,
  },
  { title: 'gaps', value: (group) => formatCount(group.gaps), right: true, omit: 2 },
  { title: 'points', value: (group) => formatCount(group.points), right: true, omit: 3 },
  { title: 'oldest newest', value: (group) => (group.newestMs === null ? '-' : formatTime(group.newestMs)), omit: 1 },
  {
    title: 'note',
    value: ({ series }) => {
      const noted = series.filter((row) => seriesNote(row) !== '');
      const [first] = noted;
      const behind = series.filter(({ behindMs }) => behindMs > 0).length;
      const silent = series.filter(({ silentSinceMs }) => silentSinceMs !== null).length;
      return nonEmpty([
        behind === 0 ? '' : `${formatCount(behind)} behind`,
        silent === 0 ? '' : `${formatCount(silent)} silent`,
        first === undefined ? '' : `${counted(noted.length, 'note')}: ${seriesNote(first)}`,
      ]).join(', ');
    },
    shorten: 'end',
  },
];

/**
 * A row for each series, or, if there are many, for each exchange and interval, complete ones in one row, and a total.
 *
 * @param width of a line; null: unlimited.
 */
export function seriesOverview(series: readonly SeriesStatus[], nowMs: number, width: number | null = null): string {
  if (series.length <= mostRows) return seriesTable(series, nowMs, width);
  const groups = [...byKind(series)].map(([name, rows]) => groupOf(name, rows));
  const complete = groups.filter(({ incomplete }) => incomplete === 0);
  const folded =
    complete.length < 2
      ? complete
      : [
          groupOf(
            `${formatCount(complete.length)} complete groups`,
            complete.flatMap((group) => group.series),
          ),
        ];
  const rows = [...groups.filter(({ incomplete }) => incomplete > 0), ...folded, groupOf('total', series)];
  return `${table(groupColumns, rows, width)}\n\n\`tidemark status --all\` shows each series`;
}

function groupOf(name: string, series: readonly SeriesStatus[]): SeriesGroup {
  const total = (amount: (row: SeriesStatus) => number) => series.reduce((sum, row) => sum + amount(row), 0);
  const newest = series.map((row) => row.newestMs).filter((ms) => ms !== null);
  return {
    name,
    series,
    incomplete: series.filter((row) => row.missingMs > 0).length,
    wantedMs: total((row) => row.wantedMs),
    coveredMs: total((row) => row.coveredMs),
    missingMs: total((row) => row.missingMs),
    gaps: total((row) => row.gaps),
    points: total((row) => row.points),
    newestMs: newest.length === 0 ? null : newest.reduce((oldest, ms) => Math.min(oldest, ms)),
  };
}

function seriesNote(row: SeriesStatus): string {
  if (row.blocked !== null) return describeBlocked(row.blocked);
  return nonEmpty([
    ...describeMissing({ ...row, emptyMs: Math.max(0, row.confirmedEmptyMs - row.beforeBeginningMs) }),
    row.beforeBeginningMs > 0 ? `${formatDuration(row.beforeBeginningMs)} before it begins` : '',
    row.revised > 0 ? `${formatCount(row.revised)} revised` : '',
    row.quarantined > 0 ? `${counted(row.quarantined, 'row')} in quarantine` : '',
  ]).join(', ');
}

const listColumns = (nowMs: EpochMs): ReadonlyArray<Column<ListStatus>> => [
  { title: 'list', value: (row) => listName(row.list), shorten: 'middle' },
  { title: 'every', value: (row) => formatDuration(row.everyMs), right: true },
  { title: 'newest', value: (row) => (row.newestMs === null ? '-' : formatTime(row.newestMs)), omit: 1 },
  {
    title: 'age',
    value: (row) => (row.newestMs === null ? '-' : formatDuration(Math.max(0, nowMs - row.newestMs))),
    right: true,
  },
  { title: 'rows', value: (row) => (row.rows === null ? '-' : formatCount(row.rows)), right: true },
  { title: 'changed', value: (row) => (row.changed === null ? '-' : formatCount(row.changed)), right: true },
  { title: 'gone', value: (row) => formatCount(row.gone), right: true },
  { title: 'note', value: listNote, shorten: 'end' },
];

/** @param width of a line; null: unlimited. */
export function listsTable(lists: readonly ListStatus[], nowMs: EpochMs, width: number | null = null): string {
  return table(listColumns(nowMs), lists, width);
}

function listNote(row: ListStatus): string {
  return nonEmpty([
    row.pages === null ? '' : `being read, ${counted(row.pages, 'page')} so far`,
    row.problem ?? '',
    row.retryMs === null ? '' : `next ${formatTime(row.retryMs)}`,
    row.quarantined > 0 ? `${counted(row.quarantined, 'row')} in quarantine` : '',
  ]).join(', ');
}
