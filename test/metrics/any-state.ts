/** A state of the whole in which everything is some number. */

import type { QueueState, StateSources, StoreState } from '../../metrics/state.ts';
import { byLane, laneNames } from '../../model/lanes.ts';
import type { State } from '../../planning/conditions.ts';
import { clockAt } from '../parts/test-clock.ts';

export const someStore: StoreState = {
  intervals: [
    {
      dataset: 'candles',
      interval: 'h1',
      series: 3,
      blocked: 1,
      points: 1234,
      revised: 2,
      trackedSeconds: 7200,
      lagSeconds: 3600,
      newestAgeSeconds: 5000,
    },
  ],
  gaps: [{ dataset: 'candles', interval: 'h1', reason: 'failed', gaps: 2, seconds: 3600 }],
  polls: [{ dataset: 'rates', everySeconds: 300, newestAgeSeconds: 12 }],
  requests: {
    lastMinute: { ...byLane(laneNames, () => 0), refresh: 1, backfill: 2, poll: 3 },
    successAtMs: 1_700_000_000_000,
    failuresSince: 4,
  },
  quarantine: [{ dataset: 'candles', rows: 7 }],
  upkeep: {
    failingJobs: [
      {
        jobId: 1000,
        kind: 'policy_compression',
        of: 'tidemark.candle_points',
        state: 'failed',
        failures: 3,
        lastRunMs: 0,
        message: 'no room',
      },
    ],
    rollupsBehind: 2,
    chunksDue: 4,
    locks: { statements: 1, holders: ['4711 psql'] },
  },
  databaseBytes: 1_000_000,
  disk: { freeBytes: 10, sizeBytes: 100 },
};

export const someQueue: QueueState = {
  depth: { waiting: 5, active: 1, delayed: 2 },
  load: { refresh: 1, backfill: 4 },
  workers: 2,
  requestsPerMinute: 500,
};

export const someState: State = {
  headline: { kind: 'source_away', level: 'bad', text: 'away', source: 'kraken', list: null, command: null },
  also: [{ kind: 'jobs_failing', level: 'ok', text: '1 fails', source: null, list: null, command: null }],
  left: 12,
  waiting: null,
  requests: 40,
  wantedMs: 10_000,
  coveredMs: 4000,
  etaMs: 90_000,
};

export function anyState(sources: Partial<StateSources> = {}): StateSources {
  return {
    store: async () => someStore,
    queue: async () => someQueue,
    whole: async () => someState,
    clock: clockAt(() => 0),
    ...sources,
  };
}
