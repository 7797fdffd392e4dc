/**
 * Resolves the entries of a watch list to series and lists.
 *
 * An entry without patterns is used as it is. An entry with a pattern or `top` selects from the current lists of the
 * source; delisted names are left out and noted. Entries that share a series extend its range.
 */

import { type DatasetName, datasets, datasetText, type MarketDataset } from '../model/datasets/index.ts';
import type { EpochMs, Interval } from '../model/intervals.ts';
import { listName, type PolledList } from '../model/lists/index.ts';
import { type MarketKind, marketKind } from '../model/market.ts';
import { isOfMarket, marketProblem, type SeriesKey, seriesName, seriesOfKey } from '../model/series.ts';
import { didYouMean, namesMeant } from '../planning/near-names.ts';
import { otherMarketOf, otherMarketText, type SymbolUse, trackedAs } from '../planning/one-market.ts';
import type { Start, WantedSeries, WantedSource } from '../planning/watch-list-changes.ts';
import type { MarketName } from '../store/series/aliases.ts';
import type { AssetRow, MarketRow } from '../store/settings/polled-lists.ts';
import { anyOf, isPattern, type Matcher } from './names.ts';
import type { AssetEntry, AssetFilter, MarketEntry, MarketFilter, Names, Problem, WatchList } from './watch-list.ts';

export interface WantedList {
  readonly list: PolledList;
  /** Null: no longer polled. */
  readonly everyMs: number | null;
}

export interface Resolved {
  readonly series: readonly WantedSeries[];
  readonly lists: readonly WantedList[];
  /** Notes with their places. They do not prevent the changes. */
  readonly notes: readonly Problem[];
  /** What is left out until a list is read. */
  readonly waiting: readonly Problem[];
}

/** A polled list of SOURCE_URL that an entry needs. */
export type NeededList = 'assets' | 'markets';

/** @returns the lists that the watch list needs. */
export function listsNeeded(list: WatchList): ReadonlySet<NeededList> {
  return new Set([
    ...list.markets.flatMap(listsOfMarkets),
    ...[...list.assets, ...list.assetLists].flatMap(listsOfAssets),
  ]);
}

function listsOfMarkets(entry: MarketEntry): NeededList[] {
  const isFromList = entry.symbols === null && marketsNamed(entry) === null;
  return [...(isFromList ? ['markets' as const] : []), ...(entry.top === null ? [] : ['assets' as const])];
}

function listsOfAssets(entry: AssetFilter): NeededList[] {
  return assetsNamed(entry) === null ? ['assets'] : [];
}

/** Entries that need a missing list, or markets of a source that were never listed, are left out. */
export function resolve(list: WatchList, listed: Listed): Resolved {
  const notes: Problem[] = [];
  const waiting: Problem[] = [];
  const answerable = <Entry extends Noted>(entries: readonly Entry[], needs: (entry: Entry) => NeededList[]) =>
    entries.filter((entry) => {
      const lacked = needs(entry).filter((name) => listed.missing?.has(name));
      if (lacked.length === 0) return true;
      const why = listed.whyMissing ?? 'SOURCE_URL gives it';
      const message = `left out until the list of ${lacked.join(' and ')} is polled: ${why}`;
      waiting.push({ ...entry.place, message });
      return false;
    });
  const series = new Map<string, WantedSeries & { starts: Start[]; endMs: EpochMs | null; sources?: WantedSources }>();
  const want = (
    { dataset, start, endMs, place }: MarketEntry | AssetEntry,
    names: readonly string[],
    sources?: WantedSources,
  ) => {
    const wanted = seriesOfKey(dataset, names);
    // The shape refuses an interval that the dataset does not have.
    if (wanted === null) return;
    const key = storedKey(wanted, sources, listed);
    const name = `${key.dataset} ${seriesName(key)}`;
    const same = series.get(name);
    const other = otherMarket(key, sources, same?.sources, listed);
    if (other !== null) {
      notes.push({ ...place, message: `left out: ${other}` });
      return;
    }
    if (same === undefined) {
      const given = sources === undefined ? {} : { sources };
      series.set(name, { series: key, starts: [start], endMs, ...given });
    } else {
      if (sources !== undefined) same.sources ??= sources;
      same.starts.push(start);
      same.endMs = same.endMs === null || endMs === null ? null : Math.max(same.endMs, endMs);
    }
  };
  for (const entry of answerable(list.markets, listsOfMarkets)) {
    const named = sourcesOf(entry, listed, notes);
    const from = withMarkets(named, entry, { notes, waiting });
    const markets =
      entry.symbols === null
        ? marketsOf(entry, listed, notes)
        : listedMarkets(entry, from, { exchange: exchangeOf(named), assets: listed.assets }, notes);
    const intervals = given(entry, from, notes);
    for (const market of markets) {
      const { exchange, base, quote } = market;
      const sourcesAt = (interval: Interval) =>
        from.length === 0
          ? undefined
          : from.flatMap((source) => marketSources(source, market, entry.dataset, interval));
      const why = marketProblem(entry.dataset, quote);
      if (why !== null) {
        notes.push({ ...entry.place, message: `left out: ${exchange} ${base}/${quote}: ${why}` });
        continue;
      }
      const has = intervals.filter((interval) => sourcesAt(interval)?.length !== 0);
      if (has.length === 0 && intervals.length > 0)
        notes.push({ ...entry.place, message: `left out: ${notGiven(entry.dataset, market, from)}` });
      for (const interval of has) want(entry, [exchange, base, quote, interval], sourcesAt(interval));
    }
  }
  for (const entry of answerable(list.assets, listsOfAssets)) {
    const from = sourcesOf(entry, listed, notes);
    for (const assetId of assetsOf(entry, listed, notes))
      for (const interval of given(entry, from, notes)) {
        const sources = from
          .filter(({ intervals }) => intervals[entry.dataset].includes(interval))
          .map(({ name }) => ({ source: name, symbol: assetId, isArchive: false }));
        want(entry, [assetId, interval], from.length === 0 ? undefined : sources);
      }
  }
  const lists = new Map<string, WantedList>();
  for (const [dataset, everyMs] of list.lists) {
    lists.set(dataset, { list: { dataset, asset: null }, everyMs });
  }
  for (const entry of answerable(list.assetLists, listsOfAssets)) {
    for (const asset of assetsOf(entry, listed, notes)) {
      const wanted: PolledList = { dataset: entry.list, asset };
      // The more frequent of two entries applies.
      const everyMs = Math.min(entry.everyMs, lists.get(listName(wanted))?.everyMs ?? entry.everyMs);
      lists.set(listName(wanted), { list: wanted, everyMs });
    }
  }
  return { series: [...series.values()], lists: [...lists.values()], notes, waiting };
}

type WantedSources = readonly WantedSource[];

/** The name under which the series is stored: one market is one series. */
function storedKey(wanted: SeriesKey, sources: WantedSources | undefined, { storedAs, uses = [] }: Listed): SeriesKey {
  if (!isOfMarket(wanted)) return wanted;
  const key = storedAs?.get(`${wanted.dataset} ${seriesName(wanted)}`) ?? wanted;
  for (const source of sources ?? []) {
    const tracked = trackedAs(uses, key, source);
    if (tracked !== key) return tracked;
  }
  return key;
}

/**
 * Why the series cannot have these sources: by an entry before, or by what is stored, it is another market of one.
 * Null: it can.
 */
function otherMarket(
  key: SeriesKey,
  sources: WantedSources | undefined,
  before: WantedSources | undefined,
  { uses = [] }: Listed,
): string | null {
  for (const given of sources ?? []) {
    const { source, symbol } = given;
    const other =
      before?.find((one) => one.source === source && one.symbol !== symbol) ?? otherMarketOf(uses, key, given);
    if (other !== undefined) return otherMarketText(key, other, given);
  }
  return null;
}

/** What a source gives of each dataset. */
interface Given {
  readonly intervals: Readonly<Record<DatasetName, readonly string[]>>;
  /** Of markets of these kinds. */
  readonly kinds: Readonly<Record<DatasetName, readonly MarketKind[]>>;
}

/** A source as the watch list needs it. */
export interface ListedSource extends Given {
  /** Null: a request names the exchange. */
  readonly exchange: string | null;
  /** An archive has no list of markets: entries name the source that it is the archive of. */
  readonly isArchive: boolean;
  /** The source that has its history by months; null: none. */
  readonly archive: (Given & { readonly name: string }) | null;
  /** Its stored list of markets. */
  readonly markets: ReadonlyArray<{ readonly symbol: string; readonly base: string; readonly quote: string }>;
  /** The user's names of markets, by symbol; one that is absent has the source's codes. */
  readonly names: ReadonlyMap<string, MarketName>;
}

/** The sources whose markets the watch list names. */
export function sourcesNeeded(list: WatchList): string[] {
  return [...new Set(list.markets.flatMap(({ sources }) => sources))];
}

interface NamedSource extends ListedSource {
  readonly name: string;
}

/** The sources that an entry names. Notes names that no source has, of which an entry without others gives nothing. */
function sourcesOf(
  { sources: names, place }: Pick<MarketEntry, 'sources' | 'place'>,
  { sources }: Listed,
  notes: Problem[],
): NamedSource[] {
  return names.flatMap((name) => {
    const found = sources?.get(name);
    if (found !== undefined) return [{ ...found, name }];
    const meant = didYouMean(name, sources?.keys() ?? []);
    notes.push({ ...place, message: `no source is named ${JSON.stringify(name)}${meant}` });
    return [];
  });
}

/** Whether its requests name a market, and its list of markets was never read. */
export function isUnlisted({ exchange, isArchive, markets }: ListedSource): boolean {
  return exchange !== null && !isArchive && markets.length === 0;
}

/** The exchange whose markets symbols name: that of the first source that has one. Null: none has. */
function exchangeOf(sources: readonly NamedSource[]): string | null {
  return sources.find(({ exchange }) => exchange !== null)?.exchange ?? null;
}

/** Without archives, and the sources whose markets were never listed. Notes them. */
function withMarkets(
  from: readonly NamedSource[],
  { place }: Noted,
  { notes, waiting }: { readonly notes: Problem[]; readonly waiting: Problem[] },
): NamedSource[] {
  for (const { name } of from.filter(({ isArchive }) => isArchive))
    notes.push({
      ...place,
      message: `left out: ${name} is read through the source that it is the \`archive\` of: name that one`,
    });
  for (const { name } of from.filter(isUnlisted))
    waiting.push({
      ...place,
      message: `${name} is left out until a worker or \`tidemark markets --source ${name}\` reads its list of markets`,
    });
  return from.filter((source) => !source.isArchive && !isUnlisted(source));
}

/** The intervals of an entry that any of its sources gives. Notes the others. */
function given(entry: MarketEntry | AssetEntry, from: readonly NamedSource[], notes: Problem[]): readonly Interval[] {
  const { intervals, place } = entry;
  if (entry.sources.length === 0) return intervals;
  if (from.length === 0) return [];
  const known = [...new Set(from.flatMap((source) => source.intervals[entry.dataset]))];
  const lacked = intervals.filter((interval) => !known.includes(interval));
  if (lacked.length > 0) {
    const only = known.length === 0 ? '' : `, only ${known.join(', ')}`;
    const what = known.length === 0 ? datasetText(entry.dataset) : lacked.join(', ');
    const who = from.map(({ name }) => name).join(' and ');
    notes.push({ ...place, message: `left out: ${who} does not give ${what}${only}` });
  }
  return intervals.filter((interval) => known.includes(interval));
}

/** Why no source of an entry gives a dataset of a market. */
function notGiven(dataset: MarketDataset, { exchange, base, quote }: Market, from: readonly NamedSource[]): string {
  const kind = marketKind(quote);
  const market = `${exchange} ${base}/${quote}`;
  if (from.some(({ kinds }) => kinds[dataset].includes(kind)))
    return `no source of it has ${datasets[dataset].word} of ${market}`;
  const names = from.map(({ name }) => name).join(' and ');
  return `${names} gives no ${datasetText(dataset)} of a ${kind} market: ${market}`;
}

/** A market by the user's names. */
interface NamedMarket extends Market {
  /** The codes of the list that it was found in. */
  readonly codes?: { readonly base: string; readonly quote: string } | undefined;
}

/** The markets of an entry that names them by symbols: from the list of its first source of the exchange. */
function listedMarkets(
  entry: Noted & Pick<MarketEntry, 'dataset' | 'symbols' | 'top' | 'except'>,
  from: readonly NamedSource[],
  { exchange, assets }: Pick<Listed, 'assets'> & { readonly exchange: string | null },
  notes: Problem[],
): NamedMarket[] {
  const others = from.filter((source) => source.exchange !== null && source.exchange !== exchange);
  for (const other of others)
    notes.push({
      ...entry.place,
      message: `left out: ${other.name} has ${datasets[entry.dataset].word} of ${other.exchange}, not of ${exchange}`,
    });
  const lister = from.find((source) => source.exchange !== null && source.exchange === exchange);
  if (lister === undefined) {
    if (exchange === null && from.length > 0)
      notes.push({
        ...entry.place,
        message: `${from[0]?.name} has no list of symbols: name the market by exchange, base and quote`,
      });
    return [];
  }
  const { markets, name, names } = lister;
  const pairs = markets.map((market) => ({ ...market, pair: `${market.base}/${market.quote}` }));
  const known = () => new Set(pairs.flatMap(({ pair, symbol }) => [pair, symbol]));
  noteUnknown(entry.symbols, known, `a market of ${name}`, entry, notes);
  const fits = anyOf(entry.symbols ?? []);
  const isTop = topOf(entry, assets);
  const isExcepted = excepted(entry.except);
  return pairs
    .filter(({ pair, symbol }) => fits(pair) || fits(symbol))
    .map(({ symbol, base, quote }) => {
      const { baseId, quoteId } = names.get(symbol) ?? { baseId: base, quoteId: quote };
      return { exchange: exchange ?? name, base: baseId, quote: quoteId, codes: { base, quote } };
    })
    .filter((market) => isTop(market.base) && !isExcepted(market) && !isExcepted({ ...market, ...market.codes }));
}

/** A source of a market's series, after its archive if that has the interval; none: it does not give it. */
function marketSources(
  source: NamedSource,
  market: NamedMarket,
  dataset: MarketDataset,
  interval: Interval,
): WantedSource[] {
  const has = ({ intervals, kinds }: Given) =>
    intervals[dataset].includes(interval) && kinds[dataset].includes(marketKind(market.quote));
  if (!has(source)) return [];
  const symbol = symbolAt(source, market);
  if (symbol === undefined) return [];
  const own = { source: source.name, symbol, isArchive: false };
  const { archive } = source;
  return archive !== null && has(archive) ? [{ source: archive.name, symbol, isArchive: true }, own] : [own];
}

/** @returns undefined: the source does not have the market. Where a request names the exchange, there is no symbol. */
function symbolAt({ exchange, markets, names }: NamedSource, market: NamedMarket): string | undefined {
  if (exchange === null) return '';
  if (exchange !== market.exchange) return undefined;
  const { codes } = market;
  return markets.find(({ symbol, base, quote }) => {
    if (codes !== undefined) return base === codes.base && quote === codes.quote;
    const name = names.get(symbol) ?? { baseId: base, quoteId: quote };
    return name.baseId === market.base && name.quoteId === market.quote;
  })?.symbol;
}

type Market = Omit<MarketRow, 'goneSinceMs'>;

function marketsOf(entry: MarketEntry, { markets, assets }: Listed, notes: Problem[]): NamedMarket[] {
  const isExcepted = excepted(entry.except);
  const named = marketsNamed(entry)?.filter((market) => !isExcepted(market));
  if (named !== undefined) {
    if (entry.sources.length === 0) for (const market of named) noteUnlisted(market, markets, entry, notes);
    return named;
  }
  const fits = matcherOf(entry);
  const isTop = topOf(entry, assets);
  const all = (markets ?? []).filter((one) => fits(one) && isTop(one.base) && !isExcepted(one));
  for (const key of ['exchange', 'base', 'quote'] as const) {
    const known = () => new Set((markets ?? []).map((market) => market[key]));
    noteUnknown(entry[key], known, `the ${key} of any listed market`, entry, notes);
  }
  return stillListed(all, (one) => `${one.exchange} ${one.base}/${one.quote}`, 'market', entry, notes);
}

function assetsOf(entry: AssetFilter, { assets }: Listed, notes: Problem[]): string[] {
  const isExcepted = anyOf(entry.except ?? []);
  const named = assetsNamed(entry)?.filter((asset) => !isExcepted(asset));
  const known = () => new Set((assets ?? []).map(({ asset }) => asset));
  if (assets !== null) noteUnknown(entry.asset, known, 'a listed asset', entry, notes);
  if (named !== undefined) return named;
  const fits = entry.asset === null ? () => true : anyOf(entry.asset);
  const isTop = topOf(entry, assets);
  const all = (assets ?? []).filter(({ asset }) => fits(asset) && isTop(asset) && !isExcepted(asset));
  return stillListed(all, ({ asset }) => asset, 'asset', entry, notes).map(({ asset }) => asset);
}

/** @returns the markets of an entry without patterns; null: it selects from the list. */
function marketsNamed({ exchange, base, quote, top }: MarketEntry): Market[] | null {
  if (top !== null || !isNamed(exchange) || !isNamed(base) || !isNamed(quote)) return null;
  return exchange.flatMap((exchange) => base.flatMap((base) => quote.map((quote) => ({ exchange, base, quote }))));
}

function assetsNamed({ asset, top }: AssetFilter): readonly string[] | null {
  return top === null && isNamed(asset) ? asset : null;
}

function isNamed(names: Names): names is readonly string[] {
  return names !== null && !names.some(isPattern);
}

function matcherOf(filter: MarketFilter): (market: Market) => boolean {
  const fits = (names: Names): Matcher => (names === null ? () => true : anyOf(names));
  const [exchange, base, quote] = [fits(filter.exchange), fits(filter.base), fits(filter.quote)];
  return (market) => exchange(market.exchange) && base(market.base) && quote(market.quote);
}

function excepted(filters: readonly MarketFilter[]): (market: Market) => boolean {
  const matchers = filters.map(matcherOf);
  return (market) => matchers.some((fits) => fits(market));
}

/** Matches the first listed assets by rank; without `top` any. */
function topOf({ top }: { readonly top: number | null }, assets: readonly AssetRow[] | null): Matcher {
  if (top === null) return () => true;
  const ranked = (assets ?? [])
    .filter(({ rank, goneSinceMs }) => rank !== null && goneSinceMs === null)
    .sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || (a.asset < b.asset ? -1 : 1));
  const first = new Set(ranked.slice(0, top).map(({ asset }) => asset));
  return (asset) => first.has(asset);
}

type Noted = Pick<MarketEntry | AssetFilter, 'place'>;

const maxNamed = 10;

/** The rows that the source still lists. Notes the others, and when there are none. */
function stillListed<Row extends { readonly goneSinceMs: EpochMs | null }>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  what: string,
  { place }: Noted,
  notes: Problem[],
): Row[] {
  const gone = rows.filter(({ goneSinceMs }) => goneSinceMs !== null).map(nameOf);
  if (gone.length > 0) {
    const more = gone.length > maxNamed ? ` and ${gone.length - maxNamed} more` : '';
    const names = gone.slice(0, maxNamed).join(', ');
    notes.push({ ...place, message: `left out, because the source no longer lists them: ${names}${more}` });
  }
  const found = rows.filter(({ goneSinceMs }) => goneSinceMs === null);
  if (found.length === 0) notes.push({ ...place, message: `matches no ${what} that the source lists` });
  return found;
}

/** Notes names without a pattern that are not listed. */
function noteUnknown(
  names: Names,
  known: () => ReadonlySet<string>,
  what: string,
  { place }: Noted,
  notes: Problem[],
): void {
  const literals = names?.filter((name) => !isPattern(name)) ?? [];
  if (literals.length === 0) return;
  const all = known();
  for (const name of literals) {
    if (!all.has(name))
      notes.push({ ...place, message: `${JSON.stringify(name)} is not ${what}${didYouMean(name, all)}` });
  }
}

/** Notes a named market that is not listed. It is tracked all the same: it may have history. */
function noteUnlisted(market: Market, markets: Listed['markets'], entry: Noted, notes: Problem[]): void {
  if (markets === null) return;
  const { exchange, base, quote } = market;
  const found = markets.find((one) => one.exchange === exchange && one.base === base && one.quote === quote);
  if (found !== undefined && found.goneSinceMs === null) return;
  const name = `${exchange} ${base}/${quote}`;
  const meant = namesMeant(
    { exchange, baseId: base, quoteId: quote },
    { exchanges: markets.map((one) => one.exchange), assets: markets.flatMap((one) => [one.base, one.quote]) },
  );
  const message =
    found === undefined
      ? `the source does not list ${name}${meant || ': is the name right?'}`
      : `the source no longer lists ${name}: its remaining history is fetched`;
  notes.push({ ...entry.place, message });
}

/** The lists of the source; null: never polled completely. */
export interface Listed {
  readonly markets: readonly MarketRow[] | null;
  readonly assets: readonly AssetRow[] | null;
  /** Of them, those without a recent poll. */
  readonly missing?: ReadonlySet<NeededList>;
  /** Why they were not polled; null: it is not known. */
  readonly whyMissing?: string | null;
  /** By name; absent: there is none beside the default one. */
  readonly sources?: ReadonlyMap<string, ListedSource>;
  /** Stored series of markets, each by its dataset and another name of its market. */
  readonly storedAs?: ReadonlyMap<string, SeriesKey>;
  /** The symbols that its sources' series have. */
  readonly uses?: readonly SymbolUse[];
}
