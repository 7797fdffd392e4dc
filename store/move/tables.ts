/**
 * Every table that the migrations make: what a move takes along, and what it leaves behind. A test holds this against the
 * catalogue, so that a new table cannot be forgotten.
 */

import { derivedSettings } from '../derived/apply.ts';

export interface MovedTable {
  /** In the schema `tidemark`. */
  readonly name: string;
  /** Whose rows are compared apart from the others'; null: all of them at once. */
  readonly line: 'series_id' | 'currency_id' | 'listed_id' | 'list_id' | null;
  /** Which rows are data, as a condition, where some say something of the database itself. */
  readonly only?: string;
}

const table = (name: string, line: MovedTable['line'] = null): MovedTable => ({ name, line });

/** What is referred to stands before what refers to it. */
export const movedTables: readonly MovedTable[] = Object.freeze([
  table('series'),
  table('currencies'),
  table('lists'),
  table('list_polls', 'list_id'),
  table('poll_pages'),
  table('listed_assets'),
  table('listed_exchanges'),
  table('listed_markets'),
  table('listed_asset_markets'),
  table('candle_points', 'series_id'),
  table('asset_history_points', 'series_id'),
  table('rate_points', 'currency_id'),
  table('asset_states', 'listed_id'),
  table('exchange_states', 'listed_id'),
  table('market_states', 'listed_id'),
  table('asset_market_states', 'listed_id'),
  table('point_revisions', 'series_id'),
  table('fetches', 'series_id'),
  table('quarantine', 'series_id'),
  table('pending_windows', 'series_id'),
  table('empty_answers', 'series_id'),
  table('differences', 'series_id'),
  table('asked_windows', 'series_id'),
  table('api_keys'),
  // Which views and rollups a database has is its own affair.
  {
    name: 'settings',
    line: null,
    only: `name not in (${derivedSettings.map((name) => `'${name}'`).join(', ')})`,
  },
]);

/** Tables that stay, and why. */
export const leftBehind: Readonly<Record<string, string>> = Object.freeze({
  migrations: 'the target has its own, of which the newest must be the same',
  request_times: 'requests of the last minute to the service: a minute later they count for nothing',
});
