/**
 * One planning pass of a source: reads the facts, plans, records what is lost, and adds windows and pages to the queue.
 */

import { dayMs, type EpochMs } from '../model/intervals.ts';
import { subtract } from '../model/ranges.ts';
import { sourceText } from '../model/sources.ts';
import { type Lost, type PassPlan, planPass, queuedOf, slotsOf } from '../planning/pass.ts';
import { beyondDepthText } from '../planning/periods.ts';
import type { PollPage } from '../planning/polls.ts';
import { depthOf, type SourcePlace } from '../planning/source-share.ts';
import { pageJobId } from '../queue/jobs.ts';
import type { RequestQueue } from '../queue/requests.ts';
import { deferUpstreamGaps } from '../store/commit/deferred-windows.ts';
import { findNowhereElse } from '../store/commit/nowhere-else.ts';
import { type Database, inTransaction } from '../store/db/database.ts';
import { beginPolls, cutOff, giveUpPolls, isCutOff, openPages } from '../store/lists/polls.ts';
import { type FactsContext, readFacts, readLoad, readSeries } from './read-facts.ts';

export interface PassContext extends FactsContext {
  readonly requests: RequestQueue;
}

export interface Pass {
  /** Windows and pages added. */
  readonly added: number;
  /** Windows and pages queued or active after the pass. */
  readonly queued: number;
  /** Where the next pass continues the round-robin over series. */
  readonly cursor: number;
}

/** Gaps read of each series first. For a thousand series this exceeds the free slots. */
export const fewRangesPerSeries = 1;
/** Factor for the next try, if a few series have many small gaps, or many series give no window. */
const moreFactor = 8;

/**
 * Runs one pass. The queue runs one at a time, so that no window is requested twice. Concurrent passes would lose
 * nothing: they cut the same gaps into the same windows, and a window is queued only once.
 */
export async function runPass(context: PassContext, nowMs: EpochMs, cursor: number): Promise<Pass> {
  const { database, requests, rules } = context;
  const claimed = await requests.claimedWindows();
  const queued = queuedOf(claimed);
  const load = await readLoad(context, claimed, nowMs);
  const slots = slotsOf(load);
  if (slots === null) return { added: 0, queued, cursor };
  const facts = await readFacts(context, load, { nowMs, most: slots.total });
  const duePages = rules.polls === true ? await openDuePages(database, claimed.pages, slots.refresh, nowMs) : [];
  let plan: PassPlan;
  // A series whose windows are queued gives no other.
  let first = { nowMs, cursor, count: slots.total + claimed.windows.size, ranges: fewRangesPerSeries };
  do {
    plan = planPass({ ...facts, duePages, ...(await readSeries(context, first)) });
    first = { ...first, count: first.count * moreFactor, ranges: first.ranges * moreFactor };
  } while (plan.needsMore);
  for (const lost of plan.lost) await deferLost(context, lost, facts.places.get(lost.seriesId), nowMs);
  await requests.addWindows(plan.windows);
  await requests.addPages(plan.pages);
  const added = plan.windows.length + plan.pages.length;
  return { added, queued: queued + added, cursor: plan.cursor };
}

/** How often a range beyond a source's depth is looked at again: its series may have got another source. */
const beyondDepthRetryMs = dayMs;

async function deferLost(
  { database, source }: PassContext,
  { seriesId, series, ranges }: Lost,
  place: SourcePlace | undefined,
  nowMs: EpochMs,
): Promise<void> {
  const depth = depthOf(source, series);
  const message = depth === null ? '' : beyondDepthText(sourceText(source.name), series, depth);
  const lacks = place === undefined || place.hasNext ? [] : place.lacks;
  const ofBetter = subtract(ranges, subtract(ranges, lacks));
  if (ofBetter.length > 0)
    await findNowhereElse.on(database.pool, { seriesId, lost: ofBetter, message, source: source.name });
  for (const range of subtract(ranges, ofBetter))
    await deferUpstreamGaps(database.pool, {
      ...{ seriesId, range, source: source.name, reason: 'beyond_depth', message, attempts: 0, nowMs },
      retryAtMs: nowMs + beyondDepthRetryMs,
    });
}

/**
 * The pages to request now, at most `most`: begins due polls, and continues open ones.
 *
 * @param claimed job ids of queued pages, read before the open pages.
 */
async function openDuePages(
  database: Database,
  claimed: ReadonlySet<string>,
  most: number,
  nowMs: EpochMs,
): Promise<PollPage[]> {
  await beginPolls.on(database.pool, { nowMs });
  const pages: PollPage[] = [];
  for (const { answeredMs, ...page } of await openPages(database)) {
    if (claimed.has(pageJobId(page))) continue;
    if (isCutOff(answeredMs, nowMs)) {
      const given = { pollId: page.pollId, nowMs, reason: cutOff };
      await inTransaction(database, (client) => giveUpPolls(client, given));
    } else if (pages.length < most) pages.push(page);
  }
  return pages;
}
