/** Compares a watch list with the database. Writes nothing but its aliases, by which series are named. */

import type pg from 'pg';
import type { EpochMs } from '../model/intervals.ts';
import type { PolledList } from '../model/lists/index.ts';
import type { SeriesKey } from '../model/series.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { timeOfAge } from '../model/time-text.ts';
import {
  type KnownSeries,
  nameOfChange,
  notNamed,
  type SeriesChange,
  type Span,
  seriesChanges,
  type WantedSeries,
  type WantedSource,
} from '../planning/watch-list-changes.ts';
import {
  type Alias,
  areSameAliases,
  readAliases,
  readMarketNames,
  readOtherNames,
  writeAliases,
} from '../store/series/aliases.ts';
import { readMarkets, readSourceLists, readSymbolUses } from '../store/series/sources.ts';
import {
  isRecent,
  type ListState,
  readListedAssets,
  readListedMarkets,
  readListStates,
} from '../store/settings/polled-lists.ts';
import { readKnownSeries } from '../store/settings/series-changes.ts';
import { type RereadOverride, readRereadOverride } from '../store/settings/settings.ts';
import { findCut, hasPointsBefore, retentionAges } from '../store/upkeep/retention.ts';
import { type ListChange, listChanges } from './list-changes.ts';
import { isUnlisted, type ListedSource, listsNeeded, resolve, sourcesNeeded } from './resolve.ts';
import type { Problem, WatchList } from './watch-list.ts';

export interface WatchListContext {
  readonly nowMs: EpochMs;
  /** Untracks series and lists that the file does not name. */
  readonly prune: boolean;
  /** Why lists of SOURCE_URL cannot be polled; null: it is not known. */
  readonly whyUnpolled: string | null;
  /** The sources by name; absent: none may be named. */
  readonly sources?: ReadonlyMap<string, SourceEntries>;
  /** Datasets whose points a new retention may drop. For others such a retention is held back. */
  readonly mayDrop: ReadonlySet<StoredDataset>;
}

/** A source without its stored markets. */
export type SourceEntries = Omit<ListedSource, 'markets' | 'names'>;

export interface RetentionChange {
  readonly dataset: StoredDataset;
  /** An age; null: forever. */
  readonly before: string | null;
  readonly after: string | null;
  /** Stored points before this time will be dropped; null: none will. */
  readonly dropsBeforeMs: EpochMs | null;
}

export interface CutByRetention {
  readonly dataset: StoredDataset;
  /** The new retention. */
  readonly age: string;
  readonly cutMs: EpochMs;
  readonly series: readonly SeriesKey[];
}

export interface WatchListPlan {
  readonly series: readonly SeriesChange[];
  readonly lists: readonly ListChange[];
  /** Series whose sources change, and new ones with a source of their own. */
  readonly sources: ReadonlyArray<{ readonly series: SeriesKey; readonly sources: readonly WantedSource[] }>;
  /** All aliases of the file; null: unchanged. */
  readonly aliases: readonly Alias[] | null;
  readonly retention: readonly RetentionChange[];
  /** Unconfirmed retentions that would drop stored points. */
  readonly heldBack: readonly RetentionChange[];
  /** Re-read settings; null: unchanged. */
  readonly reread: { readonly before: RereadOverride; readonly after: RereadOverride } | null;
  /** Tracked series and polled lists that the file does not name. */
  readonly left: { readonly series: readonly KnownSeries[]; readonly lists: ReadonlyArray<Pick<ListState, 'list'>> };
  readonly notes: readonly Problem[];
  /** What is left out until a list is read: */
  readonly waiting: readonly Problem[];
  /** of a source whose markets were never listed, */
  readonly unlisted: readonly string[];
  /** or of SOURCE_URL, that was never polled or is old. */
  readonly unpolled: readonly PolledList[];
  /** Series whose wanted range is entirely older than the retention. */
  readonly notKept: readonly SeriesKey[];
  /** Changed series whose wanted range starts before the retention. */
  readonly cut: readonly CutByRetention[];
  /** Tracked series and polled lists after the changes. */
  readonly after: {
    readonly series: ReadonlyArray<{ readonly series: SeriesKey; readonly tracked: Span }>;
    readonly lists: readonly ListState[];
    readonly reread: RereadOverride;
  };
}

/** @param client of a transaction, which the caller may roll back. */
export async function planWatchList(
  client: pg.PoolClient,
  list: WatchList,
  context: WatchListContext,
): Promise<WatchListPlan> {
  const { nowMs } = context;
  const aliases = await changedAliases(client, list);
  if (aliases !== null) await writeAliases(client, aliases);
  const standings = await readListStates(client);
  const standing = (dataset: string) => standings.find((one) => one.list.dataset === dataset);
  const missing = new Set([...listsNeeded(list)].filter((dataset) => !isRecent(standing(dataset), nowMs)));
  const sources = await listedSources(client, list, context.sources ?? new Map());
  const unlisted = sourcesNeeded(list).filter((name) => {
    const source = sources.get(name);
    return source !== undefined && isUnlisted(source);
  });
  // Otherwise what they have is not known.
  const isWhole = unlisted.length === 0 && missing.size === 0;
  const prune = context.prune && isWhole;
  const wasPolled = (dataset: string) => (standing(dataset)?.completedMs ?? null) !== null;
  const { series, lists, notes, waiting } = resolve(list, {
    ...{ missing, whyMissing: context.whyUnpolled },
    markets: wasPolled('markets') ? await readListedMarkets.on(client, {}) : null,
    assets: wasPolled('assets') ? await readListedAssets.on(client, {}) : null,
    sources,
    storedAs: new Map(
      (await readOtherNames.on(client, {})).map(({ name, series }) => [`${series.dataset} ${name}`, series]),
    ),
    uses: await readSymbolUses(client, sourcesNeeded(list)),
  });

  const { cuts, ...retention } = await retentionChanges(client, list, context);
  const known = await readKnownSeries.on(client, {});
  const keptSinceMs = (key: SeriesKey) => cuts.get(key.dataset)?.cutMs ?? null;
  const changes = seriesChanges({ wanted: series, known, prune, nowMs, keptSinceMs });
  const changed = [...changes.changes, ...(isWhole ? notNamed(changes.left) : [])];
  const polled = listChanges(lists, standings, prune);
  const before = await readRereadOverride(client);
  return {
    series: changed,
    lists: polled.changes,
    sources: await changedSources(client, series, known),
    aliases,
    retention: retention.changes,
    heldBack: retention.heldBack,
    reread: isSame(before, list.reread) ? null : { before, after: list.reread },
    left: { series: changes.left, lists: polled.left },
    ...{ notes, waiting, unlisted },
    unpolled: [...missing].map((dataset) => ({ dataset, asset: null })),
    notKept: changes.notKept,
    cut: [...cuts].flatMap(([dataset, cut]) => {
      const series = changes.cut.filter((key) => key.dataset === dataset);
      return series.length === 0 ? [] : [{ dataset, ...cut, series }];
    }),
    after: { series: seriesAfter(known, changed), lists: listsAfter(standings, polled.changes), reread: list.reread },
  };
}

/** Whether applying it changes nothing. */
export function isNothing(plan: WatchListPlan): boolean {
  return (
    plan.series.every(({ kind }) => kind === 'kept') &&
    plan.lists.length === 0 &&
    plan.sources.length === 0 &&
    plan.aliases === null &&
    plan.retention.length === 0 &&
    plan.reread === null
  );
}

/** The sources with their stored markets, of those that the list names. */
async function listedSources(
  client: pg.Pool | pg.PoolClient,
  list: WatchList,
  known: NonNullable<WatchListContext['sources']>,
): Promise<ReadonlyMap<string, ListedSource>> {
  const needed = new Set(sourcesNeeded(list));
  const listed = new Map<string, ListedSource>();
  for (const [name, source] of known)
    listed.set(name, {
      ...source,
      markets: needed.has(name) ? await readMarkets.on(client, { source: name }) : [],
      names: needed.has(name) ? await readMarketNames(client, name, source.exchange ?? name) : new Map(),
    });
  return listed;
}

async function changedAliases(
  client: pg.Pool | pg.PoolClient,
  { aliases }: WatchList,
): Promise<readonly Alias[] | null> {
  if (aliases === null) return null;
  return areSameAliases(await readAliases.on(client, {}), aliases) ? null : aliases;
}

async function changedSources(
  client: pg.Pool | pg.PoolClient,
  wanted: readonly WantedSeries[],
  known: readonly KnownSeries[],
): Promise<WatchListPlan['sources']> {
  const named = wanted.flatMap(({ series, sources }) => (sources === undefined ? [] : [{ series, sources }]));
  if (named.length === 0) return [];
  const ids = new Map(known.map(({ series, seriesId }) => [nameOfChange(series), seriesId]));
  const stored = await readSourceLists(
    client,
    named.flatMap(({ series }) => ids.get(nameOfChange(series)) ?? []),
  );
  return named.filter(({ series, sources }) => {
    const before = stored.get(ids.get(nameOfChange(series)) ?? 0) ?? [];
    return JSON.stringify(before) !== JSON.stringify(sources);
  });
}

/** Compares the retentions. `cuts` holds the retention and the cut of each dataset after the changes. */
async function retentionChanges(
  client: pg.Pool | pg.PoolClient,
  list: WatchList,
  { nowMs, mayDrop }: WatchListContext,
) {
  const ages = await retentionAges(client);
  const cutOf = (dataset: StoredDataset, age: string) => findCut(client, dataset, timeOfAge(age, nowMs));
  const changes: RetentionChange[] = [];
  const heldBack: RetentionChange[] = [];
  for (const [dataset, after] of list.retention) {
    const before = ages.get(dataset) ?? null;
    if (before === after) continue;
    const isShorter = after !== null && (before === null || timeOfAge(after, nowMs) > timeOfAge(before, nowMs));
    const cutMs = isShorter ? await cutOf(dataset, after) : null;
    const drops = cutMs !== null && (await hasPointsBefore(client, dataset, cutMs));
    const change = { dataset, before, after, dropsBeforeMs: drops ? cutMs : null };
    if (drops && !mayDrop.has(dataset)) {
      heldBack.push(change);
      continue;
    }
    changes.push(change);
    if (after === null) ages.delete(dataset);
    else ages.set(dataset, after);
  }
  const cuts = new Map<StoredDataset, { age: string; cutMs: EpochMs }>();
  for (const [dataset, age] of ages) cuts.set(dataset, { age, cutMs: await cutOf(dataset, age) });
  return { changes, heldBack, cuts };
}

function seriesAfter(
  known: readonly KnownSeries[],
  changes: readonly SeriesChange[],
): WatchListPlan['after']['series'] {
  const changed = new Set(changes.map(({ seriesId }) => seriesId));
  const as = (series: SeriesKey, tracked: Span) => ({ series, tracked });
  return [
    ...known.filter((one) => one.isTracked && !changed.has(one.seriesId)).map((one) => as(one.series, one.tracked)),
    ...changes.flatMap(({ series, after }) => (after === null ? [] : [as(series, after)])),
  ];
}

function listsAfter(standings: readonly ListState[], changes: readonly ListChange[]): ListState[] {
  const nameOf = ({ dataset, asset }: ListState['list']) => JSON.stringify([dataset, asset]);
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
