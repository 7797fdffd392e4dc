/** What a command says of a source that cannot answer: stops with an error, or explains the outage. */

import { TidemarkError } from '../errors.ts';
import { counted, formatCount, formatDuration, formatTime, isoTime, wholeSecond } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import { printable } from '../model/names.ts';
import { seriesHold } from '../model/reasons.ts';
import { defaultSource, type Limit, type SourceFacts, sourceText } from '../model/sources.ts';
import { expectedCost, type LoweredBudget } from '../planning/budget.ts';
import { type PausedRequests, pausedText, type QueueFacts, sentenceOf, sinceText } from '../planning/headline.ts';
import { isPausedBySource } from '../planning/progress.ts';
import {
  againText,
  type ExplainedOutage,
  everyHold,
  holdText,
  type SourceOutage,
  type Unanswered,
} from '../planning/source-outage.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { SourceSetup } from '../sources/registry.ts';
import type { SourceError } from '../sources/source-error.ts';
import { readServiceMessage, readUse } from '../store/ledger/ledger.ts';
import type { FetchTally } from '../store/ledger/ledger-minutes.ts';
import { readRateRefusals } from '../store/ledger/recent-answers.ts';
import { readSourceOutages, readTroubleOf } from '../store/ledger/source-outage.ts';
import { askableIn, readSourceLists, readSourceTexts } from '../store/series/sources.ts';
import { readPause } from '../store/settings/settings.ts';
import { readSourcePauses } from '../store/settings/source-orders.ts';
import { readRefusal, readRefusedUntil } from '../store/settings/source-refusal.ts';
import { askQueues, type OperationContext, withQueues } from './context.ts';

/** Failed requests without a success after which the source is considered unusable. */
const hopelessAfter = 4;

/** @throws TidemarkError SOURCE_NOTICE when the source answers with a service message. */
export async function assertNoServiceMessage(
  context: OperationContext,
  { startedMs, pausedMs }: { startedMs: EpochMs; pausedMs: number },
): Promise<void> {
  const serviceMessage = await readServiceMessage(context.database, context.clock.now());
  if (serviceMessage === null || (serviceMessage.timeMs < startedMs && !isPausedBySource(pausedMs))) return;
  const nowMs = context.clock.now();
  const when =
    serviceMessage.timeMs < startedMs
      ? `, received ${formatTime(serviceMessage.timeMs)}; running workers retry ${formatTime(nowMs + pausedMs)}`
      : '';
  throw new TidemarkError('SOURCE_NOTICE', `${serviceMessage.message}${when}`);
}

/**
 * @param lists sources of each thing that is requested, in any of which it may be.
 * @throws TidemarkError PAUSED while somebody has paused all requests, or those to every source of a list.
 */
export async function assertNotPaused(
  { database, clock }: Pick<OperationContext, 'database' | 'clock'>,
  lists: Iterable<readonly string[]>,
): Promise<void> {
  const pause = await readPause(database.pool);
  if (pause !== null) throw new TidemarkError('PAUSED', `requests are paused since ${formatTime(pause.sinceMs)}`);
  const paused = await readSourcePauses(database);
  for (const sources of paused.size === 0 ? [] : lists) {
    const [source] = sources;
    const ofSource = source === undefined ? undefined : paused.get(source);
    if (source === undefined || ofSource === undefined || !sources.every((name) => paused.has(name))) continue;
    const remedy = `\`tidemark sources resume ${source}\` goes on`;
    const nameOf = await readSourceTexts(database, clock.now());
    throw new TidemarkError('PAUSED', pausedText(source, ofSource, nameOf(source)), { remedy });
  }
}

/**
 * @param sinceMs a refusal before is that of another command.
 * @throws TidemarkError SOURCE_REFUSED when it refuses every request until the user changes something.
 */
export async function assertNotRefused(
  { database }: Pick<OperationContext, 'database'>,
  source: SourceSetup,
  sinceMs: EpochMs,
): Promise<void> {
  const refusal = await readRefusal(database, source.facts.name);
  if (refusal === null || refusal.acceptedAtMs !== null || refusal.atMs < sinceMs) return;
  const remedy = remedyOf(refusal.kind, source);
  if (remedy !== null) throw new TidemarkError('SOURCE_REFUSED', refusal.message, { remedy });
}

/** What a user can do about a refusal of all requests; null: it ends by itself. */
export function remedyOf(kind: string, source: SourceSetup): string | null {
  if (kind === 'unauthorized') {
    if (source.facts.name === defaultSource) return 'check SOURCE_API_KEY, and what its plan includes';
    const takesKey = Object.keys(source.profile.keyHeaders('key')).length > 0;
    return takesKey
      ? `check the key of ${source.facts.name} in \`sources\` of the watch list, and what its plan includes`
      : null;
  }
  if (kind !== 'country_refused') return null;
  const { url } = source.profile;
  return url === null || source.url === url
    ? 'the source does not serve the country of this address: use another source, or a network elsewhere'
    : `the profile's own address, ${url}, may serve it: leave out \`url\` of ${source.facts.name} in \`sources\` ` +
        'of the watch list';
}

/**
 * Such as `binance refuses requests: status 403: …; one is sent alone at 12:01`. Null: it does not, or ends the
 * command.
 */
export async function refusalSaid(
  { database, clock }: Pick<OperationContext, 'database' | 'clock'>,
  source: string,
): Promise<string | null> {
  const refusal = await readRefusal(database, source);
  if (refusal === null || refusal.acceptedAtMs !== null || refusal.kind === 'notice') return null;
  const alone = `one is sent alone at ${formatTime(refusal.untilMs)}`;
  const nameOf = await readSourceTexts(database, clock.now());
  return `${nameOf(source)} refuses requests: ${printable(refusal.message)}; ${alone}`;
}

/** @param name of the source. @throws TidemarkError when every request failed so far. */
export function assertSourceUsable(tally: FetchTally, name: string): void {
  const last = tally.lastFailure;
  if (last === null) return;
  if (tally.succeeded > 0 || tally.failed < hopelessAfter) return;
  for (const kinds of [unusable, silent]) {
    const failures = kinds.reduce((sum, kind) => sum + (tally.failures[kind] ?? 0), 0);
    if (2 * failures > tally.failed) throw uselessSource(kinds, last.message, name);
  }
}

/** A 404 without the interface's JSON: the server does not know its paths. */
const unusable: readonly string[] = ['unexpected', 'not_found'];
const silent: readonly string[] = ['unreachable', 'timeout'];

/** What a failed request says of the whole source; null: nothing. */
export function asUseless({ kind, message }: SourceError, name: string): TidemarkError | null {
  const kinds = [unusable, silent].find((one) => one.includes(kind));
  return kinds === undefined ? null : uselessSource(kinds, message, name);
}

function uselessSource(kinds: readonly string[], message: string, name: string): TidemarkError {
  if (name === defaultSource)
    return new TidemarkError(kinds === silent ? 'SOURCE_UNREACHABLE' : 'SOURCE_NOT_A_MARKET_DATA_SERVICE', message);
  if (kinds === silent)
    return new TidemarkError('SOURCE_UNREACHABLE', `${name}: ${message}`, {
      remedy: 'check the network, and its url if the watch list has one',
    });
  return new TidemarkError('SOURCE_UNUSABLE', `${name} is answering unusably: ${message}`, {
    remedy: 'check its url in `sources` of the watch list; docs/sources.md describes the profile',
  });
}

/**
 * The planner stops before a limit of a long period, such as the credits of a month, is exceeded.
 *
 * @param periods of the smallest request that is left.
 * @throws TidemarkError SOURCE_REFUSED when less is left of it.
 */
export async function assertCreditsLeft(
  { database }: Pick<OperationContext, 'database'>,
  { name, longLimit }: Pick<SourceFacts, 'name' | 'longLimit'>,
  periods: number,
  nowMs: EpochMs,
): Promise<void> {
  if (longLimit === null) return;
  const { periodMs, amount } = longLimit;
  const { used, firstMs } = await readUse(database, name, longLimit, nowMs);
  const needed = expectedCost(longLimit, periods);
  const left = Math.max(0, amount - used);
  if (left >= needed) return;
  const when =
    firstMs === null || needed > amount
      ? 'no request of this kind fits: '
      : `the first ones are free again at ${formatTime(firstMs + periodMs)}, and \`run\` goes on when enough are; `;
  throw new TidemarkError('SOURCE_REFUSED', creditsText(name, longLimit, used, needed), {
    remedy: `${when}\`credits\` of the watch list states those of another plan`,
  });
}

/** @param needed by the next request. */
export function creditsText(name: string, { amount, unit, periodMs }: Limit, used: number, needed: number): string {
  const left = formatCount(Math.max(0, amount - used));
  return (
    `${name}: ${formatCount(used)} of ${counted(amount, unit)} in ${formatDuration(periodMs)} are used, ${left} ` +
    `are left, and the next request needs about ${formatCount(needed)}`
  );
}

/** Of each source that does not answer. */
export async function readOutages(
  context: Pick<OperationContext, 'database' | 'openQueues'>,
  nowMs: EpochMs,
): Promise<ExplainedOutage[]> {
  const outages = await readSourceOutages(context.database, nowMs);
  if (outages.length === 0) return [];
  const readQueue = async (queues: QueueBackend, { source }: SourceOutage) => {
    const requests = queues.requestsOf(source);
    const [workers, pausedMs] = await Promise.all([requests.countWorkers(), requests.pausedForMs()]);
    return { workers, pausedMs };
  };
  const found = await askQueues(
    context,
    (queues) => Promise.all(outages.map((outage) => readQueue(queues, outage))),
    () => [],
  );
  const explained: ExplainedOutage[] = [];
  for (const [place, outage] of outages.entries()) {
    const refusedUntilMs = await readRefusedUntil(context.database, outage.source, nowMs);
    explained.push(withRetry(outage, found[place] ?? null, refusedUntilMs, nowMs));
  }
  return explained;
}

/** Of each of these sources that gets requests, the last one to which no answer came. */
export async function readUnanswered(
  context: Pick<OperationContext, 'database'>,
  sources: readonly string[],
  nowMs: EpochMs,
): Promise<ReadonlyMap<string, Unanswered>> {
  const { database } = context;
  const found = new Map<string, Unanswered>();
  if ((await readPause(database.pool)) !== null) return found;
  const pauses = await readSourcePauses(database);
  const bans = await readBans(context, sources, nowMs);
  for (const source of sources.filter((one) => !pauses.has(one) && !bans.has(one))) {
    const { unanswered } = await readTroubleOf(database, source, nowMs);
    if (unanswered !== null) found.set(source, unanswered);
  }
  return found;
}

/** For `explainGap`. */
export function againOf(unanswered: ReadonlyMap<string, Unanswered>): (source: string) => string | null {
  return (source) => {
    const one = unanswered.get(source);
    return one === undefined ? null : againText(one);
  };
}

/** What has to come before anything is requested of a series: null where nothing has to. For `explainGap`. */
export async function readHolds(
  context: Pick<OperationContext, 'database' | 'openQueues'>,
  seriesIds: readonly number[],
  { outages, nowMs }: { readonly outages: readonly SourceOutage[]; readonly nowMs: EpochMs },
): Promise<(seriesId: number) => string | null> {
  const { database } = context;
  if ((await readPause(database.pool)) !== null) return () => everyHold;
  const lists = await readSourceLists(database.pool, seriesIds);
  const sources = [...new Set([...lists.values()].flat().map(({ source }) => source))];
  const bans = await readBans(context, sources, nowMs);
  const withoutWorker = await readWithoutWorker(context, sources);
  const pauses = await readSourcePauses(database);
  const nameOf = await readSourceTexts(database, nowMs);
  const holdOf = (source: string) => {
    const state = {
      isPaused: pauses.has(source),
      isAway: outages.some((outage) => outage.source === source),
      refusedUntilMs: bans.get(source) ?? null,
      hasNoWorker: withoutWorker.has(source),
    };
    return holdText(source, state, nameOf(source));
  };
  return (seriesId) => seriesHold(askableIn(lists.get(seriesId) ?? []), holdOf);
}

/** Those of the sources that have no worker; none of them where the queue does not say. */
export async function readWithoutWorker(
  context: Pick<OperationContext, 'openQueues'>,
  sources: readonly string[],
): Promise<ReadonlySet<string>> {
  if (sources.length === 0) return new Set();
  const readIdle = async (queues: QueueBackend) => {
    const counts = await Promise.all(sources.map((source) => queues.requestsOf(source).countWorkers()));
    return sources.filter((_, place) => counts[place] === 0);
  };
  return new Set(
    await withQueues(context, readIdle).catch((error: unknown) => {
      if (error instanceof TidemarkError) return [];
      throw error;
    }),
  );
}

/** What is said of what holds requests up: `paused` by a user, or `waiting` for a source. */
export interface HeldUp {
  readonly state: 'paused' | 'waiting';
  readonly text: string;
}

/** What holds up all requests, or all for these series; null: nothing does. @param queue null: it does not answer. */
export async function readHeldUp(
  { database }: Pick<OperationContext, 'database'>,
  seriesIds: readonly number[],
  { queue, nowMs }: { readonly queue: QueueFacts | null; readonly nowMs: EpochMs },
): Promise<{ readonly all: HeldUp | null; of(seriesIds: readonly number[]): HeldUp | null }> {
  const pause = await readPause(database.pool);
  if (pause !== null) {
    const all = { state: 'paused', text: `requests are ${sinceText(pause)}` } as const;
    return { all, of: () => all };
  }
  const lists = await readSourceLists(database.pool, seriesIds);
  const nameOf = await readSourceTexts(database, nowMs);
  const pauses = await readSourcePauses(database);
  const refusals = await readRateRefusals(database, nowMs);
  const held = new Map<string, HeldUp>();
  for (const source of new Set([...lists.values()].flatMap(askableIn))) {
    const { outage } = await readTroubleOf(database, source, nowMs);
    const refusedUntilMs = await readRefusedUntil(database, source, nowMs);
    const [ofSource, refusal] = [pauses.get(source) ?? null, refusals.get(source) ?? null];
    const state = { source, outage, pause: ofSource, refusal, refusedUntilMs, isUsedUp: false };
    const text = sentenceOf(state, { queue: queue ?? { away: '' }, nowMs, pause }, nameOf(source));
    if (text !== null) held.set(source, { state: ofSource === null ? 'waiting' : 'paused', text });
  }
  return {
    all: null,
    of(ids) {
      const names = ids.map((id) => seriesHold(askableIn(lists.get(id) ?? []), (one) => (held.has(one) ? one : null)));
      return names.includes(null) ? null : (held.get(names[0] ?? '') ?? null);
    },
  };
}

/** What is said of pauses that hold up requests to these sources. */
export async function pausesOf(
  { database }: Pick<OperationContext, 'database'>,
  sources: readonly string[],
  nowMs: EpochMs,
): Promise<string[]> {
  const all = await readPause(database.pool);
  const one = await readSourcePauses(database);
  const nameOf = await readSourceTexts(database, nowMs);
  return [
    ...(all === null ? [] : [`requests are ${sinceText(all)}`]),
    ...sources.flatMap((source) => {
      const pause = one.get(source);
      return pause === undefined ? [] : [pausedText(source, pause, nameOf(source))];
    }),
  ];
}

/** The sources that refuse all requests, and until when each accepts none. */
export async function readBans(
  { database }: Pick<OperationContext, 'database'>,
  sources: readonly string[],
  nowMs: EpochMs,
): Promise<ReadonlyMap<string, EpochMs>> {
  const bans = new Map<string, EpochMs>();
  for (const source of sources) {
    const refusal = await readRefusal(database, source);
    const isRefused = refusal !== null && refusal.acceptedAtMs === null;
    if (isRefused && refusal.untilMs > nowMs) bans.set(source, refusal.untilMs);
  }
  return bans;
}

/** Shorter ones are the spacing of requests, or follow a failure or two. */
const shownPauseMs = 5000;

/** Why a source that is not away gets no request now; null: it gets some. */
export function heldText(
  { refusedUntilMs, pausedMs }: { readonly refusedUntilMs: EpochMs | null; readonly pausedMs: number | null },
  nowMs: EpochMs,
): string | null {
  if (refusedUntilMs !== null) return `accepts no request until ${formatTime(wholeSecond(refusedUntilMs))}`;
  return pausedMs === null || pausedMs < shownPauseMs
    ? null
    : `next request at ${formatTime(wholeSecond(nowMs + pausedMs))}`;
}

/** @param name of the source, in a sentence. */
export function banText(source: string, untilMs: EpochMs, name = sourceText(source)): string {
  return `${name} accepts no request until ${formatTime(untilMs)}`;
}

/** @param queue the connected workers, and how long they start no request; null: it does not answer. */
export function withRetry(
  outage: SourceOutage,
  queue: { readonly workers: number; readonly pausedMs: number } | null,
  refusedUntilMs: EpochMs | null,
  nowMs: EpochMs,
): ExplainedOutage {
  const workers = queue?.workers ?? null;
  if (queue === null || workers === 0) return { ...outage, refusedUntilMs, workers, retryAtMs: null };
  // A pause lasts whole seconds from a try on, and its rest is read a moment later.
  const pauseMs = Math.round((nowMs + queue.pausedMs - outage.lastTriedMs) / 1000) * 1000;
  return { ...outage, refusedUntilMs, workers, retryAtMs: refusedUntilMs ?? outage.lastTriedMs + pauseMs };
}

export const pauseJson = (pause: PausedRequests | null) =>
  pause === null ? null : { since: isoTime(pause.sinceMs), by: pause.by };

export const loweredJson = (lowered: LoweredBudget | null) =>
  lowered === null ? null : { perMinute: lowered.perMinute, since: isoTime(lowered.sinceMs), by: lowered.by };

interface OutageJson extends Pick<SourceOutage, 'kind' | 'message'> {
  readonly since: string;
  readonly lastTried: string;
  readonly retryAt: string | null;
}

export function outageJson(outage: ExplainedOutage): OutageJson;
export function outageJson(outage: ExplainedOutage | null): OutageJson | null;
export function outageJson(outage: ExplainedOutage | null): OutageJson | null {
  return outage === null
    ? null
    : {
        since: isoTime(outage.sinceMs),
        lastTried: isoTime(outage.lastTriedMs),
        kind: outage.kind,
        message: outage.message,
        retryAt: isoTime(outage.retryAtMs),
      };
}
