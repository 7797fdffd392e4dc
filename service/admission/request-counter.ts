/** Counts the requests of each caller in a rolling minute, for every process that serves the same data. */

import type pg from 'pg';
import { assertCountable, type CountedRequest, countRequest } from '../../store/request-times.ts';

export type { CountedRequest };

export interface RequestCounter {
  /** Counts one request, unless `perMinute` were made in the 60 seconds before it. */
  count(caller: string, perMinute: number): Promise<CountedRequest>;
  /** Rejects while nothing can be counted. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** On the database that is served, through a pool that may write. */
export function postgresCounter(pool: pg.Pool): RequestCounter {
  return {
    count: (caller, perMinute) => countRequest(pool, caller, perMinute),
    check: () => assertCountable(pool),
    close: async () => {},
  };
}
