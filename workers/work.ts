/** The work of a job: one request, then the commit. Datasets differ in these two alone. */

import { datasets } from '../model/datasets/index.ts';
import type { EpochMs } from '../model/intervals.ts';
import { lanes } from '../model/lanes.ts';
import { type ListRow, listName, lists } from '../model/lists/index.ts';
import { overlaps, type Range } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import { offerOf } from '../model/sources.ts';
import { type Command, isCommand, type Probe, type Window } from '../model/window.ts';
import type { Answer, PointsAnswer } from '../planning/answer.ts';
import { probedSeries } from '../planning/beginning.ts';
import { type PollPage, rowsAskedFor } from '../planning/polls.ts';
import { type RequestJob, windowVersion } from '../queue/jobs.ts';
import { SourceError } from '../sources/source-error.ts';
import { commitProbe } from '../store/commit/commit-probe.ts';
import { type LedgerEntry, recordChecksum } from '../store/ledger/ledger.ts';
import { commitPage } from '../store/lists/commit-page.ts';
import { failPoll } from '../store/lists/polls.ts';
import type { WorkerContext } from './worker-context.ts';
import type { StoredEvent } from './worker-events.ts';

export interface Work<Answer> {
  readonly dataset: LedgerEntry['dataset'];
  readonly lane: LedgerEntry['lane'];
  /** Name of a poll in the log; absent: its dataset. */
  readonly name?: string;
  /** Null for a poll. */
  readonly window: Window | null;
  /** The job's window, of which `window` may be the first part only. A refusal defers all of it. */
  readonly whole: Window | null;
  /** Makes exactly one request. @throws SourceError */
  fetch(): Promise<Answer>;
  /** Gives up a poll that failed. */
  giveUp?(failure: { kind: string; message: string; nowMs: EpochMs; retryAtMs: EpochMs }): Promise<void>;
  /** Stores the answer in one transaction. @returns a summary for the log. */
  commit(answer: Answer, attempt: { number: number; nowMs: EpochMs }): Promise<object & StoredEvent>;
}

/**
 * Whether this version knows the dataset or list. Another version may have queued the job; what it lacks is planned
 * again.
 */
export function isKnown(job: RequestJob): boolean {
  if (job.name === 'page') return Object.hasOwn(lists, job.data.list.dataset);
  return job.data.v === windowVersion && Object.hasOwn(datasets, job.name);
}

/** One window: one request of `/candles` or `/assets/{id}/history`. */
export function windowWork(window: Window, whole: Window, context: WorkerContext): Work<PointsAnswer> {
  const { database, commits } = context;
  const { series, lane, seriesId, source } = window;
  // A command compares, or repairs what it compared. Of a file whose checksum is right, a row that it lacks is a
  // difference.
  const isCompared = isCommand(window);
  const isAbsenceUnknown = offerOf(context.source.client.profile.offers, series.dataset)?.absence === 'unknown';
  const commit = lanes[lane].stores ? commits.store : commits.compare;
  return {
    ...{ dataset: series.dataset, lane, window, whole },
    async fetch() {
      const answer = await requestPoints(window, series, context);
      if (answer.isWhole === true) return isCompared ? { ...answer, known: null } : answer;
      return isCompared ? assertWhole(answer, window) : answer;
    },
    async commit(answer, { number: attempt, nowMs }) {
      const asked = { timeMs: nowMs, dataset: series.dataset, seriesId, range: window, lane, source };
      await recordChecksum(database.pool, answer.checksum, { ...asked, attempt });
      return commit({ window, attempt, answer, nowMs, rules: { ...context.rules, isAbsenceUnknown } });
    },
  };
}

/** A probe for the beginning of a series: one request for the days of a long range (planning/beginning.ts). */
export function probeWork(window: Probe | Command, whole: Window, context: WorkerContext): Work<PointsAnswer> {
  const { series, lane } = window;
  return {
    ...{ dataset: series.dataset, lane, window, whole },
    fetch: async () => assertWhole(await requestPoints(window, probedSeries(series), context), window),
    async commit({ rows, ...answer }, { number: attempt, nowMs }) {
      const probe = { window, answer, attempt, nowMs, timesMs: rows.timesMs, rules: context.rules };
      const result = await context.commits.slot(() => commitProbe(context.database, probe));
      if (result.doubt === null) return result;
      const { status, bytes, durationMs } = answer;
      const message = `a request by days for where the series begins: ${result.doubt}`;
      throw new SourceError({ kind: 'unexpected', message, status, bytes, durationMs });
    },
  };
}

async function requestPoints(window: Window, series: SeriesKey, { source }: WorkerContext): Promise<PointsAnswer> {
  const { client, symbolOf } = source;
  const { startMs, endMs } = window.asks;
  const against = isCommand(window) ? window.against : null;
  const symbol = against === null ? await symbolOf(window.seriesId) : against.symbol;
  return client.points({ ...series, startMs, endMs, symbol });
}

/**
 * Refuses an answer whose source states that it lacks a part of the range. A comparison would take that part for a
 * difference, and a probe for the time before the series begins.
 *
 * @throws SourceError `incomplete`.
 */
export function assertWhole<Given extends Answer<unknown, unknown>>(answer: Given, range: Range): Given {
  const { known, status, bytes, durationMs } = answer;
  const missing = known?.missing.find((part) => overlaps(part, range));
  if (missing === undefined) return answer;
  const text = (timeMs: number) => new Date(Math.max(timeMs, 0)).toISOString();
  const requested = `${text(range.startMs)} to ${text(range.endMs)}`;
  throw new SourceError({
    kind: 'incomplete',
    message:
      `of ${requested} the source says that it does not have ${text(missing.startMs)} to ` +
      `${text(missing.endMs)} itself`,
    status,
    bytes,
    durationMs,
  });
}

/** One page of a list: one request. */
export function pageWork(page: PollPage, context: WorkerContext): Work<Answer<ListRow>> {
  const { database, source, commits } = context;
  const { list, firstRow } = page;
  const limit = rowsAskedFor(list);
  const rows = limit === null ? {} : { limit, offset: firstRow };
  const ofAsset = list.asset === null ? {} : { id: list.asset };
  return {
    dataset: list.dataset,
    name: listName(list),
    lane: 'poll',
    window: null,
    whole: null,
    fetch: () => source.client.list(list.dataset, { ...ofAsset, ...rows }),
    async giveUp({ message, nowMs, retryAtMs }) {
      await failPoll(database, { pollId: page.pollId, message, nowMs, latestMs: retryAtMs });
    },
    commit: (answer, attempt) =>
      commits.slot(() =>
        commitPage(database, {
          page,
          answer,
          attempt: attempt.number,
          nowMs: attempt.nowMs,
          confirmMs: context.rules.emptyConfirmMs,
        }),
      ),
  };
}
