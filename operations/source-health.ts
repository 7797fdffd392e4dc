/** What a command says of a source that cannot answer: stops with an error, or explains the outage. */

import type { EpochMs } from '../contract/intervals.ts';
import { printable } from '../contract/names.ts';
import { TidemarkError } from '../errors.ts';
import { counted, formatCount, formatDuration, formatTime, isoTime } from '../format.ts';
import { requestsLeft } from '../planning/budget.ts';
import { costSince, type FetchTally, readServiceMessage } from '../store/ledger/ledger.ts';
import { readSourceOutage, type SourceOutage } from '../store/ledger/source-outage.ts';
import type { OperationContext } from './context.ts';
import { isPausedBySource } from './progress.ts';
import type { ConfiguredSource } from './sources/configured.ts';

/** Failed requests without a success after which the source is considered unusable. */
const hopelessAfter = 4;

/** @throws TidemarkError SOURCE_NOTICE when the source answers with a service message. */
export async function assertNoServiceMessage(
  context: OperationContext,
  { startedMs, pausedMs }: { startedMs: EpochMs; pausedMs: number },
): Promise<void> {
  const serviceMessage = await readServiceMessage(context.database, Date.now());
  if (serviceMessage === null || (serviceMessage.timeMs < startedMs && !isPausedBySource(pausedMs))) return;
  const nowMs = Date.now();
  const when =
    serviceMessage.timeMs < startedMs
      ? `, received ${formatTime(serviceMessage.timeMs)}; running workers retry ${formatTime(nowMs + pausedMs)}`
      : '';
  throw new TidemarkError('SOURCE_NOTICE', `${serviceMessage.message}${when}`);
}

/** @param name of the source; absent: the default one. @throws TidemarkError when every request failed so far. */
export function assertSourceUsable(tally: FetchTally, name?: string): void {
  const last = tally.lastFailure;
  if (last === null) return;
  // An expired key: every later request is refused too.
  if (last.kind === 'unauthorized' && tally.endsInFailure)
    throw new TidemarkError('SOURCE_REFUSED', last.message);
  if (tally.succeeded > 0 || tally.failed < hopelessAfter) return;
  const failedMostlyBy = (...kinds: string[]) =>
    2 * kinds.reduce((sum, kind) => sum + (tally.failures[kind] ?? 0), 0) > tally.failed;
  // A 404 without the interface's JSON: the server does not know its paths.
  if (failedMostlyBy('unexpected', 'not_found')) {
    if (name !== undefined)
      throw new TidemarkError(
        'SOURCE_REFUSED',
        `${name} does not answer as its profile describes: ${last.message}`,
        {
          remedy: 'check its url in `sources` of the watch list; docs/sources.md describes the profile',
        },
      );
    throw new TidemarkError('SOURCE_NOT_A_MARKET_DATA_SERVICE', last.message);
  }
  if (failedMostlyBy('unreachable', 'timeout'))
    throw new TidemarkError(
      'SOURCE_UNREACHABLE',
      name === undefined ? last.message : `${name}: ${last.message}`,
      name === undefined ? {} : { remedy: 'check the network, and its url if the watch list has one' },
    );
}

/** The default source is a Market Data Service. */
const ofDefault: Readonly<Partial<Record<SourceOutage['kind'], string>>> = Object.freeze({
  unexpected: 'does not answer as a Market Data Service',
  not_found: 'does not know the addresses of a Market Data Service',
});

/**
 * The planner stops before a limit of a long period, such as the credits of a month, is exceeded.
 *
 * @throws TidemarkError SOURCE_REFUSED when nothing is left of it.
 */
export async function assertCreditsLeft(
  { database }: Pick<OperationContext, 'database'>,
  { name, longLimit }: ConfiguredSource,
  nowMs: EpochMs,
): Promise<void> {
  if (longLimit === null) return;
  const { periodMs, bytesEach, amount, unit } = longLimit;
  const cost = await costSince(database, name, { sinceMs: nowMs - periodMs, bytesEach });
  if (requestsLeft(longLimit, cost) > 0) return;
  throw new TidemarkError(
    'SOURCE_REFUSED',
    `${name}: ${formatCount(cost.used)} of ${counted(amount, unit)} in ${formatDuration(periodMs)} are used`,
    {
      remedy:
        '`run` goes on when they are free again; `credits` of the watch list states those of another plan',
    },
  );
}

export interface ExplainedOutage extends SourceOutage {
  /** A worker tries again at this time; null: no worker is connected. */
  readonly retryAtMs: EpochMs | null;
}

/** @returns null while the source answers. */
export async function readOutage(
  context: Pick<OperationContext, 'database' | 'openQueues'>,
  nowMs: EpochMs,
): Promise<ExplainedOutage | null> {
  const outage = await readSourceOutage(context.database);
  if (outage === null) return null;
  const queues = await context.openQueues();
  try {
    const requests = queues.requestsOf(outage.source);
    const [workers, pausedMs] = await Promise.all([requests.countWorkers(), requests.pausedForMs()]);
    return withRetry(outage, { workers, pausedMs }, nowMs);
  } finally {
    await queues.close();
  }
}

/** @param queue the connected workers, and how long they start no request. */
export function withRetry(
  outage: SourceOutage,
  queue: { readonly workers: number; readonly pausedMs: number },
  nowMs: EpochMs,
): ExplainedOutage {
  return { ...outage, retryAtMs: queue.workers === 0 ? null : nowMs + queue.pausedMs };
}

const whatFails: Readonly<Record<SourceOutage['kind'], string>> = Object.freeze({
  unreachable: 'is unreachable',
  timeout: 'does not answer in time',
  server_error: 'fails',
  unexpected: 'does not answer as expected',
  not_found: 'does not know the addresses of its profile',
  notice: 'answers with a service message',
  unauthorized: 'refuses the API key',
});

/** Such as `the source is unreachable since 2026-01-31 06:00Z: connect ECONNREFUSED; retry in 12 s`. */
export function outageText(outage: ExplainedOutage, nowMs: EpochMs): string {
  const { lastTriedMs, retryAtMs } = outage;
  const next =
    retryAtMs === null
      ? `last tried ${formatDuration(Math.max(0, nowMs - lastTriedMs))} ago, no worker is connected`
      : retryAtMs - nowMs < 1000
        ? 'retrying now'
        : `retry in ${formatDuration(retryAtMs - nowMs)}`;
  return `${outageSince(outage)}; ${next}`;
}

/** Without the next try: the text stays the same as long as the outage. */
export function outageSince({ source, kind, sinceMs, message }: SourceOutage): string {
  return `${source ?? 'the source'} ${source === null ? (ofDefault[kind] ?? whatFails[kind]) : whatFails[kind]} since ${formatTime(sinceMs)}: ${printable(message)}`;
}

export function outageJson(outage: ExplainedOutage | null) {
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
