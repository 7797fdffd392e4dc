/**
 * Why a range of a series is missing. A deferred window has one of these reasons in `tidemark.pending_windows`; the
 * other gaps are `not_asked`, `not_published` or `blocked`. Nothing reads the message of a gap: it is for people.
 */

import { counted, formatDuration, formatTime, nonEmpty } from './format.ts';
import type { EpochMs } from './intervals.ts';
import { defaultSource } from './sources.ts';

/** The reasons that SQL, JSON and metrics call `reason`. The precise one is the cause. */
export const shownReasons = ['not_asked', 'awaits_second_answer', 'failed', 'stale', 'blocked'] as const;
export type ShownReason = (typeof shownReasons)[number];

export interface ReasonRule {
  readonly shown: ShownReason;
  /** Which figure of `status`, headline and calendar counts it. `lost`: also part of the failed ones. */
  readonly counts: 'missing' | 'awaiting' | 'failed' | 'lost' | 'stale';
  readonly words: string;
  /** Whether the message adds to the words. */
  readonly showsMessage: boolean;
  /** Whether a source of the series can be asked for it. */
  readonly isRequestable: boolean;
  /** Whether it says that the source lacks the range: the next source of the series is asked at once. */
  readonly isLeftToNext: boolean;
  /** Whether a source after this one may have the range. */
  readonly mayBeElsewhere: boolean;
  /** Whether the next request has no witnesses: points beside the range could hide a truncated answer. */
  readonly isAskedAlone: boolean;
}

const usual = {
  ...{ showsMessage: true, isRequestable: true },
  ...{ isLeftToNext: false, mayBeElsewhere: true, isAskedAlone: false },
} as const;
const awaiting = {
  ...usual,
  shown: 'awaits_second_answer',
  counts: 'awaiting',
  words: 'came back empty',
  isAskedAlone: true,
} as const;
const failed = { ...usual, shown: 'failed', counts: 'failed', words: 'failed' } as const;
const lacking = { ...failed, isLeftToNext: true } as const;
const unrequestable = { words: 'not requested', isRequestable: false } as const;

export const reasons = {
  not_asked: { ...usual, shown: 'not_asked', counts: 'missing', words: 'awaits a request' },
  /** Its last request failed, and the queue sends it once more. Only after the last attempt has it failed. */
  retried: { ...usual, shown: 'not_asked', counts: 'missing', words: 'last request failed' },
  /** The archive has no file of that time yet, and no other source follows it. */
  not_published: { ...usual, shown: 'not_asked', counts: 'missing', ...unrequestable },
  /** Answered without a point. */
  awaiting: { ...awaiting, showsMessage: false },
  /** The same, by a probe: a request for days. */
  awaiting_days: awaiting,
  /** The answer had points before or after the window, and none in it. */
  silent: awaiting,
  /** An answer had points on both sides and none within, for far longer than is usual in this series. */
  unusual: awaiting,
  /** The answer lacked points that are stored beside the window, and proves nothing. */
  truncated: { ...failed, isAskedAlone: true },
  /** The answer was made before its newest periods had closed. */
  stale: { ...usual, shown: 'stale', counts: 'stale', words: 'stale answer' },
  /** The source states that it has nothing of the range. */
  lacks: lacking,
  /** No row of a file was readable, or none belonged to the window. A file stays as it is. */
  unusable_file: lacking,
  /** The answer has different rows of one period. */
  disputed: lacking,
  /** A source could not give it, and those after it do not keep what is so old. */
  not_elsewhere: { ...failed, mayBeElsewhere: false },
  /** Older than the source keeps. */
  beyond_depth: { ...lacking, counts: 'lost', ...unrequestable },
  /** No row of the answer was readable, or none belonged to the window. */
  unreadable: failed,
  /** The database did not take the answer. */
  not_stored: failed,
  /** The request failed. `kind` of the deferred window is the kind of the error. */
  failed,
  /** The source refuses the whole series. */
  blocked: { ...usual, shown: 'blocked', counts: 'failed', words: 'refused by the source' },
} as const satisfies Readonly<Record<string, ReasonRule>>;

export type Reason = keyof typeof reasons;
export const reasonNames = Object.keys(reasons) as [Reason, ...Reason[]];

/** The reasons whose rule fulfils a condition. */
export function reasonsWith(isWanted: (rule: ReasonRule) => boolean): Reason[] {
  return reasonNames.filter((name) => isWanted(reasons[name]));
}

/** `failed at kraken: HTTP 500`. */
export function describeReason(gap: {
  readonly cause: Reason;
  readonly message: string | null;
  /** The source that said so; null: none was asked. */
  readonly source: string | null;
}): string {
  const { words, showsMessage, isRequestable }: ReasonRule = reasons[gap.cause];
  const isNamed = gap.source !== null && gap.source !== defaultSource;
  const by = isNamed && isRequestable ? ` at ${gap.source}` : '';
  const said = gap.message === null || !showsMessage ? '' : `: ${gap.message}`;
  return `${words}${by}${said}`;
}

/**
 * Why a range is missing, and when it is requested again.
 *
 * @param at.hold what has to come before anything is requested, such as `kraken is resumed`; null: nothing.
 * @param at.againOf when a source is asked again whose last request was not answered, such as `from 12:00:01Z on`;
 * null: as soon as the budget allows.
 */
export function explainGap(
  gap: Parameters<typeof describeReason>[0] & {
    /** Time of the next request; null: as soon as the budget allows. */
    readonly retryAtMs: EpochMs | null;
  },
  {
    nowMs,
    hold,
    againOf = () => null,
    timeText = formatTime,
  }: {
    readonly nowMs: EpochMs;
    readonly hold: string | null;
    readonly againOf?: (source: string) => string | null;
    readonly timeText?: (timeMs: EpochMs) => string;
  },
): string {
  const { cause, retryAtMs } = gap;
  if (cause === 'not_asked' && hold !== null) return `waits until ${hold}`;
  const why = describeReason(gap);
  if (cause === 'not_asked' || !reasons[cause].isRequestable) return why;
  if (retryAtMs !== null && retryAtMs > nowMs) return `${why} (again at ${timeText(retryAtMs)})`;
  const again = gap.source === null ? null : againOf(gap.source);
  return `${why} (again ${hold === null ? (again ?? 'as soon as the budget allows') : `once ${hold}`})`;
}

/** The hold of a series: the first one, where every source of it has one. @param sources in order of preference. */
export function seriesHold(sources: readonly string[], holdOf: (source: string) => string | null): string | null {
  const holds = sources.map(holdOf);
  return holds.includes(null) ? null : (holds[0] ?? null);
}

/** Of a series that the source refuses. */
export function describeBlocked(message: string): string {
  return describeReason({ cause: 'blocked', message, source: null });
}

/**
 * How much of a series is missing for which reason: `2 h failed`, `1 d beyond the depth of its source`, `no data for
 * 364 d: 5 d confirmed, 359 d asked once`.
 *
 * @param lengths.emptyMs confirmed to have no data.
 */
export function describeMissing(lengths: {
  /** Part of it `beyondDepthMs`. */
  readonly failedMs: number;
  readonly beyondDepthMs: number;
  readonly awaitingMs: number;
  readonly emptyMs: number;
}): string[] {
  const { failedMs, beyondDepthMs, awaitingMs, emptyMs } = lengths;
  const partOf = (ms: number, words: string) => (ms > 0 ? `${formatDuration(ms)} ${words}` : '');
  const missing = nonEmpty([
    partOf(failedMs - beyondDepthMs, 'failed'),
    partOf(beyondDepthMs, 'beyond the depth of its source'),
  ]);
  if (emptyMs + awaitingMs === 0) return missing;
  const both = `: ${partOf(emptyMs, 'confirmed')}, ${partOf(awaitingMs, 'asked once')}`;
  const how = emptyMs > 0 && awaitingMs > 0 ? both : emptyMs > 0 ? ', confirmed' : ', asked once';
  return [...missing, `no data for ${formatDuration(emptyMs + awaitingMs)}${how}`];
}

/** What came of a request, for people: a verdict or the kind of an error. SQL, metrics and JSON have its name. */
export function verdictText(verdict: string): string {
  // An answer from its first to its last point is believed. The rest is requested again, with what lies beside it.
  if (verdict === 'cut_short') return 'partial: no point at its start or end, asked again to be sure';
  return verdict.replaceAll('_', ' ');
}

/** `2 rows rejected: another row of the same period has other values`; null: none was. */
export function rejectedText(one: { readonly rejected: number; readonly rejectedFor: string | null }): string | null {
  const { rejected, rejectedFor } = one;
  if (rejected === 0) return null;
  return `${counted(rejected, 'row')} rejected${rejectedFor === null ? '' : `: ${rejectedFor}`}`;
}
