/**
 * What `status` and the dashboard say of the whole: conditions, each with a level and a sentence, from
 * the same facts. The headline is the first of them.
 */

import { counted, formatCount, formatTime, wholeSecond } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import { printable } from '../model/names.ts';
import { defaultSource, sourceText } from '../model/sources.ts';
import { sum } from '../model/sum.ts';
import { type LoweredBudget, loweredText } from './budget.ts';
import { conditionKinds, conditions, type Headline, type State } from './conditions.ts';
import { type RecentAnswers, requestsEtaMs } from './eta.ts';
import { type Extent, progressText, toGoText, type WaitingRange, waitingText } from './progress.ts';
import { everyHold, holdText, nextTry, outageSince, type SourceOutage, type Unanswered } from './source-outage.ts';

/** Requests are paused: since when, and who did it; null: a command. */
export interface PausedRequests {
  readonly sinceMs: EpochMs;
  readonly by: string | null;
}

/** A watch list that cannot be applied: since when, and the first line of why. */
export interface InvalidList {
  readonly sinceMs: EpochMs;
  readonly why: string;
}

export interface SourceState {
  readonly source: string;
  /** Windows that can be requested now, of its series. Several sources may have the same series. */
  readonly left: number;
  /** Those of them that it is asked for before other sources. */
  readonly asked: number;
  /** Those of `asked` whose periods did not close just now. */
  readonly behind: number;
  /** Whether a series of it has periods that close from now on. */
  readonly isFollowed: boolean;
  /** Requests of the last minute. */
  readonly lastMinute: number;
  readonly outage: SourceOutage | null;
  /** The last request to it, if no answer came; null: one came, or the source is away. */
  readonly unanswered: Unanswered | null;
  /** The newest 429, unless requests have succeeded since; null: none. */
  readonly refusal: { readonly timeMs: EpochMs; readonly message: string } | null;
  /** It refuses all requests, and none is sent before; null: it does not, or gets one now. */
  readonly refusedUntilMs: EpochMs | null;
  /** Whether the limit of a long period, such as the credits of a month, is used up. */
  readonly isUsedUp: boolean;
  /** Null: nobody has paused it. */
  readonly pause: PausedRequests | null;
}

export interface SourceQueue {
  readonly source: string;
  readonly workers: number;
  /** How long no request starts. */
  readonly pausedMs: number;
  /** The budget in force; 0: no limit. */
  readonly perMinute: number;
  /** The user's figure, where it is that; null: the source's own is in force. */
  readonly lowered: LoweredBudget | null;
  /** Windows in the queue, and those under way, by series; absent: not known. */
  readonly queued?: ReadonlyMap<number, number>;
}

export interface QueueFacts {
  readonly schedulers: number;
  readonly sources: readonly SourceQueue[];
}

/** What the store knows. */
export interface StoredFacts {
  readonly readAtMs: EpochMs;
  /** Of all requests; null: nobody has paused them. */
  readonly pause: PausedRequests | null;
  /** What the watch list leaves out until a list is read. */
  readonly unapplied: readonly string[];
  /** Null: the watch list is valid, or there is none. */
  readonly invalidList: InvalidList | null;
  /** Targets of `notify` that were not told, each with the cause. */
  readonly untold: readonly string[];
  /** Tracked series. */
  readonly series: number;
  /** Windows that can be requested now. */
  readonly left: number;
  /** Those of them whose periods did not close just now. */
  readonly behind: number;
  /** Periods that close in a minute. */
  readonly arriving: number;
  readonly recent: readonly RecentAnswers[];
  readonly failed: Trouble;
  /** Ranges that their source no longer keeps. */
  readonly beyondDepth: Trouble;
  readonly blocked: Trouble;
  /** Ranges that were answered empty or stale. */
  /** `stale`: those of the ranges whose answer was stale, not empty. */
  readonly awaiting: { readonly ranges: number; readonly stale: number; readonly nextMs: EpochMs | null };
  /** Missing ranges that are requested again later. */
  readonly waiting: readonly WaitingRange[];
  /** Rejected rows of periods without a point, the series that have any, and why one of them was. */
  readonly rejected: { readonly rows: number; readonly series: number; readonly reason: string | null };
  readonly failingJobs: readonly { readonly kind: string; readonly of: string | null; readonly message: string }[];
  /** Those with tracked series, and the default one while lists are polled. */
  readonly sources: readonly SourceState[];
}

/** Ranges of a kind, a message of the cause that most of them have, and how many causes there are. */
export interface Trouble {
  readonly ranges: number;
  readonly first: string | null;
  readonly causes: number;
}

export interface StateFacts extends StoredFacts {
  readonly nowMs: EpochMs;
  /** All that is tracked. */
  readonly tracked: Extent;
  /** Why the queue does not answer; else what it knows. */
  readonly queue: QueueFacts | { readonly away: string };
}

export function databaseAway(message: string): Headline {
  return condition('database_away', `the database does not answer: ${printable(message)}`);
}

export function queueAway(message: string): Headline {
  const why = message === '' ? '' : `: ${printable(message)}`;
  return condition('queue_away', `the queue does not answer${why}; nothing is requested`);
}

export function stateOf(facts: StateFacts): State {
  const etaMs = etaOf(facts);
  const waiting = facts.left > 0 || facts.waiting.length === 0 ? null : waitingText(facts.tracked, facts.waiting);
  const found = [
    ...queueConditions(facts),
    ...facts.sources.flatMap((one) =>
      sourceConditions(one, facts, nameOf(one, facts.sources)).map((found) => ({ ...found, source: one.source })),
    ),
    ...storeConditions(facts),
    ...progressConditions(facts, { etaMs, waiting }),
  ];
  // Credits that are used up stop the requests of a source, as a ban does.
  const rank = ({ kind, level }: Headline) => {
    if (kind === 'jobs_failing' && level === 'ok') return conditionKinds.length;
    return conditionKinds.indexOf(kind === 'limited_by_budget' && level === 'waiting' ? 'banned' : kind);
  };
  const healthy = condition('healthy', `up to date: ${formatCount(facts.series)} series`);
  if (found.every(({ level }) => level === 'ok')) found.push(healthy);
  const [headline = healthy, ...also] = found.toSorted((one, other) => rank(one) - rank(other));
  return { headline, also, ...facts.tracked, left: facts.left, etaMs, waiting };
}

function condition(kind: Headline['kind'], text: string, changes: Partial<Headline> = {}): Headline {
  const { level, list, command, source } = { source: null, ...conditions[kind], ...changes };
  return { kind, level, text, source, list, command };
}

/** Nobody knows when an outage ends, and nothing moves without a worker and a scheduler. */
function etaOf(facts: StateFacts): number | null {
  const { recent, readAtMs, arriving, queue } = facts;
  const sources = facts.sources.filter(isNeeded);
  if (facts.pause !== null || (facts.left === 0 && facts.waiting.length > 0)) return null;
  if ('away' in queue || queue.schedulers === 0 || sources.some((one) => isHeld(one, queue))) return null;
  // What closed just now is fetched at once, also from a source that has nothing else to fetch.
  const late = sources.filter(({ behind }) => behind > 0);
  if (facts.left > 0 && late.length === 0) return null;
  const work = late.map(({ source, asked }) => ({ source, asked, perMinute: queueOf(queue, source).perMinute }));
  return requestsEtaMs(work, recent, { readAtMs, arriving });
}

/** Whether no window of a source is fetched now. */
export function isHeld(facts: Pick<SourceState, 'source' | Hold>, queue: QueueFacts): boolean {
  const state = queueOf(queue, facts.source);
  return facts.pause !== null || facts.outage !== null || state.workers === 0 || isBanned(facts, state);
}

type Hold = 'pause' | 'outage' | 'refusal';

/** Whether windows of a source are left, or follow. */
function isNeeded({ left, isFollowed }: SourceState): boolean {
  return left > 0 || isFollowed;
}

const absent = { workers: 0, pausedMs: 0, perMinute: 0, lowered: null };

function queueOf({ sources }: QueueFacts, source: string): Omit<SourceQueue, 'source'> {
  return sources.find((one) => one.source === source) ?? absent;
}

/** Shorter pauses are the limiter's own spacing. */
const longPauseMs = 2000;

function isBanned(
  { refusal }: Pick<SourceState, 'refusal'>,
  { pausedMs, perMinute }: Omit<SourceQueue, 'source'>,
): boolean {
  const spacingMs = perMinute === 0 ? 0 : 60_000 / perMinute;
  return refusal !== null && pausedMs > Math.max(longPauseMs, 2 * spacingMs);
}

function queueConditions(facts: StateFacts): Headline[] {
  const { queue, sources } = facts;
  if ('away' in queue) return [queueAway(queue.away)];
  if (facts.left === 0 && facts.arriving === 0) return [];
  const withoutWorker = sources.filter(({ source }) => queueOf(queue, source).workers === 0);
  const isEverywhere = withoutWorker.length === sources.length;
  const idle = isEverywhere ? sources : withoutWorker.filter(isNeeded);
  const found: Headline[] = [];
  if (idle.length > 0) {
    const left = isEverywhere ? facts.left : Math.min(facts.left, sum(idle.map((one) => one.left)));
    const waits = waitsText(left, isEverywhere ? facts.tracked.requests : undefined);
    const what = isEverywhere && queue.schedulers === 0 ? 'no worker and no scheduler is' : 'no worker is';
    const of = isEverywhere ? '' : ` for ${idle.map((one) => nameOf(one, sources)).join(' and ')}`;
    found.push(condition('no_worker', `${what} connected${of}: ${waits}`));
    if (isEverywhere) return found;
  }
  if (queue.schedulers === 0)
    found.push(
      condition('no_scheduler', `no scheduler is connected: ${waitsText(facts.left, facts.tracked.requests)}`),
    );
  return found;
}

function waitsText(left: number, requests?: number): string {
  return left === 0 ? 'new periods are not fetched' : toGoText(left, requests);
}

export function nameOf({ source }: Pick<SourceState, 'source'>, sources: readonly SourceState[]): string {
  return source === defaultSource && sources.length > 1 ? 'the default source' : sourceText(source);
}

/** What is said of a source that gets no requests, in a sentence; null: it gets some. @param name of the source. */
export function sentenceOf(source: HeldSource, facts: HeldFacts, name: string): string | null {
  return sourceConditions(source, facts, name)[0]?.text ?? null;
}

type HeldSource = Pick<SourceState, 'source' | Hold | 'refusedUntilMs' | 'isUsedUp'>;
type HeldFacts = Pick<StateFacts, 'queue' | 'nowMs' | 'pause'>;

/** What has to come before anything is requested of a source, as a clause; null: nothing. */
export function holdOf(source: SourceState, facts: StateFacts): string | null {
  if (facts.pause !== null) return everyHold;
  const state = 'away' in facts.queue ? absent : queueOf(facts.queue, source.source);
  const bannedUntilMs = isBanned(source, state) ? facts.nowMs + state.pausedMs : null;
  return holdText(
    source.source,
    {
      isPaused: source.pause !== null,
      isAway: source.outage !== null,
      refusedUntilMs: source.refusedUntilMs ?? bannedUntilMs,
      hasNoWorker: !('away' in facts.queue) && state.workers === 0,
    },
    nameOf(source, facts.sources),
  );
}

function sourceConditions(facts: HeldSource, { queue, nowMs, pause }: HeldFacts, name: string): Headline[] {
  const state = 'away' in queue ? absent : queueOf(queue, facts.source);
  const { refusal, outage } = facts;
  if (facts.pause !== null)
    return [
      condition('source_paused', pausedText(facts.source, facts.pause, name), {
        command: `tidemark sources resume ${facts.source}`,
      }),
    ];
  if (outage !== null) {
    const retry =
      state.workers === 0 || pause !== null
        ? `last tried ${formatTime(wholeSecond(outage.lastTriedMs))}`
        : nextTry(facts.refusedUntilMs);
    const text = `${outageSince(outage, name)}; ${retry}`;
    const kind =
      outage.kind === 'notice'
        ? 'source_notice'
        : outage.kind === 'unauthorized'
          ? 'source_refuses_key'
          : 'source_away';
    return [condition(kind, text)];
  }
  if (refusal !== null && isBanned(facts, state)) {
    const until = formatTime(wholeSecond(facts.refusedUntilMs ?? nowMs + state.pausedMs));
    return [condition('banned', `${name} accepts no request until ${until}: ${printable(refusal.message)}`)];
  }
  if (!facts.isUsedUp) return [];
  const { level, list, command } = conditions.banned;
  return [condition('limited_by_budget', `what ${name} allows in its period is used up`, { level, list, command })];
}

/** Such as `requests to kraken are paused since 2026-01-31 06:00Z by 127.0.0.1`. @param name of the source. */
export function pausedText(source: string, pause: PausedRequests, name = sourceText(source)): string {
  return `requests to ${name} are ${sinceText(pause)}`;
}

/** Such as `paused since 2026-01-31 06:00Z by 127.0.0.1`. */
export const sinceText = ({ sinceMs, by }: PausedRequests) =>
  `paused since ${formatTime(wholeSecond(sinceMs))}${by === null ? '' : ` by ${printable(by)}`}`;

function storeConditions({ queue, failingJobs, failed, beyondDepth, blocked, rejected }: StateFacts): Headline[] {
  const [job] = failingJobs;
  const found: Headline[] = [];
  if (job !== undefined) {
    const count = failingJobs.length;
    const cause = printable(job.message);
    const isAway = 'away' in queue;
    const isHelped = isAway || queue.schedulers > 0;
    const helped = isHelped && !isAway ? ` (the scheduler does ${verb(count, 'its', 'their')} work)` : '';
    const text = `${counted(count, 'TimescaleDB job')} ${verb(count, 'fails', 'fail')}${helped}: ${cause}`;
    // What the scheduler does is not behind. A queue that does not answer does not say whether one is connected.
    found.push(condition('jobs_failing', text, isHelped ? { level: 'ok' } : {}));
  }
  const missing = failed.ranges + blocked.ranges;
  if (missing > 0) {
    const first = failed.first ?? blocked.first;
    const causes = failed.causes + blocked.causes;
    const what = failed.ranges > 0 ? 'failed' : verb(missing, 'is refused by the source', 'are refused by the source');
    found.push(condition('ranges_failed', troubleText(what, { ranges: missing, first, causes })));
  }
  if (beyondDepth.ranges > 0) {
    const { ranges } = beyondDepth;
    const what = verb(ranges, 'is beyond the depth of its source', 'are beyond the depth of their source');
    found.push(condition('ranges_beyond_depth', troubleText(what, beyondDepth)));
  }
  const { rows } = rejected;
  if (rows > 0) {
    found.push(condition('rows_rejected', `${counted(rows, 'rejected row')} without a point`));
  }
  return found;
}

const troubleText = (what: string, { ranges, first, causes }: Trouble) => {
  const why = first === null ? '' : `${causes > 1 ? ', such as' : ''}: ${printable(first)}`;
  return `${counted(ranges, 'range')} ${what}${why}`;
};
const verb = (count: number, one: string, several: string) => (count === 1 ? one : several);

function budgetText(one: SourceState, queue: QueueFacts, sources: readonly SourceState[]): string {
  const { source } = one;
  const of = source === defaultSource && sources.length === 1 ? '' : ` of ${nameOf(one, sources)}`;
  const { perMinute, lowered } = queueOf(queue, source);
  const why = lowered === null ? '' : ` (${loweredText(lowered)})`;
  return `the budget of ${formatCount(perMinute)} requests a minute${of}${why}`;
}

/** Share of the budget from which on it is what limits. */
const fullShare = 0.9;

function progressConditions(facts: StateFacts, { etaMs, waiting }: Pick<State, 'etaMs' | 'waiting'>): Headline[] {
  const { series, left, behind, awaiting, queue } = facts;
  const sources = facts.sources.filter(isNeeded);
  const found: Headline[] = [];
  if (facts.pause !== null) {
    found.push(condition('paused', `requests are ${sinceText(facts.pause)}`));
  }
  if (facts.invalidList !== null) {
    const { sinceMs, why } = facts.invalidList;
    const text = `the watch list is invalid since ${formatTime(wholeSecond(sinceMs))}: ${printable(why)}`;
    found.push(condition('watch_list_invalid', `${text}; the last applied state stays`));
  }
  const [first, ...more] = facts.unapplied;
  if (first !== undefined) {
    const others = more.length === 0 ? '' : `, and ${formatCount(more.length)} more`;
    found.push(condition('watch_list_waits', `a part of the watch list waits: ${printable(first)}${others}`));
  }
  const [untold, ...others] = facts.untold;
  if (untold !== undefined) {
    const many = others.length === 0 ? '' : `, and ${formatCount(others.length)} more`;
    found.push(condition('notify_fails', `a target of notify was not told: ${printable(untold)}${many}`));
  }
  if (series === 0) return [...found, condition('nothing_tracked', 'nothing is tracked')];
  const isStopped =
    facts.pause !== null ||
    'away' in queue ||
    queue.schedulers === 0 ||
    sources.every((source) => isHeld(source, queue));
  if (behind > 0 && !isStopped) {
    // Requests of the last minute may be from before a pause.
    const asked = sources.filter((source) => !isHeld(source, queue));
    const moves = asked.some(({ lastMinute }) => lastMinute > 0);
    const full = asked.find(({ source, lastMinute }) => {
      const { perMinute } = queueOf(queue, source);
      return perMinute > 0 && lastMinute >= fullShare * perMinute;
    });
    const rest = progressText({ ...facts.tracked, left, etaMs });
    const by = full === undefined ? '' : `, limited by ${budgetText(full, queue, facts.sources)}`;
    const kind = by === '' ? 'catching_up' : 'limited_by_budget';
    const still = `${rest}, no request in the last minute`;
    // The spacing of requests has ended a minute after the last one: a pause is of workers that cannot store an answer.
    const pauses = asked.some(({ source }) => queueOf(queue, source).pausedMs > 0);
    if (moves) found.push(condition(kind, `catching up${by}: ${rest}`));
    else if (pauses) found.push(condition('workers_pause', `${still}: the workers pause, and their log says why`));
    else found.push(condition(kind, still, { level: 'waiting' }));
  }
  // What awaits a second answer says so itself.
  if (waiting !== null && facts.waiting.length > awaiting.ranges)
    found.push(condition('catching_up', waiting, { level: 'waiting' }));
  if (awaiting.ranges > 0) {
    const { ranges, stale, nextMs } = awaiting;
    const how = stale === 0 ? 'empty' : stale < ranges ? 'empty or stale' : 'stale';
    const when = nextMs === null || nextMs <= facts.nowMs ? '' : ` at ${formatTime(wholeSecond(nextMs))}`;
    const why = stale < ranges ? ' to be sure' : '';
    const text = `${counted(ranges, 'range')} came back ${how}; asked again${when}${why}`;
    found.push(condition('awaiting_second_answer', text));
  }
  return found;
}
