/** The labels' values, where a metric has them before anything happened: a counter that begins at one shows no increase. */

import { snapshotDatasets } from '../contract/lists.ts';
import type { Endpoint } from '../contract/paths.ts';
import type { RequestTold } from '../source/telling-source.ts';
import type { GapReason } from '../store/gaps.ts';
import type { LedgerEntry } from '../store/ledger.ts';

/** What workers ask the source for; the interface has more. */
export const askedEndpoints = [
  'candles',
  'assetHistory',
  'rates',
  'assets',
  'exchanges',
  'markets',
  'assetMarkets',
] as const satisfies readonly Endpoint[];

export const outcomes = Object.keys({
  ok: true,
  unreachable: true,
  timeout: true,
  server_error: true,
  rate_limited: true,
  refused: true,
  unauthorized: true,
  not_found: true,
  too_large: true,
  incomplete: true,
  notice: true,
  unexpected: true,
  defect: true,
} satisfies Record<RequestTold['outcome'], true>);

export const lanes = Object.keys({
  refresh: true,
  poll: true,
  probe: true,
  backfill: true,
  reread: true,
  repair: true,
  verify: true,
} satisfies Record<LedgerEntry['lane'], true>);

export const gapReasons = Object.keys({
  not_asked: true,
  awaits_second_answer: true,
  failed: true,
  stale: true,
  blocked: true,
} satisfies Record<GapReason, true>);

export const datasets: readonly LedgerEntry['dataset'][] = [
  'candles',
  'asset_history',
  'rates',
  ...snapshotDatasets,
];

export const effects = ['new', 'changed', 'unchanged'] as const;
