/** The label values with which counters start at 0: a counter that starts at 1 shows no increase. */

import { datasetNames } from '../model/datasets/index.ts';
import { listNames } from '../model/lists/index.ts';
import { endpointOf } from '../sources/source.ts';
import { sourceErrorKinds } from '../sources/source-error.ts';
import type { LedgerEntry } from '../store/ledger/ledger.ts';

/** The endpoints that workers request. */
export const requestedEndpoints = [...datasetNames, ...listNames].map(endpointOf);

export const outcomes = ['ok', ...sourceErrorKinds, 'defect'] as const;

export const datasets: readonly LedgerEntry['dataset'][] = [...datasetNames, ...listNames];

export const effects = ['new', 'changed', 'unchanged'] as const;

/** Kinds of TimescaleDB background jobs. */
export const jobKinds = ['columnstore', 'rollup', 'other'] as const;

export function jobKindOf(name: string): (typeof jobKinds)[number] {
  if (name === 'policy_compression') return 'columnstore';
  return name === 'policy_refresh_continuous_aggregate' ? 'rollup' : 'other';
}
