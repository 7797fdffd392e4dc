/** The work of a job: one request, then the commit. Datasets differ in these two alone. */

import { datasets } from '../model/datasets/index.ts';
import { type EpochMs, periodStart } from '../model/intervals.ts';
import { listName } from '../model/lists.ts';
import { overlaps, type Range } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import type { Window } from '../model/windows.ts';
import { type PollPage, rowsAskedFor } from '../planning/polls.ts';
import type { Source } from '../sources/source.ts';
import { SourceError } from '../sources/source-error.ts';
import { commitProbe } from '../store/commit/commit-probe.ts';
import { timesOf } from '../store/commit/points.ts';
import type { PointAnswer, WindowAnswer, WindowCommit } from '../store/commit/prepare-window.ts';
import type { Database } from '../store/db/database.ts';
import { type LedgerEntry, recordChecksum } from '../store/ledger/ledger.ts';
import { commitPage } from '../store/lists/commit-page.ts';
import { failPoll } from '../store/lists/polls.ts';
import { commitRates } from '../store/lists/rates.ts';
import type { SnapshotRow } from '../store/lists/shapes.ts';
import type { Rate } from '../v2/resources.ts';
import type { RunningSource } from './running-source.ts';
import type { StoredEvent } from './worker-events.ts';

export interface Work<Answer> {
  readonly dataset: LedgerEntry['dataset'];
  readonly lane: LedgerEntry['lane'];
  /** Name of a poll in the log; absent: its dataset. */
  readonly name?: string;
  /** Null for a poll. */
  readonly window: Window | null;
  /** The job's window where `window` is only its first part. A refusal defers all of it. */
  readonly whole?: Window;
  /** Makes exactly one request. @throws SourceError */
  fetch(): Promise<Answer>;
  /** Gives up a poll that failed. */
  giveUp?(failure: { kind: string; message: string; nowMs: EpochMs; retryAtMs: EpochMs }): Promise<void>;
  /** Stores the answer in one transaction. @returns a summary for the log. */
  commit(answer: Answer, attempt: { number: number; nowMs: EpochMs }): Promise<object & StoredEvent>;
}

export type CommitSlot = <Result>(commit: () => Promise<Result>) => Promise<Result>;

export interface WorkParts {
  readonly source: RunningSource;
  readonly database: Database;
  /**
   * Bounds concurrent commits, since each holds a connection. Retries a commit that waits for a lock (store-failure.ts).
   */
  readonly commitSlot: CommitSlot;
  readonly commitWindow: (commit: WindowCommit) => Promise<object & StoredEvent>;
  readonly graceMs: number;
  readonly emptyConfirmMs: number;
  readonly failedRetryMs: number;
}

type Answer = PointAnswer;

/** Whether this version knows the window's dataset. A newer version may have queued the job. */
export function isKnownDataset(series: SeriesKey): boolean {
  return Object.hasOwn(datasets, series.dataset);
}

/** One window: one request of `/candles` or `/assets/{id}/history`. */
export function windowWork(window: Window, parts: WorkParts): Work<Answer> {
  const { series, seriesId, lane } = window;
  return {
    dataset: series.dataset,
    lane,
    window,
    async fetch() {
      const answer = await requestPoints(parts, window, series, window.requested ?? window);
      // Of a file whose checksum is right, a row that it lacks is a difference.
      if (answer.isWhole === true) return window.run === undefined ? answer : { ...answer, known: null };
      return window.run === undefined ? answer : assertWhole(answer, window);
    },
    async commit(answer, { number, nowMs }) {
      const source = parts.source.name;
      const asked = { timeMs: nowMs, dataset: series.dataset, seriesId, range: window, lane, source };
      await recordChecksum(parts.database.pool, answer.checksum, { ...asked, attempt: number });
      return parts.commitWindow({
        seriesId,
        series,
        window,
        lane,
        attempt: number,
        answer,
        nowMs,
        graceMs: parts.graceMs,
        emptyConfirmMs: parts.emptyConfirmMs,
        failedRetryMs: parts.failedRetryMs,
        isAbsenceUnknown: parts.source.client.profile.absence === 'unknown',
      });
    },
  };
}

/** A probe for the beginning of a series: one request for the days of a long range (planning/beginning.ts). */
export function probeWork(window: Window, parts: WorkParts): Work<Answer> {
  const { series, seriesId, lane } = window;
  return {
    dataset: series.dataset,
    lane,
    window,
    async fetch() {
      // The day that contains the start begins before it.
      const days = { startMs: periodStart(window.startMs, 'd1'), endMs: window.endMs };
      return assertWhole(await requestPoints(parts, window, { ...series, interval: 'd1' }, days), window);
    },
    async commit({ rows, ...answer }, attempt) {
      const result = await parts.commitSlot(() =>
        commitProbe(parts.database, {
          seriesId,
          series,
          window,
          answer,
          attempt: attempt.number,
          nowMs: attempt.nowMs,
          timesMs: timesOf(rows),
          graceMs: parts.graceMs,
          emptyConfirmMs: parts.emptyConfirmMs,
        }),
      );
      if (result.doubt === null) return result;
      const { status, bytes, durationMs } = answer;
      const message = `a request by days for where the series begins: ${result.doubt}`;
      throw new SourceError({ kind: 'unexpected', message, status, bytes, durationMs });
    },
  };
}

async function requestPoints(
  { source: { client, symbolOf } }: WorkParts,
  { seriesId, symbol }: Window,
  series: SeriesKey,
  range: Range,
): Promise<Answer> {
  const bounds = { start: range.startMs, end: range.endMs };
  if (series.dataset === 'asset_history')
    return client.assetHistory(series.assetId, { interval: series.interval, ...bounds });
  const { exchange, interval, baseId, quoteId } = series;
  return client.candles({
    exchange,
    interval,
    baseId,
    quoteId,
    symbol: symbol ?? (await symbolOf(seriesId)),
    ...bounds,
  });
}

/**
 * Refuses an answer whose source states that it lacks a part of the range. A comparison would take that part for a
 * difference, and a probe for the time before the series begins.
 *
 * @throws SourceError `incomplete`.
 */
export function assertWhole<Answer extends WindowAnswer<unknown, unknown>>(answer: Answer, range: Range): Answer {
  const { known, status, bytes, durationMs } = answer;
  const missing = known?.missing.find((part) => overlaps(part, range));
  if (missing === undefined) return answer;
  const text = (timeMs: number) => new Date(Math.max(timeMs, 0)).toISOString();
  const requested = `${text(range.startMs)} to ${text(range.endMs)}`;
  throw new SourceError({
    kind: 'incomplete',
    message: `of ${requested} the source says that it does not have ${text(missing.startMs)} to ${text(missing.endMs)} itself`,
    status,
    bytes,
    durationMs,
  });
}

/** One page of a list: one request. */
export function pageWork(page: PollPage, parts: WorkParts): Work<WindowAnswer<SnapshotRow>> {
  const { database, source } = parts;
  return {
    dataset: page.list.dataset,
    name: listName(page.list),
    lane: 'poll',
    window: null,
    fetch: () => fetchPage(source.client, page),
    async giveUp({ message, nowMs, retryAtMs }) {
      await failPoll(database, { pollId: page.pollId, message, nowMs, latestMs: retryAtMs });
    },
    commit: (answer, attempt) =>
      parts.commitSlot(() =>
        commitPage(database, {
          page,
          answer,
          attempt: attempt.number,
          nowMs: attempt.nowMs,
          confirmMs: parts.emptyConfirmMs,
        }),
      ),
  };
}

function fetchPage(source: Source, page: PollPage): Promise<WindowAnswer<SnapshotRow>> {
  const { list, firstRow } = page;
  const limit = rowsAskedFor(list);
  const asked = limit === null ? {} : { limit, offset: firstRow };
  switch (list.dataset) {
    case 'assets':
      return source.assets(asked);
    case 'exchanges':
      return source.exchanges();
    case 'markets':
      return source.markets(asked);
    case 'asset_markets':
      return source.assetMarkets(list.asset, asked);
  }
}

/** One snapshot of all rates: one request of `/rates`. */
export function ratesWork(parts: WorkParts): Work<WindowAnswer<Rate>> {
  return {
    dataset: 'rates',
    lane: 'poll',
    window: null,
    fetch: () => parts.source.client.rates(),
    commit: (answer, attempt) =>
      parts.commitSlot(() => commitRates(parts.database, { answer, attempt: attempt.number, nowMs: attempt.nowMs })),
  };
}
