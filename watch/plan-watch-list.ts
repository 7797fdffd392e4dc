/** What a watch list would change of a database: read from the store, compared, and nothing written. */

import type pg from 'pg';
import type { StorageSettings } from '../config.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { SnapshotList } from '../contract/lists.ts';
import type { SeriesKey, StoredDataset } from '../contract/series.ts';
import { ageBefore } from '../planning/age.ts';
import { type KnownSeries, type SeriesChange, type Span, seriesChanges } from '../planning/watch-changes.ts';
import { cutOf, isAnyBefore, retentionAges } from '../store/retention.ts';
import {
  isRecent,
  type ListStanding,
  listedAssets,
  listedMarkets,
  listStandings,
} from '../store/watch-list/listed.ts';
import { knownSeries } from '../store/watch-list/series.ts';
import { type RereadOverride, rereadOverride } from '../store/watch-list/settings.ts';
import { type ListChange, listChanges } from './list-changes.ts';
import type { Problem } from './problem.ts';
import { listsNeeded, resolve } from './resolve.ts';
import type { WatchList } from './watch-list.ts';

export interface WatchContext {
  readonly nowMs: EpochMs;
  readonly chunkDays: StorageSettings['chunkDays'];
  /** Untracks what is tracked and not in the list. */
  readonly prune: boolean;
  /** Datasets of which points may be dropped by a retention; of any other a retention that would is held back. */
  readonly mayDrop: ReadonlySet<StoredDataset>;
}

export interface RetentionChange {
  readonly dataset: StoredDataset;
  /** An age; null: all is kept, for good. */
  readonly before: string | null;
  readonly after: string | null;
  /** Points from before are stored and will be dropped; null: there is none that would. */
  readonly dropsBeforeMs: EpochMs | null;
}

export interface CutByRetention {
  readonly dataset: StoredDataset;
  /** Of the retention, once it is applied. */
  readonly age: string;
  readonly cutMs: EpochMs;
  readonly series: readonly SeriesKey[];
}

export interface WatchPlan {
  readonly kind: 'plan';
  readonly series: readonly SeriesChange[];
  readonly lists: readonly ListChange[];
  readonly retention: readonly RetentionChange[];
  /** Retentions that would drop what is stored, and that nobody has confirmed. */
  readonly heldBack: readonly RetentionChange[];
  /** What is read again; null: as before. */
  readonly reread: { readonly before: RereadOverride; readonly after: RereadOverride } | null;
  /** Tracked and polled, not in the list, and left alone. */
  readonly left: {
    readonly series: readonly KnownSeries[];
    readonly lists: ReadonlyArray<Pick<ListStanding, 'list'>>;
  };
  readonly notes: readonly Problem[];
  /** What is wanted only before all that is kept. */
  readonly notKept: readonly SeriesKey[];
  /** What changes and is wanted from earlier than it is kept from. */
  readonly cut: readonly CutByRetention[];
  /** All that is tracked, and polled, once it is applied. */
  readonly after: {
    readonly series: ReadonlyArray<{ readonly series: SeriesKey; readonly tracked: Span }>;
    readonly lists: readonly ListStanding[];
    readonly reread: RereadOverride;
  };
}

/** Its patterns need lists that were never polled, or not lately. */
export interface ListsMissing {
  readonly kind: 'lists';
  readonly lists: readonly SnapshotList[];
}

export async function planWatchList(
  client: pg.Pool | pg.PoolClient,
  list: WatchList,
  context: WatchContext,
): Promise<WatchPlan | ListsMissing> {
  const { nowMs, prune } = context;
  const standings = await listStandings(client);
  const standing = (dataset: string) => standings.find((one) => one.list.dataset === dataset);
  const missing = [...listsNeeded(list)].filter((dataset) => !isRecent(standing(dataset), nowMs));
  if (missing.length > 0)
    return { kind: 'lists', lists: missing.map((dataset) => ({ dataset, asset: null })) };
  const wasPolled = (dataset: string) => (standing(dataset)?.completedMs ?? null) !== null;
  const { series, lists, notes } = resolve(list, {
    markets: wasPolled('markets') ? await listedMarkets(client) : null,
    assets: wasPolled('assets') ? await listedAssets(client) : null,
  });

  const retention = await retentionChanges(client, list, context);
  const cuts = await cutsAfter(client, retention.changes, context);
  const known = await knownSeries(client);
  const keptSinceMs = (key: SeriesKey) => cuts.get(key.dataset)?.cutMs ?? null;
  const changes = seriesChanges({ wanted: series, known, prune, nowMs, keptSinceMs });
  const polled = listChanges(lists, standings, prune);
  const before = await rereadOverride(client);
  return {
    kind: 'plan',
    series: changes.changes,
    lists: polled.changes,
    retention: retention.changes,
    heldBack: retention.heldBack,
    reread: isSame(before, list.reread) ? null : { before, after: list.reread },
    left: { series: changes.left, lists: polled.left },
    notes,
    notKept: changes.notKept,
    cut: [...cuts].flatMap(([dataset, cut]) => {
      const series = changes.cut.filter((key) => key.dataset === dataset);
      return series.length === 0 ? [] : [{ dataset, ...cut, series }];
    }),
    after: {
      series: seriesAfter(known, changes.changes),
      lists: listsAfter(standings, polled.changes),
      reread: list.reread,
    },
  };
}

/** Whether applying it would write anything that a user would notice. */
export function isNothing(plan: WatchPlan): boolean {
  return (
    plan.series.every(({ kind }) => kind === 'kept') &&
    plan.lists.length === 0 &&
    plan.retention.length === 0 &&
    plan.reread === null
  );
}

async function retentionChanges(
  client: pg.Pool | pg.PoolClient,
  list: WatchList,
  { nowMs, chunkDays, mayDrop }: WatchContext,
): Promise<{ changes: RetentionChange[]; heldBack: RetentionChange[] }> {
  const ages = await retentionAges(client);
  const changes: RetentionChange[] = [];
  const heldBack: RetentionChange[] = [];
  for (const [dataset, after] of list.retention) {
    const before = ages.get(dataset) ?? null;
    if (before === after) continue;
    const isShorter =
      after !== null && (before === null || ageBefore(after, nowMs) > ageBefore(before, nowMs));
    const cutMs =
      after === null ? null : await cutOf(client, dataset, ageBefore(after, nowMs), chunkDays[dataset]);
    const drops = isShorter && cutMs !== null && (await isAnyBefore(client, dataset, cutMs));
    const change = { dataset, before, after, dropsBeforeMs: drops ? cutMs : null };
    if (drops && !mayDrop.has(dataset)) heldBack.push(change);
    else changes.push(change);
  }
  return { changes, heldBack };
}

/** How long each dataset is kept, and the first moment that is, once the changes are made. */
async function cutsAfter(
  client: pg.Pool | pg.PoolClient,
  changes: readonly RetentionChange[],
  { nowMs, chunkDays }: WatchContext,
): Promise<Map<StoredDataset, { age: string; cutMs: EpochMs }>> {
  const ages = await retentionAges(client);
  for (const { dataset, after } of changes) {
    if (after === null) ages.delete(dataset);
    else ages.set(dataset, after);
  }
  const cuts = new Map<StoredDataset, { age: string; cutMs: EpochMs }>();
  for (const [dataset, age] of ages) {
    const cutMs = await cutOf(client, dataset, ageBefore(age, nowMs), chunkDays[dataset]);
    cuts.set(dataset, { age, cutMs });
  }
  return cuts;
}

function seriesAfter(
  known: readonly KnownSeries[],
  changes: readonly SeriesChange[],
): WatchPlan['after']['series'] {
  const changed = new Set(changes.map(({ seriesId }) => seriesId));
  const as = (series: SeriesKey, tracked: Span) => ({ series, tracked });
  return [
    ...known
      .filter((one) => one.isTracked && !changed.has(one.seriesId))
      .map((one) => as(one.series, one.tracked)),
    ...changes.flatMap(({ series, after }) => (after === null ? [] : [as(series, after)])),
  ];
}

function listsAfter(standings: readonly ListStanding[], changes: readonly ListChange[]): ListStanding[] {
  const nameOf = ({ dataset, asset }: ListStanding['list']) => JSON.stringify([dataset, asset]);
  const after = new Map(standings.map((one) => [nameOf(one.list), one]));
  for (const { list, afterMs } of changes) {
    const before = after.get(nameOf(list)) ?? { list, completedMs: null, rows: null, retryMs: null };
    after.set(nameOf(list), { ...before, isTracked: afterMs !== null, everyMs: afterMs ?? 0 });
  }
  return [...after.values()];
}

function isSame(a: RereadOverride, b: RereadOverride): boolean {
  return a.periods === b.periods && a.days === b.days && a.hours === b.hours;
}
