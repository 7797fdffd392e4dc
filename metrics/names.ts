/** The label values with which counters start at 0: a counter that starts at 1 shows no increase. */

import { snapshotDatasets } from '../contract/lists.ts';
import type { Endpoint } from '../contract/paths.ts';
import type { RequestEvent } from '../source/source.ts';
import type { LedgerEntry } from '../store/ledger/ledger.ts';
import type { GapReason } from '../store/series/gaps.ts';

/** The endpoints that workers request. */
export const requestedEndpoints = [
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
} satisfies Record<RequestEvent['outcome'], true>);

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

/** Kinds of TimescaleDB background jobs. */
export const jobKinds = ['columnstore', 'rollup', 'other'] as const;

export function jobKindOf(name: string): (typeof jobKinds)[number] {
  if (name === 'policy_compression') return 'columnstore';
  return name === 'policy_refresh_continuous_aggregate' ? 'rollup' : 'other';
}
