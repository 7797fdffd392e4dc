/** The table of polled lists, which `status` and `demo` show. */

import type { EpochMs } from '../contract/intervals.ts';
import { listName } from '../contract/lists.ts';
import type { ListStatus } from '../store/snapshots/status.ts';
import { type Column, table } from './table.ts';
import { count, counted, duration, moment } from './wording.ts';

const columns = (nowMs: EpochMs): ReadonlyArray<Column<ListStatus>> => [
  { title: 'list', value: (row) => listName(row.list), shorten: 'middle' },
  { title: 'every', value: (row) => duration(row.everyMs), right: true },
  { title: 'newest', value: (row) => (row.newestMs === null ? '-' : moment(row.newestMs)) },
  {
    title: 'age',
    value: (row) => (row.newestMs === null ? '-' : duration(Math.max(0, nowMs - row.newestMs))),
    right: true,
  },
  { title: 'rows', value: (row) => (row.rows === null ? '-' : count(row.rows)), right: true },
  { title: 'changed', value: (row) => (row.changed === null ? '-' : count(row.changed)), right: true },
  { title: 'gone', value: (row) => count(row.gone), right: true },
  { title: 'note', value: note, shorten: 'end' },
];

/** @param width characters a line may have; null: any number. */
export function listsTable(
  lists: readonly ListStatus[],
  nowMs: EpochMs,
  width: number | null = null,
): string {
  return table(columns(nowMs), lists, width);
}

function note(row: ListStatus): string {
  const parts = [
    row.pages === null ? '' : `being read, ${counted(row.pages, 'page')} so far`,
    row.problem ?? '',
    row.retryMs === null ? '' : `next ${moment(row.retryMs)}`,
    row.quarantined > 0 ? `${counted(row.quarantined, 'row')} in quarantine` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
