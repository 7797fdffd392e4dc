/** `tidemark why SERIES`: everything that is known of one series, in words. */

import type { Command } from 'commander';
import { type EpochMs, nextPeriodStart } from '../contract/intervals.ts';
import { seriesName } from '../contract/series.ts';
import { planWindows } from '../planning/plan.ts';
import { longestRange } from '../planning/windows.ts';
import { listGaps, seriesWithGaps } from '../store/gaps.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { type SeriesStatus, seriesStatus } from '../store/status.ts';
import { type PastFetch, type Story, seriesNamed, storyOf } from '../store/story.ts';
import { rereadAsSaid } from '../store/watch-list/settings.ts';
import { explain } from './gaps.ts';
import { openSession, type Session } from './session.ts';
import { count, counted, duration, moment, percent } from './wording.ts';

/** Of what there may be thousands of. */
const few = 5;

export function whyCommand(program: Command): void {
  program
    .command('why')
    .description(
      'tell all that is known of one series: what is covered, what is missing and why, what comes next',
    )
    .argument('<series...>', 'its id, or its name as `status` shows it: binance bitcoin/tether m1')
    .action(run);
}

async function run(words: readonly string[]): Promise<void> {
  const session = await openSession({ command: 'why', defaultLogLevel: 'warn' });
  try {
    const nowMs = Date.now();
    const seriesId = await seriesNamed(session.database, words.join(' '));
    const story = await storyOf(session.database, { seriesId, nowMs, most: few });
    console.log((await told(session, story, nowMs)).join('\n'));
  } finally {
    await session.close();
  }
}

async function told(session: Session, story: Story, nowMs: EpochMs): Promise<string[]> {
  const { database, config } = session;
  const { graceMs } = config.worker;
  const seriesIds = [story.seriesId];
  const [status] = await seriesStatus(database, { nowMs, graceMs, seriesIds });
  const gaps = await listGaps(database, { nowMs, graceMs, seriesIds });
  return [
    `${seriesName(story.series)}, id ${story.seriesId}`,
    ...trackedLines(story),
    ...(status === undefined ? [] : coveredLines(status, story, nowMs)),
    ...(story.blocked === null
      ? []
      : [
          `The source refuses it as a whole until ${moment(story.blocked.untilMs)}: ${story.blocked.message}`,
        ]),
    ...listed(
      `Missing, ${counted(gaps.length, 'gap')}:`,
      gaps
        .slice(0, few)
        .map(
          (gap) =>
            `${moment(gap.startMs)} to ${moment(gap.endMs)}, ${duration(gap.endMs - gap.startMs)}: ${explain(gap)}`,
        ),
      gaps.length,
    ),
    ...(story.untrackedMs === null && story.blocked === null ? [await nextLine(session, story, nowMs)] : []),
    ...listed('Last requests:', story.fetches.map(fetchLine)),
    ...listed(
      `Changed by the source afterwards, ${counted(status?.revised ?? story.revisions.length, 'value')}; the newest:`,
      story.revisions.map(
        ({ timeMs, seenAtMs, before }) =>
          `${moment(timeMs)} was ${Object.entries(before)
            .map(([name, value]) => `${name} ${value}`)
            .join(', ')} until ${moment(seenAtMs)}`,
      ),
    ),
    ...listed(
      `In quarantine, ${counted(status?.quarantined ?? story.rejections.length, 'row')}; the newest:`,
      story.rejections.map(
        ({ seenAtMs, reason, raw }) => `${moment(seenAtMs)}, ${reason}: ${raw.slice(0, 200)}`,
      ),
    ),
  ];
}

function trackedLines({ tracked, untrackedMs, createdMs }: Story): string[] {
  const to = tracked.endMs === null ? 'now on' : moment(tracked.endMs);
  const range = `from ${moment(tracked.startMs)} to ${to}, since ${moment(createdMs)}`;
  return untrackedMs === null
    ? [`Tracked ${range}.`]
    : [`Was tracked ${range}; not asked for any more since ${moment(untrackedMs)}. What is stored stays.`];
}

function coveredLines(status: SeriesStatus, { beginsMs }: Story, nowMs: EpochMs): string[] {
  const { coveredMs, wantedMs, points, confirmedEmptyMs, beforeBeginningMs, newestMs, rereadAtMs } = status;
  const lines = [
    `Covered: ${percent(coveredMs, wantedMs)} of what has closed; ${counted(points, 'point')} stored.`,
  ];
  if (newestMs !== null) lines.push(`Newest point: ${moment(newestMs)}, ${duration(nowMs - newestMs)} old.`);
  if (beforeBeginningMs > 0 && beginsMs !== null)
    lines.push(
      `It begins on ${moment(beginsMs)}: ${duration(beforeBeginningMs)} before that were asked for by days.`,
    );
  if (confirmedEmptyMs > beforeBeginningMs)
    lines.push(`Confirmed to be empty by two answers: ${duration(confirmedEmptyMs - beforeBeginningMs)}.`);
  if (rereadAtMs !== null) lines.push(`Recent days were last read again at ${moment(rereadAtMs)}.`);
  return lines;
}

/** What the planner would ask for next, were the queue empty. */
async function nextLine(session: Session, { seriesId, series }: Story, nowMs: EpochMs): Promise<string> {
  const { config } = session;
  const queues = await session.openQueues();
  try {
    const claimed = (await queues.requests.claimedWindows()).windows.get(seriesId) ?? [];
    const [first] = [...claimed].sort((a, b) => a.startMs - b.startMs);
    if (first !== undefined)
      return `In the queue, or under way: ${counted(claimed.length, 'window')}, the first ${moment(first.startMs)} to ${moment(first.endMs)}.`;
  } finally {
    await queues.close();
  }
  const { graceMs } = config.worker;
  const now = await plannedAt(session, seriesId, nowMs);
  if (now !== undefined) return `Next: ${windowText(now)}, as soon as the budget allows.`;
  const closesMs = nextPeriodStart(nowMs - graceMs, series.interval) + graceMs;
  const then = await plannedAt(session, seriesId, closesMs);
  if (then !== undefined)
    return `Next: ${windowText(then)}, from ${moment(closesMs)} on, when the ${series.interval} period that is open has closed.`;
  return 'Next: nothing for now; what waits has its time above.';
}

/** The window that a planner would ask for first at that moment, were nothing in the queue; undefined: none. */
async function plannedAt({ database, config }: Session, seriesId: number, nowMs: EpochMs) {
  const accepted = await longestRanges(database);
  const { graceMs } = config.worker;
  const reread = await rereadAsSaid(database, config.reread);
  const { windows } = planWindows({
    series: await seriesWithGaps(database, {
      ...{ nowMs, graceMs, openRefreshMs: config.scheduler.refreshMs },
      ...{ seriesIds: [seriesId], rangesPerSeries: few },
    }),
    claimed: new Map(),
    ...{ nowMs, graceMs, cursor: 0, rereadPeriods: reread.periods },
    longestRangeMs: (key) => longestRange(key, config.source.rangeLimits, accepted),
    slots: { total: 1, refresh: 1, backfill: 1 },
  });
  return windows[0];
}

function windowText({ lane, startMs, endMs }: { lane: string; startMs: EpochMs; endMs: EpochMs }): string {
  return `${lane} of ${moment(startMs)} to ${moment(endMs)}`;
}

function fetchLine(fetch: PastFetch): string {
  const range = fetch.range === null ? '' : ` ${moment(fetch.range.startMs)} to ${moment(fetch.range.endMs)}`;
  const attempt = fetch.attempt > 1 ? `, attempt ${fetch.attempt}` : '';
  const rejected = fetch.rejected > 0 ? `, ${fetch.rejected} refused` : '';
  const came =
    fetch.error === null
      ? `${fetch.verdict}, ${count(fetch.fresh)} new, ${count(fetch.changed)} changed, ${count(fetch.unchanged)} unchanged${rejected}`
      : `${fetch.verdict}${fetch.status === null ? '' : ` (${fetch.status})`}: ${fetch.error}`;
  return `${moment(fetch.timeMs)} ${fetch.lane}${range}${attempt}: ${came} (${duration(fetch.durationMs)})`;
}

/** Nothing where there is none. @param all how many there are, where more than are listed. */
function listed(title: string, lines: readonly string[], all = lines.length): string[] {
  if (lines.length === 0) return [];
  const more = all > lines.length ? [`  and ${count(all - lines.length)} more`] : [];
  return [title, ...lines.map((line) => `  ${line}`), ...more];
}
