/** What a worker holds of its source. */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { sourceText } from '../model/sources.ts';
import { spacingWithin } from '../planning/budget.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { RequestQueue } from '../queue/requests.ts';
import type { Source } from '../sources/source.ts';
import type { Database } from '../store/db/database.ts';
import { readSymbol } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts';
import { createRangeLimitLearner, type RangeLimitLearner } from './range-limit-learner.ts';
import { createSourceGate, type SourceGate } from './source-gate.ts';

export interface RunningSource {
  readonly name: string;
  readonly client: Source;
  readonly requests: RequestQueue;
  readonly breaker: CircuitBreaker;
  readonly gate: SourceGate;
  readonly rangeLimits: RangeLimitLearner;
  /** Series that the last answer stated to be unknown. */
  readonly unknownSeries: Set<number>;
  /** The windows and lists of whose rejected rows the log has told, at most so many. */
  readonly toldRejections: Set<string>;
  /** The market of a series in the source's terms; undefined: a request names the exchange. */
  readonly symbolOf: (seriesId: number) => Promise<string | undefined>;
}

export interface SourceContext {
  readonly name: string;
  readonly client: Source;
  readonly queues: QueueBackend;
  readonly database: Database;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Failures in a row, of any windows, that count as an outage of the source. */
const outageThreshold = 5;
/** How long the symbol of a series is known without reading it again. */
const symbolsKnownMs = 60_000;

/** Reads what other workers have learned of the source. @param more.limiter of its queue. */
export async function openRunningSource(
  context: SourceContext,
  more: { readonly limiter: Parameters<typeof spacingWithin>[0]; readonly failedRetryMs: number },
): Promise<RunningSource> {
  const { name, client, queues, database, log, clock } = context;
  const requests = queues.requestsOf(name);
  const spacingMs = spacingWithin(more.limiter);
  const gate = createSourceGate({ database, source: name, requests, log, clock, spacingMs });
  await gate.retry();
  const rangeLimits = createRangeLimitLearner({ restMs: more.failedRetryMs });
  for (const [key, longestMs] of await readLongestRanges(database, name)) rangeLimits.learn(key, longestMs);
  const breaker = createCircuitBreaker({ what: sourceText(name), threshold: outageThreshold, log });
  return {
    name,
    client,
    requests,
    breaker,
    gate,
    rangeLimits,
    unknownSeries: new Set(),
    toldRejections: new Set(),
    symbolOf: symbols(context),
  };
}

function symbols({ clock, database, client, name }: SourceContext): RunningSource['symbolOf'] {
  const known = new Map<number, { readonly symbol: string | undefined; readonly untilMs: number }>();
  return async (seriesId) => {
    if (client.profile.exchange === null) return undefined;
    const before = known.get(seriesId);
    if (before !== undefined && clock.monotonicMs() < before.untilMs) return before.symbol;
    const symbol = (await readSymbol(database, seriesId, name)) ?? undefined;
    known.set(seriesId, { symbol, untilMs: clock.monotonicMs() + symbolsKnownMs });
    return symbol;
  };
}
