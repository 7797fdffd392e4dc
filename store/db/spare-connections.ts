/** What a pool does on a server that has no connection left. */

import type pg from 'pg';
import type { Clock } from '../../clock.ts';
import { codeOf } from '../../errors.ts';

/** Left to a person who looks at the database. PostgreSQL's own reserve is for superusers alone. */
const sparedConnections = 3;
const waitMs = 1000;
const shortWaitMs = 100;
const tooManyConnections = '53300';

/** Sessions of other users show no type to this one: with them, the background workers of extensions count. */
const leftSql = `
  select current_setting('max_connections')::integer
    - current_setting('superuser_reserved_connections')::integer
    - coalesce(current_setting('reserved_connections', true), '0')::integer
    - (select count(*) from pg_stat_activity
       where datid is not null and usesysid is not null
         and coalesce(backend_type, 'client backend') = 'client backend')::integer as left`;

/**
 * Keeps a pool from taking the server's last connections. While none can be opened, its queries take turns on those
 * that it has.
 *
 * @param onWait called for each try in vain of a pool without any connection, which then tries again every second.
 * Without it the query fails with PostgreSQL's 53300.
 */
export function leaveRoom(
  pool: pg.Pool,
  clock: Clock,
  onWait?: (error: Error) => void,
  spared = sparedConnections,
): void {
  const { max } = pool.options;
  // The pool's own count includes those that are being opened.
  const opened = new Set<pg.PoolClient>();
  pool.on('connect', (client) => void opened.add(client));
  pool.on('remove', (client) => void opened.delete(client));
  pool.options.onConnect = async (client: pg.ClientBase) => {
    const { rows } = await client.query<{ left: number }>(leftSql);
    if (Number(rows[0]?.left) < spared) throw noRoom();
  };
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  async function connectWhenFree(): Promise<pg.PoolClient> {
    for (let tries = 1; ; tries++) {
      try {
        return await connect();
      } catch (error) {
        if (!(error instanceof Error) || codeOf(error) !== tooManyConnections) throw error;
        pool.options.max = Math.max(1, opened.size);
        clock.after(waitMs, () => {
          pool.options.max = max;
        });
        if (opened.size > 0) continue;
        // Another one may be about to open.
        if (tries === 1) await clock.sleep(shortWaitMs);
        else if (onWait === undefined) throw error;
        else {
          onWait(error);
          await clock.sleep(waitMs);
        }
      }
    }
  }
  pool.connect = ((callback?: (error: Error | undefined, client?: pg.PoolClient, done?: unknown) => void) => {
    const connecting = connectWhenFree();
    if (callback === undefined) return connecting;
    connecting.then(
      (client) => callback(undefined, client, client.release),
      (error: Error) => callback(error),
    );
  }) as typeof pool.connect;
}

function noRoom(): Error {
  return Object.assign(new Error('the last connections of the server are left for other users'), {
    code: tooManyConnections,
  });
}
