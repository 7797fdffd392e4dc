/** The markets of sources: read from the source when the stored list is old, and found by symbol. */

import { messageOf, TidemarkError } from '../../errors.ts';
import { type DatasetName, datasetOf, datasetText } from '../../model/datasets/index.ts';
import { formatTime, shellCommand } from '../../model/format.ts';
import { dayMs, type EpochMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { marketKind, quoteProblem } from '../../model/market.ts';
import type { SourceChoice } from '../../model/selection.ts';
import { isOfMarket, kindsGiven, type SeriesKey, seriesName } from '../../model/series.ts';
import { defaultSource, offerOf, type SourceFacts } from '../../model/sources.ts';
import { didYouMean } from '../../planning/near-names.ts';
import {
  assetsOf,
  isMisnamed,
  type Names,
  otherMarketOf,
  otherMarketText,
  trackedAs,
} from '../../planning/one-market.ts';
import { passedOverAfterMs } from '../../planning/source-share.ts';
import { pauseForUse } from '../../sources/profiles/use.ts';
import { type SourceSetup, usable } from '../../sources/registry.ts';
import { refusesAll, SourceError } from '../../sources/source-error.ts';
import { readMarketNames, storedKeys } from '../../store/series/aliases.ts';
import {
  readMarkets,
  readSymbols,
  readSymbolUses,
  type SeriesSource,
  type StoredMarket,
  sourcesInUse,
  storeMarkets,
} from '../../store/series/sources.ts';
import { readUnlisted } from '../../store/settings/settings.ts';
import { createSourceGate } from '../../workers/source-gate.ts';
import type { OperationContext } from '../context.ts';
import { assertNotPaused, asUseless, refusalSaid, remedyOf } from '../source-health.ts';
import { assertPossible, storeAliases } from './names.ts';

/** Markets are listed and delisted daily at most. */
const oldAfterMs = dayMs;

export function isOldList(seenAtMs: EpochMs, nowMs: EpochMs): boolean {
  return nowMs - seenAtMs >= oldAfterMs;
}

/** @throws TidemarkError BAD_ARGUMENT for a name that no source has. */
export async function sourceNamed(context: OperationContext, name: string): Promise<SourceSetup> {
  const sources = await context.sources();
  const found = sources.find(name);
  if (found !== undefined) return found;
  const known = [...sources.facts.keys()];
  const meant = didYouMean(name, known) || `; there are ${known.join(', ')}`;
  throw new TidemarkError('BAD_ARGUMENT', `no source is named ${JSON.stringify(name)}${meant}`, {
    remedy: '`tidemark sources` lists them; docs/sources.md says how to add one',
  });
}

/**
 * The markets of a source, from its own list: one request if the stored list is older than a day. If that fails, the
 * older list counts.
 *
 * @param waits whether a refusal that ends by itself is waited for.
 * @throws TidemarkError SOURCE_UNREACHABLE, SOURCE_UNUSABLE, SOURCE_REFUSED or PAUSED when it does not give the list,
 * and none is stored.
 */
export async function marketsOf(
  context: OperationContext,
  source: SourceSetup,
  nowMs: EpochMs,
  waits = false,
): Promise<StoredMarket[]> {
  const { database } = context;
  const stored = await readMarkets.on(database.pool, { source: source.facts.name });
  // A list is stored as a whole.
  const [listed] = stored;
  if (listed !== undefined && !isOldList(listed.seenAtMs, nowMs)) return stored;
  if (source.profile.lists.symbols === undefined)
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `the profile ${source.profile.name} has no list of markets`,
      source.profile.marketsOf === undefined
        ? {}
        : {
            remedy:
              `its files have the markets of ${source.profile.marketsOf.join(' and ')}, ` +
              'which use it as their `archive`',
          },
    );
  const asked = await requestSymbols(context, source, waits).catch((error: unknown) => {
    if (!(error instanceof TidemarkError) || error.code === 'INTERRUPTED' || listed === undefined) throw error;
    const seenAt = formatTime(listed.seenAtMs);
    context.log.warn(`the list of markets of ${source.facts.name} is that of ${seenAt}: ${error.message}`);
    return null;
  });
  if (asked === null) return stored;
  await storeMarkets(database, source.facts.name, asked.rows, nowMs);
  return readMarkets.on(database.pool, { source: source.facts.name });
}

/** Looks so often whether a list is old. */
const keepEveryMs = hourMs;
/** Tries lists so often that could not be read. */
const retryEveryMs = 10 * minuteMs;
/** And looks so often whether the watch list needs a list that was never read. */
const lookEveryMs = 3000;

/**
 * Reads the lists of the sources of tracked series again once they are a day old, so that the store has what changed in
 * them: new and delisted markets, and what a contract is worth. Those that the watch list needs are read at once. Of
 * several processes one reads a list first.
 */
export function keepMarkets(context: OperationContext): { close(): Promise<void> } {
  const { clock, database, log } = context;
  const failing = new Set<string>();
  let dueMs = 0;
  async function keep(name: string): Promise<void> {
    const source = (await context.sources()).find(name);
    if (source?.profile.lists.symbols === undefined || source.problem !== null) return;
    try {
      await marketsOf(context, source, clock.now());
      failing.delete(name);
    } catch (error) {
      if (context.signal?.aborted === true) return;
      if (!failing.has(name)) log.warn({ source: name, cause: messageOf(error) }, 'no list of markets; retrying');
      failing.add(name);
    }
  }
  return clock.repeat(lookEveryMs, async () => {
    const wanted = (await readUnlisted(database).catch(() => [])).filter((name) => !failing.has(name));
    const isDue = clock.now() >= dueMs;
    const inUse = isDue ? [...failing, ...(await sourcesInUse(database).catch(() => []))] : [];
    for (const name of new Set([...wanted, ...inUse])) await keep(name);
    if (isDue) dueMs = clock.now() + (failing.size > 0 ? retryEveryMs : keepEveryMs);
  });
}

/**
 * Makes one request, once the queue of the source is not paused. It then pauses for what the request costs, or for a
 * ban.
 */
async function requestSymbols(context: OperationContext, source: SourceSetup, waits: boolean) {
  const { profile, facts } = usable(source);
  const { name } = facts;
  await assertNotPaused(context, [[name]]);
  const queues = await context.openQueues();
  const requests = queues.requestsOf(name);
  let pauseMs = 0;
  const client = (await context.sources()).open(name, {
    clock: context.clock,
    connections: 1,
    onReply: (reply) => {
      pauseMs = pauseForUse(profile, reply, { concurrency: 0, nowMs: context.clock.now() });
    },
  });
  const { clock, database, log, signal } = context;
  const abandon = () => void client.abandon();
  signal?.addEventListener('abort', abandon);
  const gate = createSourceGate({ database, source: name, requests, log, clock });
  /** @returns null: it was refused for a while. */
  async function ask() {
    const entry = await gate.enter();
    const startedMs = clock.now();
    if (entry.kind === 'wait') {
      await untilResumed(context, name, entry.forMs, waits);
      return null;
    }
    context.phase(`reading the markets of ${name}`);
    try {
      return await (entry.kind === 'alone' ? gate.alone(() => client.symbols()) : client.symbols());
    } catch (error) {
      if (!(error instanceof SourceError && refusesAll(error.kind))) throw error;
      await gate.refused(error, startedMs);
      if (!waits || remedyOf(error.kind, source) !== null) throw error;
      return null;
    }
  }
  try {
    await gate.retry();
    await untilResumed(context, name, await requests.pausedForMs(), waits);
    for (;;) {
      const answer = await ask();
      if (answer !== null) return answer;
    }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    assertNotStopped(context, name);
    const useless = asUseless(error, name);
    if (useless !== null) throw useless;
    throw new TidemarkError(
      refusesAll(error.kind) ? 'SOURCE_REFUSED' : 'SOURCE_UNUSABLE',
      `the markets of ${name} cannot be read: ${error.message}`,
      { cause: error, remedy: remedyOf(error.kind, source) ?? 'run the same command again later' },
    );
  } finally {
    signal?.removeEventListener('abort', abandon);
    context.phase(null);
    await client.close();
    await requests.pauseForMs(pauseMs).finally(() => queues.close());
  }
}

/** @throws TidemarkError SOURCE_REFUSED when the pause is that of a ban, and is not waited for; INTERRUPTED. */
async function untilResumed(context: OperationContext, name: string, pausedMs: number, waits: boolean): Promise<void> {
  const { clock, phase, signal } = context;
  const until = formatTime(clock.now() + pausedMs);
  if (pausedMs > passedOverAfterMs && !waits)
    throw new TidemarkError('SOURCE_REFUSED', `${name} accepts no request before ${until}`, {
      remedy: 'run the same command again then',
    });
  if (pausedMs <= 0) return;
  const refusal = await refusalSaid(context, name);
  phase(`waiting for ${name} until ${until}${refusal === null ? '' : `: ${refusal}`}`);
  await clock.sleep(pausedMs, signal);
  assertNotStopped(context, name);
}

function assertNotStopped({ signal }: OperationContext, name: string): void {
  if (signal?.aborted === true)
    throw new TidemarkError('INTERRUPTED', `stopped before the markets of ${name} were read`);
}

/**
 * The series that a user selects at a source, and the source of each.
 *
 * @param series as far as their names are known: intervals, and the asset of a history.
 * @throws TidemarkError BAD_ARGUMENT when the source lacks the market, the dataset or the interval.
 */
export async function chooseSource(
  context: OperationContext,
  choice: SourceChoice,
  series: readonly SeriesKey[],
  nowMs: EpochMs,
): Promise<{ readonly series: SeriesKey[]; readonly sources: SeriesSource[] }> {
  const source = await sourceNamed(context, choice.name);
  usable(source);
  const problem = quoteProblem(choice.quote ?? choice.symbol?.split('/')[1] ?? 'any');
  if (problem !== null) throw new TidemarkError('BAD_ARGUMENT', problem);
  if (choice.symbol === null) assertPossible(series);
  const { all } = await context.sources();
  for (const key of series) assertGives(source, key, all());
  if (choice.symbol === null) {
    const [first] = series;
    if (first !== undefined && isOfMarket(first) && source.profile.exchange !== null)
      throw new TidemarkError('BAD_ARGUMENT', `${source.facts.name} needs --symbol, such as --symbol BTC/USDT`);
    const symbol = first === undefined || isOfMarket(first) ? '' : first.assetId;
    return { series: [...series], sources: [{ source: source.facts.name, symbol, isArchive: false }] };
  }
  const market = await findMarket(context, source, choice.symbol, choice, nowMs);
  for (const { dataset } of series) assertHas(dataset, market, source);
  await storeAliases(context);
  if (choice.quote !== undefined && marketKind(choice.quote) !== marketKind(market.quote))
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `${market.symbol} of ${source.facts.name} is a ${marketKind(market.quote)} market, and --quote ${choice.quote} ` +
        `is a ${marketKind(choice.quote)} one`,
    );
  const exchange = choice.exchange ?? source.profile.exchange ?? source.facts.name;
  const known = (await readMarketNames(context.database.pool, source.facts.name, exchange)).get(market.symbol);
  const ids = { base: known?.baseId ?? market.base, quote: known?.quoteId ?? market.quote };
  const { base = ids.base, quote = ids.quote } = choice;
  await assertSettledSo(context, source, market, { ids, given: { base, quote } });
  const names = { exchange, baseId: base, quoteId: quote };
  const keys = await storedKeys(
    context.database.pool,
    series.map((key) => (isOfMarket(key) ? { ...key, ...names } : key)),
  );
  const isNamed = choice.base !== undefined || choice.quote !== undefined;
  return {
    series: await oneMarketEach(context, keys, { source: source.facts.name, symbol: market.symbol, isNamed }),
    sources: await withArchive(context, source, market.symbol, keys),
  };
}

/** @throws TidemarkError BAD_ARGUMENT for names that contradict the stored list of the source. */
async function assertSettledSo(
  context: OperationContext,
  source: SourceSetup,
  { symbol, base, quote }: StoredMarket,
  { ids, given }: { readonly ids: Names; readonly given: Names },
): Promise<void> {
  if (marketKind(quote) === 'spot') return;
  const lister = await listerOf(context, source);
  const listed = lister === null ? [] : await readMarkets.on(context.database.pool, { source: lister.facts.name });
  const market = listed.find((one) => one.symbol === symbol) ?? { base, quote };
  const codes = new Set(listed.flatMap((one) => Object.values(assetsOf(one))));
  if (!isMisnamed(market, ids, given, codes)) return;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `${symbol} of ${source.facts.name} is ${pairOf(market)}, and not ${pairOf(given)}`,
    { remedy: 'leave out --base and --quote, or give each of its assets one name in both' },
  );
}

/**
 * The series as they are tracked already. One market is one series, and a series has one market of a source.
 *
 * @param given.isNamed whether the user gave the names; if not, aliases did.
 * @throws TidemarkError BAD_ARGUMENT when the user's names would make it two, or aliases one of two markets.
 */
async function oneMarketEach(
  { database }: OperationContext,
  keys: readonly SeriesKey[],
  given: { readonly source: string; readonly symbol: string; readonly isNamed: boolean },
): Promise<SeriesKey[]> {
  const { source, symbol, isNamed } = given;
  const uses = await readSymbolUses(database.pool, [source]);
  return keys.map((key) => {
    const tracked = trackedAs(uses, key, given);
    if (isNamed && seriesName(tracked) !== seriesName(key))
      throw new TidemarkError('BAD_ARGUMENT', `${symbol} of ${source} is tracked as ${seriesName(tracked)}`, {
        remedy: 'leave out --base and --quote, or untrack that series first',
      });
    const other = otherMarketOf(uses, tracked, given);
    if (other !== undefined)
      throw new TidemarkError('BAD_ARGUMENT', otherMarketText(tracked, other, given), {
        remedy: 'name this one with --base and --quote, or correct `aliases` of the watch list',
      });
    return tracked;
  });
}

/** The source, after its archive if that has every interval. */
async function withArchive(
  context: OperationContext,
  { facts: { name, archive } }: SourceSetup,
  symbol: string,
  series: readonly SeriesKey[],
): Promise<SeriesSource[]> {
  const own = { source: name, symbol, isArchive: false };
  if (archive === null) return [own];
  const { facts } = await sourceNamed(context, archive);
  return series.every((key) => isGiven(facts, key)) ? [{ source: archive, symbol, isArchive: true }, own] : [own];
}

/** Contracts in dollars are settled in their base, those in a coin in that one. */
function settlementOf(pair: string): string | undefined {
  const [base, quote] = pair.split('/');
  return quote === 'USD' ? base : quote;
}

async function findMarket(
  context: OperationContext,
  source: SourceSetup,
  symbol: string,
  names: Pick<SourceChoice, 'base' | 'quote'>,
  nowMs: EpochMs,
): Promise<StoredMarket> {
  const wanted = symbol.toUpperCase();
  const kind = marketKind(wanted.split('/')[1] ?? names.quote ?? '');
  if (wanted.includes('/') && !source.profile.kinds.includes(kind))
    throw new TidemarkError('UNKNOWN_AT_SOURCE', `${source.facts.name} has no ${kind} markets`, {
      remedy:
        kind === 'spot'
          ? `name a market with what it is settled in, such as ${wanted}:${settlementOf(wanted)}`
          : namesOf(
              (await context.sources()).all(),
              ({ exchange, kinds }) => exchange !== null && kinds.includes(kind),
              `has ${kind} markets`,
            ),
    });
  const unlisted = unlistedMarket(source, wanted, names, nowMs);
  if (unlisted !== null && source.profile.files !== null) return unlisted;
  if (source.profile.files !== null)
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `${source.facts.name} has no list that says of which two assets ${wanted} is the market`,
      { remedy: 'name it as BTC/USDT, or name them with --base and --quote' },
    );
  // What is known without the list does not wait for it.
  const waits = unlisted === null || source.facts.archive === null;
  const markets = await marketsOf(context, source, nowMs, waits).catch((error: unknown) => {
    // Its archive answers at another address.
    if (!(error instanceof TidemarkError) || error.code === 'INTERRUPTED') throw error;
    if (unlisted === null || source.facts.archive === null) throw error;
    context.log.warn(`${symbol} is taken for ${unlisted.symbol} of ${source.facts.name}: ${error.message}`);
    return [unlisted];
  });
  const pairs = new Map<string, StoredMarket>();
  for (const market of markets) {
    const pair = pairOf(market).toUpperCase();
    if (!pairs.has(pair)) pairs.set(pair, market);
  }
  const found = pairs.get(wanted) ?? markets.find((market) => market.symbol.toUpperCase() === wanted);
  if (found !== undefined) return found;
  const [search = ''] = wanted.split('/');
  const command = shellCommand('tidemark', 'markets', '--source', source.facts.name, '--search', search);
  throw new TidemarkError(
    'UNKNOWN_AT_SOURCE',
    `${source.facts.name} has no market ${JSON.stringify(symbol)}${didYouMean(wanted, pairs.keys())}`,
    { remedy: `\`${command}\` lists its markets` },
  );
}

/**
 * The market of a pair such as `BTC/USDT` whose symbol follows from its codes, or of a symbol of which the user names
 * the assets; null: it takes the list.
 */
function unlistedMarket(
  { profile }: SourceSetup,
  wanted: string,
  names: Pick<SourceChoice, 'base' | 'quote'>,
  seenAtMs: EpochMs,
): StoredMarket | null {
  const pair = /^([^/]+)\/([^/]+)$/.exec(wanted);
  const [base, quote] = pair?.slice(1) ?? [names.base, names.quote];
  if (base === undefined || quote === undefined || profile.symbolOf === undefined) return null;
  return {
    symbol: pair === null ? wanted : profile.symbolOf(base, quote),
    base,
    quote,
    listedMs: null,
    isTrading: true,
    contract: null,
    seenAtMs,
  };
}

/**
 * The source whose list of markets names those of a source: itself, or of an archive the one that it belongs to; null:
 * none.
 */
export async function listerOf(
  context: Pick<OperationContext, 'database' | 'sources'>,
  source: SourceSetup,
): Promise<SourceSetup | null> {
  const { lists, marketsOf: names = [] } = source.profile;
  if (lists.symbols !== undefined) return source;
  const givers = (await context.sources()).all().filter((other) => names.includes(other.profile.name));
  const inUse = await sourcesInUse(context.database);
  return (
    givers.find(({ facts }) => facts.archive === source.facts.name && inUse.includes(facts.name)) ??
    givers.find(({ facts }) => inUse.includes(facts.name)) ??
    givers.find(({ facts }) => facts.archive === source.facts.name) ??
    givers[0] ??
    null
  );
}

/** `BTC/USDT` */
export function pairOf({ base, quote }: { readonly base: string; readonly quote: string }): string {
  return `${base}/${quote}`;
}

/** Whether a source's profile has the dataset, the interval and the kind of market; it may lack the market itself. */
export function isGiven(facts: SourceFacts, series: SeriesKey): boolean {
  if (offerOf(facts.offers, series.dataset)?.longestRangeMs[series.interval] === undefined) return false;
  return !isOfMarket(series) || kindsGiven(facts, series.dataset).includes(marketKind(series.quoteId));
}

function assertGives({ facts: { name, offers } }: SourceSetup, key: SeriesKey, all: readonly SourceSetup[]): void {
  const what = datasetText(key.dataset);
  const intervals = Object.keys(offerOf(offers, key.dataset)?.longestRangeMs ?? {});
  if (intervals.includes(key.interval)) return;
  const isGiver = ({ offers }: SourceFacts) => offerOf(offers, key.dataset)?.longestRangeMs[key.interval] !== undefined;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    intervals.length === 0
      ? `${name} gives no ${what}`
      : `${name} gives no ${what} of ${key.interval}, only ${intervals.join(', ')}`,
    { remedy: namesOf(all, isGiver, 'gives them') },
  );
}

/** @throws TidemarkError BAD_ARGUMENT for a dataset that markets of the kind do not have, or not at the source. */
function assertHas(dataset: DatasetName, { symbol, quote }: StoredMarket, { facts }: SourceSetup): void {
  const kind = marketKind(quote);
  const { of, kinds } = datasetOf(dataset);
  if (of === 'asset') return;
  const given = kindsGiven(facts, dataset);
  if (given.includes(kind)) return;
  const what = datasetText(dataset);
  throw new TidemarkError(
    'BAD_ARGUMENT',
    kinds.includes(kind)
      ? `${facts.name} gives no ${what} of a ${kind} market such as ${symbol}`
      : `${symbol} is a ${kind} market, which has no ${what}`,
    { remedy: `name a ${given.join(' or ')} market` },
  );
}

/** Which sources are such, in a sentence: first those that can be asked. Archives are used by themselves. */
function namesOf(all: readonly SourceSetup[], isSuch: (facts: SourceFacts) => boolean, what: string): string {
  const such = all.filter(({ facts }) => facts.files === null && isSuch(facts));
  const isUsable = ({ problem }: SourceSetup) => problem === null;
  const others = such.filter((one) => !isUsable(one) && one.facts.name !== defaultSource);
  const names = [...such.filter(isUsable), ...others].map(({ facts }) => facts.name);
  if (names.length > 0) return `one of these ${what}: ${names.join(', ')}`;
  return 'docs/sources.md lists what each source gives';
}

/**
 * The symbols of series at a source: of those that it gives, by their own row or by the codes of their assets.
 *
 * @param series of any dataset; one that the source lacks is absent from the result.
 */
export async function symbolsAt(
  context: OperationContext,
  source: SourceSetup,
  series: ReadonlyArray<{ readonly seriesId: number; readonly series: SeriesKey }>,
  nowMs: EpochMs,
): Promise<ReadonlyMap<number, string>> {
  const given = series.filter(({ series: key }) => isGiven(source.facts, key));
  // A Market Data Service is asked by the names of a series.
  if (source.facts.name === defaultSource) return new Map(given.map(({ seriesId }) => [seriesId, '']));
  await storeAliases(context);
  const own = await readSymbols(context.database, source.facts.name);
  const pairs = new Map<string, string>();
  if (given.some(({ seriesId, series: key }) => isOfMarket(key) && !own.has(seriesId))) {
    const lister = await listerOf(context, source);
    const listing = lister === null ? [] : await marketsOf(context, lister, nowMs);
    const ids = await readMarketNames(
      context.database.pool,
      lister?.facts.name ?? source.facts.name,
      source.profile.exchange ?? source.facts.name,
    );
    for (const market of listing) {
      const { baseId = market.base, quoteId = market.quote } = ids.get(market.symbol) ?? {};
      pairs.set(pairOf({ base: baseId, quote: quoteId }), market.symbol);
      pairs.set(pairOf(market), market.symbol);
    }
  }
  const symbolOf = (key: SeriesKey) =>
    isOfMarket(key) ? pairs.get(pairOf({ base: key.baseId, quote: key.quoteId })) : key.assetId;
  return new Map(
    given.flatMap(({ seriesId, series: key }) => {
      const symbol = own.get(seriesId) ?? symbolOf(key);
      return symbol === undefined ? [] : [[seriesId, symbol] as const];
    }),
  );
}
