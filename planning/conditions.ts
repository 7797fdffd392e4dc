/**
 * The conditions of the whole, as `status` and the dashboard show them. Nothing here needs Node: the page uses it.
 *
 *   ok       Nothing is missing.
 *   working  Windows are fetched.
 *   waiting  Nothing has to be done: it goes on by itself, later.
 *   bad      Data does not come, or is not right, until somebody looks.
 */

export const levels = ['ok', 'working', 'waiting', 'bad'] as const;
export type Level = (typeof levels)[number];

export const conditionKinds = [
  'database_away',
  'queue_away',
  'paused',
  'no_worker',
  'no_scheduler',
  'source_away',
  'source_notice',
  'source_refuses_key',
  'banned',
  'jobs_failing',
  'ranges_failed',
  'ranges_beyond_depth',
  'rows_rejected',
  'limited_by_budget',
  'catching_up',
  'awaiting_second_answer',
  'nothing_tracked',
  'healthy',
] as const;

/** Where the entries behind a sentence are listed: a part of the dashboard. */
export const listNames = ['series', 'failing', 'awaiting', 'failed_requests', 'jobs', 'quarantine', 'queue'] as const;
export type ListName = (typeof listNames)[number];

export interface Headline {
  readonly kind: (typeof conditionKinds)[number];
  readonly level: Level;
  /** One sentence, without a full stop. */
  readonly text: string;
  /** Null: there is none. */
  readonly list: ListName | null;
  /** The command that prints the list, or that helps; null: none does. */
  readonly command: string | null;
}

export interface State {
  readonly headline: Headline;
  /** Further conditions, the worst first. */
  readonly also: readonly Headline[];
  readonly left: number;
  /** Null: unknown, or nothing moves. */
  readonly etaMs: number | null;
}
