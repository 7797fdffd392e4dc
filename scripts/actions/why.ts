/** `tidemark why SERIES`: explains the state of one series. */

import { datasetOf } from '../../model/datasets/index.ts';
import { counted, formatCount, formatDuration, formatPercent, formatSpan, formatTime } from '../../model/format.ts';
import { type EpochMs, nextPeriodStart } from '../../model/intervals.ts';
import { overlaps, type Range } from '../../model/ranges.ts';
import { explainGap, reasons, rejectedText, verdictText } from '../../model/reasons.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { defaultSource, fileSource } from '../../model/sources.ts';
import { askQueues } from '../../operations/context.ts';
import { nextWindows } from '../../operations/next-windows.ts';
import { explainUnasked, readGapDivision } from '../../operations/source-gaps.ts';
import {
  againOf,
  banText,
  pausesOf,
  readBans,
  readHolds,
  readOutages,
  readUnanswered,
  readWithoutWorker,
} from '../../operations/source-health.ts';
import { awayHeadline } from '../../operations/status/facts.ts';
import { recencyText } from '../../planning/periods.ts';
import { outageText, type Unanswered, unansweredText, withoutWorkerText } from '../../planning/source-outage.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { checksumVerdict } from '../../store/ledger/ledger.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import { readSilences } from '../../store/series/silences.ts';
import { readAllSources, readSourceShares, readSourceTexts } from '../../store/series/sources.ts';
import {
  findSeriesByName,
  type PastFetch,
  readConfirmedSilences,
  readSeriesHistory,
  type SeriesHistory,
} from '../../store/status/series-history.ts';
import { type SeriesStatus, seriesStatus } from '../../store/status/status.ts';
import { printText } from '../output/table.ts';

/** Listed entries per section. */
const few = 5;
/** Confirmed silences that are counted. */
const mostConfirmed = 1000;
/** Characters of an answer that filled nothing. */
const shownBody = 120;

export async function run(words: readonly string[]): Promise<void> {
  await withContext({ command: 'why', needsDatabase: true, showsStored: true }, async (context) => {
    const nowMs = context.clock.now();
    const seriesId = await findSeriesByName(context.database, words.join(' '));
    const history = await readSeriesHistory(context.database, { seriesId, nowMs, most: few });
    printText((await explain(context, history, nowMs)).join('\n'));
  });
}

async function explain(context: Context, history: SeriesHistory, nowMs: EpochMs): Promise<string[]> {
  const { database, config } = context;
  const { graceMs } = config.worker;
  const seriesIds = [history.seriesId];
  const [status] = await seriesStatus(database, { nowMs, graceMs, seriesIds });
  const { divide } = await readGapDivision(context, nowMs);
  const gaps = explainUnasked(await listGaps(database, { nowMs, graceMs, seriesIds, ledger: true }), divide);
  const silences = await readSilences(database, seriesIds);
  const sources = await readAllSources(database, seriesIds);
  const outages = (await readOutages(context, nowMs)).filter(({ source }) => sources.includes(source));
  const unanswered = await readUnanswered(context, sources, nowMs);
  const nameOf = await readSourceTexts(database, nowMs);
  const bans = await readBans(context, sources, nowMs);
  const pauses = await pausesOf(context, sources, nowMs);
  const hold = (await readHolds(context, seriesIds, { outages, nowMs }))(history.seriesId);
  const isLeft = gaps.some(({ cause }) => reasons[cause].isRequestable);
  const withoutWorker = await readWithoutWorker(context, sources);
  return [
    ...outages.flatMap((outage) => [outageText(outage, nowMs, nameOf(outage.source)), '']),
    ...[...unanswered.values()].flatMap((one) => [unansweredText(one, nameOf(one.source)), '']),
    ...pauses.flatMap((text) => [text, '']),
    ...[...bans].flatMap(([source, untilMs]) => [banText(source, untilMs, nameOf(source)), '']),
    ...(isLeft ? [...withoutWorker] : []).flatMap((source) => [withoutWorkerText(source, nameOf(source)), '']),
    `${seriesName(history.series)}, id ${history.seriesId}`,
    ...trackedLines(history),
    ...(status === undefined ? [] : coveredLines(status, history, nowMs)),
    ...(await confirmedLines(context, history, { nameOf, nowMs })),
    ...listed(
      'Silent for far longer than usual, and covered:',
      silences
        .slice(0, few)
        .map(
          ({ startMs, endMs, proof }) =>
            `${formatTime(startMs)} to ${formatTime(endMs)}, ${formatDuration(endMs - startMs)}: ${proof}`,
        ),
      silences.length,
    ),
    ...(await sourceLines(context, history)),
    ...(history.blocked === null || history.untrackedMs !== null
      ? []
      : [`The source refuses the series until ${formatTime(history.blocked.untilMs)}: ${history.blocked.message}`]),
    ...listed(
      `Missing, ${counted(gaps.length, 'gap')}:`,
      gaps
        .slice(0, few)
        .map(
          (gap) =>
            `${formatTime(gap.startMs)} to ${formatTime(gap.endMs)}, ${formatDuration(gap.endMs - gap.startMs)}: ` +
            `${explainGap(gap, { nowMs, hold, againOf: againOf(unanswered) })}`,
        ),
      gaps.length,
    ),
    ...(history.untrackedMs === null && history.blocked === null
      ? await nextLines(context, history, { nowMs, gaps, bans, withoutWorker, unanswered, nameOf })
      : []),
    ...listed('Last requests:', history.fetches.map(fetchLine)),
    ...listed(
      `Changed by the source afterwards, ${counted(status?.revised ?? history.revisions.length, 'value')}; the newest:`,
      history.revisions.map(
        ({ timeMs, seenAtMs, before }) =>
          `${formatTime(timeMs)} was ${Object.entries(before)
            .map(([name, value]) => `${name} ${value}`)
            .join(', ')} until ${formatTime(seenAtMs)}`,
      ),
    ),
    ...listed(
      // Rows of periods that have a point by now are not counted.
      status === undefined || status.quarantined < history.rejections.length
        ? 'In quarantine, the newest rows:'
        : `In quarantine, ${counted(status.quarantined, 'row')}; the newest:`,
      history.rejections.map(({ seenAtMs, reason, raw }) => `${formatTime(seenAtMs)}, ${reason}: ${raw}`),
    ),
  ];
}

function trackedLines({ tracked, untrackedMs, createdMs, unknown }: SeriesHistory): string[] {
  const range = `${formatSpan(tracked)}, since ${formatTime(createdMs)}`;
  return untrackedMs === null
    ? [`Tracked ${range}.`]
    : [
        `Was tracked ${range}; untracked since ${formatTime(untrackedMs)}` +
          (unknown === null ? '. Stored points stay.' : `, as the source does not know it: ${unknown}`),
      ];
}

function coveredLines(status: SeriesStatus, { beginsMs }: SeriesHistory, nowMs: EpochMs): string[] {
  const { coveredMs, wantedMs, points, confirmedEmptyMs, beforeBeginningMs, newestMs, rereadAtMs } = status;
  const lines = [
    `Covered: ${formatPercent(coveredMs, wantedMs)} of the closed range; ${counted(points, 'point')} stored.`,
  ];
  const recency = recencyText(status, nowMs);
  if (newestMs !== null) lines.push(`Newest point: ${formatTime(newestMs)}${recency === '' ? '' : `, ${recency}`}.`);
  if (beforeBeginningMs > 0 && beginsMs !== null)
    lines.push(
      `It begins on ${formatTime(beginsMs)}: ${formatDuration(beforeBeginningMs)} before that were requested by days.`,
    );
  if (confirmedEmptyMs > beforeBeginningMs)
    lines.push(`Confirmed empty by two answers: ${formatDuration(confirmedEmptyMs - beforeBeginningMs)}.`);
  if (rereadAtMs !== null) lines.push(`Recent days were last re-read at ${formatTime(rereadAtMs)}.`);
  return lines;
}

/** The answers that confirmed that there is no point, of the first silences after the beginning. */
async function confirmedLines(
  { database }: Context,
  { seriesId, beginsMs, tracked }: SeriesHistory,
  { nameOf, nowMs }: { nameOf: (source: string) => string; nowMs: EpochMs },
): Promise<string[]> {
  if (beginsMs === null) return [];
  const within = { startMs: Math.max(beginsMs, tracked.startMs), endMs: tracked.endMs ?? nowMs };
  if (within.startMs >= within.endMs) return [];
  const found = await readConfirmedSilences.on(database.pool, { seriesId, within, most: mostConfirmed });
  return listed(
    'Confirmed empty:',
    found.slice(0, few).map(({ startMs, endMs, answers, answeredMs }) => {
      const told = answers.map(
        ({ timeMs, verdict, source }) => `${formatTime(timeMs)} by ${nameOf(source)} (${verdictText(verdict)})`,
      );
      const last = told.length > 0 || answeredMs === null ? '' : `, the last at ${formatTime(answeredMs)}`;
      const how =
        told.length > 1 ? told.join(' and ') : [...told, `older answers are not in the ledger${last}`].join('; ');
      return `${formatTime(startMs)} to ${formatTime(endMs)}, ${formatDuration(endMs - startMs)}: ${how}`;
    }),
    found.length,
  );
}

/** Which source gave what; nothing of a series that the default one gave. */
async function sourceLines({ database }: Context, { seriesId }: SeriesHistory): Promise<string[]> {
  const shares = await readSourceShares.on(database.pool, { seriesId });
  if (shares.every(({ source }) => source === null || source === defaultSource)) return [];
  return listed(
    'Given by:',
    shares.map(
      ({ source, startMs, endMs, coveredMs }) =>
        `${giverText(source)}: ${formatDuration(coveredMs)} between ${formatTime(startMs)} and ${formatTime(endMs)}`,
    ),
  );
}

function giverText(source: string | null): string {
  if (source === null) return 'not recorded';
  if (source === fileSource) return 'files';
  return source === defaultSource ? 'the default source' : source;
}

/** What each source of the series is asked for, or would be if its queue were empty. */
async function nextLines(
  context: Context,
  { seriesId, series, dueMs }: SeriesHistory,
  {
    nowMs,
    gaps,
    bans,
    withoutWorker,
    unanswered,
    nameOf,
  }: {
    nowMs: EpochMs;
    gaps: readonly Gap[];
    bans: ReadonlyMap<string, EpochMs>;
    withoutWorker: ReadonlySet<string>;
    unanswered: ReadonlyMap<string, Unanswered>;
    nameOf: (source: string) => string;
  },
): Promise<string[]> {
  const { graceMs } = context.config.worker;
  const eventMs = dueMs === null ? nowMs : dueMs + latestOf(series) + graceMs;
  const awaitsEvent = eventMs > nowMs;
  const closesMs = awaitsEvent ? eventMs : nextPeriodStart(nowMs - graceMs, series.interval) + graceMs;
  const lines: string[] = [];
  const ask = async (queues: QueueBackend) => {
    for (const { source, claimed, next } of await nextWindows(context, queues, seriesId)) {
      const of = source === defaultSource ? '' : ` of ${source}`;
      const [first] = claimed;
      const now = first === undefined ? await next(nowMs) : undefined;
      const then = first === undefined && now === undefined ? await next(closesMs) : undefined;
      if (first !== undefined)
        lines.push(
          `Queued or running${of}: ${counted(claimed.length, 'window')}, the first ${formatTime(first.startMs)} ` +
            `to ${formatTime(first.endMs)}.`,
        );
      else if (now !== undefined)
        lines.push(
          `Next${of}: ${windowText(now)}, ` +
            (bans.has(source)
              ? `when ${nameOf(source)} accepts requests again.`
              : withoutWorker.has(source)
                ? 'when a worker is connected.'
                : `${againOf(unanswered)(source) ?? 'as soon as the budget allows'}.`),
        );
      else if (then !== undefined)
        lines.push(
          `Next${of}: ${windowText(then)}, ` +
            (then.endMs > nowMs - graceMs
              ? `from ${formatTime(closesMs)} on, when ` +
                (awaitsEvent ? 'the next event is due.' : `the open ${series.interval} period has closed.`)
              : `from ${formatTime(retryOf(gaps, then) ?? closesMs)} on.`),
        );
    }
  };
  await askQueues(context, ask, (error) => void lines.push(`Next: ${awayHeadline(error).text}.`));
  if (lines.length > 0) return lines;
  return [
    gaps.length > 0
      ? 'Next: nothing now; what is missing is deferred as listed above, or no source has it.'
      : 'Next: nothing now: no range is missing.',
  ];
}

/** How late an event may be. */
function latestOf({ dataset }: SeriesKey): number {
  const { time } = datasetOf(dataset);
  return time.density === 'linked' ? time.latestMs : 0;
}

/** When the first deferred part of a window is requested again; null: none is deferred. */
function retryOf(gaps: readonly Gap[], window: Range): EpochMs | null {
  const times = gaps.flatMap((gap) => (gap.retryAtMs !== null && overlaps(gap, window) ? [gap.retryAtMs] : []));
  return times.length === 0 ? null : Math.min(...times);
}

function windowText({ lane, startMs, endMs }: { lane: string; startMs: EpochMs; endMs: EpochMs }): string {
  return `${lane} of ${formatTime(startMs)} to ${formatTime(endMs)}`;
}

function fetchLine(fetch: PastFetch): string {
  const verdict = verdictText(fetch.verdict);
  const range = fetch.range === null ? '' : ` ${formatTime(fetch.range.startMs)} to ${formatTime(fetch.range.endMs)}`;
  const attempt = fetch.attempt > 1 ? `, attempt ${fetch.attempt}` : '';
  const rejection = rejectedText(fetch);
  const answer = fetch.body === null ? '' : `, ${fetch.body.slice(0, shownBody)}`;
  // Rejected rows are quoted whole.
  const body = rejection === null ? answer : `; ${[rejection, fetch.body].filter((text) => text !== null).join(': ')}`;
  const came =
    fetch.verdict === checksumVerdict
      ? 'the checksum of the file'
      : fetch.error === null
        ? `${verdict}, ${formatCount(fetch.fresh)} new, ${formatCount(fetch.changed)} changed, ` +
          `${formatCount(fetch.unchanged)} unchanged${body}`
        : `${verdict}${fetch.status === null ? '' : ` (${fetch.status})`}: ${fetch.error}`;
  const by = fetch.source === defaultSource ? '' : `, ${fetch.source}`;
  return (
    `${formatTime(fetch.timeMs)} ${fetch.lane}${range}${attempt}${by}: ${came} ` +
    `(${formatDuration(fetch.durationMs)})`
  );
}

/** @param all the total, if more than are listed. @returns nothing for an empty list. */
function listed(title: string, lines: readonly string[], all = lines.length): string[] {
  if (lines.length === 0) return [];
  const more = all > lines.length ? [`  and ${formatCount(all - lines.length)} more`] : [];
  return [title, ...lines.map((line) => `  ${line}`), ...more];
}
