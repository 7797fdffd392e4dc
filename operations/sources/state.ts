/** The state of every source: its limits, its use, and whether it answers. */

import type { TidemarkError } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { lowerBudget, loweredInForce } from '../../planning/budget.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { withoutCredentials } from '../../redaction.ts';
import { proxyFor } from '../../sources/connections.ts';
import { readUse } from '../../store/ledger/ledger.ts';
import { readOutageOf } from '../../store/ledger/source-outage.ts';
import { readSourceUse } from '../../store/series/sources.ts';
import { readLoweredBudgets, readSourcePauses } from '../../store/settings/source-orders.ts';
import { readRefusedUntil } from '../../store/settings/source-refusal.ts';
import { askQueues, type OperationContext } from '../context.ts';
import { withRetry } from '../source-health.ts';

function proxyShown(url: string | null): string | null {
  const proxy = url === null ? null : proxyFor(url);
  return proxy === null ? null : withoutCredentials(proxy);
}

export type SourceState = Awaited<ReturnType<typeof readSources>>[number];

/**
 * The default source, if it is configured or used, and every other one.
 *
 * @param away is told that the queue does not answer.
 */
export async function readSources(
  context: OperationContext,
  nowMs: EpochMs,
  away: (error: TidemarkError) => void = () => {},
) {
  const { database } = context;
  const use = new Map((await readSourceUse.on(database.pool, { nowMs })).map((line) => [line.source, line]));
  const [pauses, lowered] = [await readSourcePauses(database), await readLoweredBudgets(database)];
  const shown = (await context.sources()).all().filter(({ facts, url }) => url !== null || use.has(facts.name));
  const queueOf = async (queues: QueueBackend, source: string) => {
    const requests = queues.requestsOf(source);
    const [workers, pausedMs] = await Promise.all([requests.countWorkers(), requests.pausedForMs()]);
    return { workers, pausedMs };
  };
  const queue = await askQueues(
    context,
    async (queues) => {
      const found = shown.map(async ({ facts: { name } }) => [name, await queueOf(queues, name)] as const);
      return new Map(await Promise.all(found));
    },
    (error) => {
      away(error);
      return null;
    },
  );
  return Promise.all(
    shown.map(async ({ facts, profile, url, problem }) => {
      const { name: source, limits, longLimit } = facts;
      const requestsPerMinute = lowerBudget(facts.requestsPerMinute, lowered.get(source));
      const ofQueue = queue?.get(source) ?? null;
      const [outage, refusedUntilMs] = await Promise.all([
        readOutageOf(database, source, nowMs),
        readRefusedUntil(database, source, nowMs),
      ]);
      const { series = 0, lastMinute = 0, lastRequestMs = null } = use.get(source) ?? {};
      return {
        source,
        profile: profile.name,
        url,
        /** The proxy on the way, without its password; null: none. */
        proxy: proxyShown(url),
        problem,
        limits,
        /** What is used of the limit of a long period; null: there is none. */
        longUse: longLimit === null ? null : (await readUse(database, source, longLimit, nowMs)).used,
        requestsPerMinute,
        lowered: loweredInForce(facts.requestsPerMinute, lowered.get(source)),
        pause: pauses.get(source) ?? null,
        series,
        lastMinute,
        lastRequestMs,
        /** Connected workers, and how long they start no request; null: the queue does not answer. */
        workers: ofQueue?.workers ?? null,
        pausedMs: ofQueue?.pausedMs ?? null,
        refusedUntilMs,
        outage: outage === null ? null : withRetry(outage, ofQueue, refusedUntilMs, nowMs),
      };
    }),
  );
}
