/** A database whose connections break at a chosen query, like those of a process that is killed there. */

import type pg from 'pg';
import type { Database } from '../../store/db/database.ts';

export interface Crash {
  /** The number of the query that breaks, from 0. */
  readonly at: number;
  /** Whether the server has executed it. */
  readonly isDone: boolean;
}

export interface BreakingDatabase extends Database {
  /** Transactions committed before the break or with it, and those rolled back. */
  readonly ended: { readonly commits: number; readonly rollbacks: number };
}

export function breakingAt(database: Database, crash: Crash): BreakingDatabase {
  let queries = 0;
  let broken = false;
  const ended = { commits: 0, rollbacks: 0 };
  const dead = () => new Error('Connection terminated unexpectedly');

  function wrapped(client: pg.PoolClient): pg.PoolClient {
    const query = async (...given: unknown[]): Promise<unknown> => {
      if (broken) throw dead();
      const isLast = queries === crash.at;
      queries += 1;
      if (isLast) broken = true;
      if (isLast && !crash.isDone) throw dead();
      const result = await Reflect.apply(client.query, client, given);
      if (given[0] === 'commit') ended.commits += 1;
      if (given[0] === 'rollback') ended.rollbacks += 1;
      if (isLast) throw dead();
      return result;
    };
    return new Proxy(client, {
      get(target, name) {
        // A COPY is a stream that breaks only at its end. The queries around it break.
        if (name === 'query')
          return (...given: unknown[]) =>
            typeof given[0] === 'object' && given[0] !== null && 'submit' in given[0]
              ? Reflect.apply(target.query, target, given)
              : query(...given);
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
  const pool = new Proxy(database.pool, {
    get(target, name) {
      if (name === 'connect') return async () => wrapped(await target.connect());
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...database, pool, ended };
}
