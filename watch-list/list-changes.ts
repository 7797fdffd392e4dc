/** Compares the polled lists with a watch list. */

import { listName, lists, type PolledList } from '../model/lists/index.ts';
import type { ListState } from '../store/settings/polled-lists.ts';
import type { WantedList } from './resolve.ts';

export interface ListChange {
  readonly kind: 'added' | 'changed' | 'stopped';
  readonly list: PolledList;
  /** Time between two polls; null: not polled. */
  readonly beforeMs: number | null;
  readonly afterMs: number | null;
}

type KnownList = Pick<ListState, 'list' | 'isTracked' | 'everyMs'>;

export interface ListChanges {
  readonly changes: readonly ListChange[];
  /** Polled lists that the file does not name, except those that are polled by default. */
  readonly left: readonly KnownList[];
}

export function listChanges(wanted: readonly WantedList[], known: readonly KnownList[], prune: boolean): ListChanges {
  const byName = new Map(known.map((one) => [listName(one.list), one]));
  const changes: ListChange[] = [];
  for (const { list, everyMs } of wanted) {
    const one = byName.get(listName(list));
    const beforeMs = one?.isTracked === true ? one.everyMs : null;
    if (everyMs !== null && beforeMs !== everyMs)
      changes.push({ kind: beforeMs === null ? 'added' : 'changed', list, beforeMs, afterMs: everyMs });
    if (everyMs === null && beforeMs !== null) changes.push({ kind: 'stopped', list, beforeMs, afterMs: null });
  }
  const named = new Set(wanted.map(({ list }) => listName(list)));
  const left = known.filter(
    ({ list, isTracked }) => isTracked && lists[list.dataset].polled !== 'by default' && !named.has(listName(list)),
  );
  if (!prune) return { changes, left };
  for (const { list, everyMs } of left) changes.push({ kind: 'stopped', list, beforeMs: everyMs, afterMs: null });
  return { changes, left: [] };
}
