/** One look at database and queue, for `status --watch`. */

import { setTimeout as delay } from 'node:timers/promises';
import { type EpochMs, intervalMs, minuteMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { longestRange } from '../planning/windows.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Depth } from '../queue/requests.ts';
import { type Gap, type GapReason, listGaps } from '../store/gaps.ts';
import { type Notice, standingNotice } from '../store/ledger.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { type RecentRequests, recentRequests } from '../store/recent-requests.ts';
import { seriesStatus } from '../store/status.ts';
import { explainQueueError } from './patience.ts';
import type { Portion } from './series-groups.ts';
import type { Session } from './session.ts';
import { windowsLeft } from './windows-left.ts';

export interface Sight {
  readonly atMs: EpochMs;
  /** What is tracked of each series, and of that what is covered. */
  readonly series: readonly Portion[];
  readonly missingMs: number;
  /** Windows that can be asked for now. */
  readonly left: number;
  /** Windows that come up in a minute, as periods close. */
  readonly arriving: number;
  /** Ranges that are missing, by reason. */
  readonly gaps: Readonly<Partial<Record<GapReason, number>>>;
  /** The words for one of those that failed or are refused. */
  readonly trouble: string | null;
  readonly activity: RecentRequests;
  /** Requests of the last minute, and the most there may be; 0: no limit. */
  readonly lastMinute: number;
  readonly perMinute: number;
  readonly queue: Depth & { readonly workers: number; readonly pausedMs: number };
  readonly notice: Notice | null;
}

/** Longer than any queue needs that answers. */
const patienceMs = 5000;

/** Looks again and again, with the queue open in between. */
export class Lookout {
  readonly #session: Session;
  #queues: QueueBackend | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /** @throws TidemarkError when database or queue cannot be used; they are looked for anew the next time. */
  async look(nowMs: EpochMs): Promise<Sight> {
    const { database, config } = this.#session;
    const { graceMs } = config.worker;
    const [queue, rows, gaps, accepted, activity, notice] = await Promise.all([
      this.#lookAtQueue(),
      seriesStatus(database, { nowMs, graceMs }),
      listGaps(database, { nowMs, graceMs }),
      longestRanges(database),
      recentRequests(database, nowMs),
      standingNotice(database, nowMs),
    ]);
    const windows = windowsLeft(gaps, nowMs, (series: SeriesKey) =>
      longestRange(series, config.source.rangeLimits, accepted),
    );
    const series = rows.map((row) => ({
      series: row.series,
      wantedMs: row.wantedMs,
      doneMs: row.coveredMs,
      windowsLeft: windows.get(row.seriesId) ?? 0,
    }));
    const followed = rows.filter(({ tracked }) => tracked.endMs === null || tracked.endMs > nowMs);
    return {
      atMs: nowMs,
      series,
      missingMs: rows.reduce((sum, row) => sum + row.missingMs, 0),
      left: series.reduce((sum, portion) => sum + portion.windowsLeft, 0),
      arriving: followed.reduce((sum, row) => sum + minuteMs / intervalMs[row.series.interval], 0),
      gaps: byReason(gaps),
      trouble: gaps.find(({ reason }) => reason === 'failed' || reason === 'blocked')?.message ?? null,
      activity,
      lastMinute: Object.values(activity.lanes).reduce((sum, lane) => sum + lane, 0),
      perMinute: config.source.requestsPerMinute,
      queue,
      notice,
    };
  }

  async #lookAtQueue(): Promise<Sight['queue']> {
    const over = new AbortController();
    try {
      this.#queues ??= await this.#session.openQueues();
      const { requests, kind } = this.#queues;
      const answer = Promise.all([requests.depth(), requests.workersPresent(), requests.pausedForMs()]).catch(
        (error: unknown) => explainQueueError(error, kind),
      );
      const late = delay(patienceMs, null, { signal: over.signal }).catch(() => null);
      const answered = await Promise.race([answer, late]);
      if (answered === null) {
        // It may come yet, and nobody waits for it any more.
        answer.catch(() => {});
        throw new TidemarkError('QUEUE_UNREACHABLE', `the queue has not answered for ${patienceMs / 1000} s`);
      }
      const [depth, workers, pausedMs] = answered;
      return { ...depth, workers, pausedMs };
    } catch (error) {
      // One that is opened anew says at once whether its server is there.
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

function byReason(gaps: readonly Gap[]): Sight['gaps'] {
  const counts: Partial<Record<GapReason, number>> = {};
  for (const { reason } of gaps) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
