/**
 * The conditions of the whole, as `status` and the dashboard show them. Nothing here needs Node: the page uses it.
 *
 *   ok       Nothing is missing.
 *   working  Windows are fetched.
 *   waiting  Nothing has to be done: it goes on by itself, later.
 *   bad      Data does not come, or is not right, until somebody looks.
 *
 * The first of those that hold is the headline, in the order of {@link conditions}: what stops all requests, what stops
 * those of a source, what is missing or wrong, what is under way.
 */

import type { Extent } from './progress.ts';

export const levels = ['ok', 'working', 'waiting', 'bad'] as const;
export type Level = (typeof levels)[number];

/** Where the entries behind a sentence are listed: a part of the dashboard. */
export const listNames = ['series', 'failing', 'awaiting', 'failed_requests', 'jobs', 'quarantine', 'queue'] as const;
export type ListName = (typeof listNames)[number];

interface ConditionRule {
  readonly level: Level;
  /** Null: there is none. */
  readonly list: ListName | null;
  /** The command that prints the list, or that helps; null: none does. */
  readonly command: string | null;
}

export const conditions = {
  database_away: { level: 'bad', list: null, command: null },
  queue_away: { level: 'bad', list: 'queue', command: null },
  no_worker: { level: 'bad', list: 'queue', command: 'tidemark run' },
  no_scheduler: { level: 'bad', list: 'queue', command: 'tidemark run' },
  source_away: { level: 'bad', list: 'failed_requests', command: 'tidemark sources' },
  source_notice: { level: 'bad', list: 'failed_requests', command: 'tidemark sources' },
  source_refuses_key: { level: 'bad', list: 'failed_requests', command: 'tidemark sources' },
  banned: { level: 'waiting', list: 'failed_requests', command: 'tidemark sources' },
  paused: { level: 'waiting', list: null, command: 'tidemark resume' },
  source_paused: { level: 'waiting', list: null, command: 'tidemark sources' },
  workers_pause: { level: 'bad', list: 'queue', command: null },
  ranges_failed: { level: 'bad', list: 'failing', command: 'tidemark gaps' },
  ranges_beyond_depth: { level: 'bad', list: 'failing', command: 'tidemark gaps' },
  rows_rejected: { level: 'bad', list: 'quarantine', command: 'tidemark gaps' },
  jobs_failing: { level: 'waiting', list: 'jobs', command: 'tidemark status' },
  watch_list_invalid: { level: 'bad', list: null, command: 'tidemark apply --dry-run' },
  watch_list_waits: { level: 'waiting', list: null, command: 'tidemark apply' },
  notify_fails: { level: 'waiting', list: null, command: 'tidemark notify' },
  awaiting_second_answer: { level: 'waiting', list: 'awaiting', command: 'tidemark gaps' },
  nothing_tracked: { level: 'waiting', list: null, command: 'tidemark track --help' },
  limited_by_budget: { level: 'working', list: 'series', command: 'tidemark status --all' },
  catching_up: { level: 'working', list: 'series', command: 'tidemark status --all' },
  healthy: { level: 'ok', list: 'series', command: null },
} as const satisfies Record<string, ConditionRule>;

type ConditionKind = keyof typeof conditions;
export const conditionKinds = Object.keys(conditions) as readonly ConditionKind[];

/** Those whose sentence says since when they hold. */
export const conditionsWithBeginning: ReadonlySet<ConditionKind> = new Set<ConditionKind>([
  ...(['source_away', 'source_notice', 'source_refuses_key'] as const),
  ...(['paused', 'source_paused', 'watch_list_invalid'] as const),
]);

export interface Headline extends ConditionRule {
  readonly kind: ConditionKind;
  /** One sentence, without a full stop. */
  readonly text: string;
  /** The source that it is about; null: it is about the whole. */
  readonly source: string | null;
}

export interface State extends Extent {
  readonly headline: Headline;
  /** Further conditions, in their order. */
  readonly also: readonly Headline[];
  /** Requests to go, of those that can be made now. */
  readonly left: number;
  /** Null: unknown, nothing moves, or all that is left waits. */
  readonly etaMs: number | null;
  /** Until when all that is left waits, and why; null: it does not. */
  readonly waiting: string | null;
}
