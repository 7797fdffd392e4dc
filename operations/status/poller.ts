/** Reads a status snapshot from database and queue, for `status --watch`. */

import { TidemarkError } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { ShownReason } from '../../model/reasons.ts';
import { stateOf } from '../../planning/headline.ts';
import type { Portion } from '../../planning/progress.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { readServiceMessage } from '../../store/ledger/ledger.ts';
import { recentRequests } from '../../store/ledger/ledger-minutes.ts';
import { readSourceOutage } from '../../store/ledger/source-outage.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import { sourcesInUse } from '../../store/series/sources.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { windowsLeft } from '../backfill/outcome.ts';
import type { OperationContext } from '../context.ts';
import { readGapDivision } from '../source-gaps.ts';
import { withRetry } from '../source-health.ts';
import { joinQueues } from '../sources/queues.ts';
import { readQueueFacts, readStoredFacts } from './facts.ts';

export type StatusSnapshot = Awaited<ReturnType<StatusPoller['poll']>>;

const queueTimeoutMs = 5000;

/** Keeps the queue open between polls. */
export class StatusPoller {
  readonly #context: OperationContext;
  readonly #recent: ReturnType<typeof recentRequests>;
  #queues: QueueBackend | undefined;

  constructor(context: OperationContext) {
    this.#context = context;
    this.#recent = recentRequests(context.database);
  }

  /** @throws TidemarkError when the database or the queue is unreachable; the next poll connects again. */
  async poll(nowMs: EpochMs) {
    const { database, config } = this.#context;
    const { graceMs } = config.worker;
    const [queue, rows, gaps, { divide }, activity, serviceMessage, outage] = await Promise.all([
      this.#pollQueue(),
      seriesStatus(database, { nowMs, graceMs }),
      listGaps(database, { nowMs, graceMs }),
      readGapDivision(this.#context, nowMs),
      this.#recent(nowMs),
      readServiceMessage(database, nowMs),
      readSourceOutage(database, nowMs),
    ]);
    const stored = await readStoredFacts(this.#context, nowMs, gaps);
    const windows = windowsLeft(gaps, nowMs, divide);
    const { facts, ...depth } = queue;
    const rejected = rows.reduce((sum, row) => sum + row.quarantined, 0);
    const series: readonly Portion[] = rows.map((row) => ({
      series: row.series,
      wantedMs: row.wantedMs,
      doneMs: row.coveredMs,
      windowsLeft: windows.get(row.seriesId) ?? 0,
    }));
    return {
      atMs: nowMs,
      series,
      /** Of the series with a missing part, which `missingSeries` counts. */
      missingMs: rows.reduce((sum, row) => sum + row.missingMs, 0),
      missingSeries: rows.filter((row) => row.missingMs > 0).length,
      /** Quarantined rows of periods without a stored point. */
      rejected,
      /** Windows that can be requested now. */
      left: stored.left,
      state: stateOf({ ...stored, nowMs, rejected, queue: facts }),
      gaps: byReason(gaps),
      /** Those of the failed ranges that their source no longer keeps. */
      beyondDepth: stored.beyondDepth.ranges,
      /** The message of a failed or refused range. */
      trouble: gaps.find(({ reason }) => reason === 'failed' || reason === 'blocked')?.message ?? null,
      activity,
      /** Requests of the last minute, and the budget, of all sources; 0: no limit. */
      lastMinute: Object.values(activity.lanes).reduce((sum, lane) => sum + lane, 0),
      perMinute: queue.perMinute,
      queue: depth,
      serviceMessage,
      outage: outage === null ? null : withRetry(outage, queue, nowMs),
    };
  }

  async #pollQueue() {
    const over = new AbortController();
    try {
      this.#queues ??= await this.#context.openQueues();
      const inUse = await sourcesInUse(this.#context.database);
      const requests = joinQueues(this.#queues, [...new Set([null, ...inUse])]);
      const answer = Promise.all([
        requests.depth(),
        requests.countWorkers(),
        requests.pausedForMs(),
        readQueueFacts(this.#context, this.#queues, inUse),
      ]);
      const late = this.#context.clock.sleep(queueTimeoutMs, over.signal).then(() => null);
      const answered = await Promise.race([answer, late]);
      if (answered === null) {
        // A late answer is ignored.
        answer.catch(() => {});
        throw new TidemarkError('QUEUE_UNREACHABLE', `the queue has not answered for ${queueTimeoutMs / 1000} s`);
      }
      const [depth, workers, pausedMs, facts] = answered;
      return { ...depth, workers, pausedMs, perMinute: facts.perMinute, facts };
    } catch (error) {
      // A new connection shows whether the server is there.
      const lost = this.#queues;
      this.#queues = undefined;
      void lost?.close().catch(() => {});
      throw error;
    } finally {
      over.abort();
    }
  }

  async close(): Promise<void> {
    await this.#queues?.close();
  }
}

/** Missing ranges by reason. */
function byReason(gaps: readonly Gap[]): Readonly<Partial<Record<ShownReason, number>>> {
  const counts: Partial<Record<ShownReason, number>> = {};
  for (const { reason } of gaps) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
