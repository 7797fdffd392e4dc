/**
 * The connections of a process to the queue on PostgreSQL: one pool, and one connection that listens, however many
 * queues and workers it has. By itself BullMQ opens about four for each source.
 */

import type { PgPool, PostgresQueueBackend } from 'bullmq';
import pg from 'pg';
import { queryInTurn, shareConnections } from './bullmq-internals.ts';

type Backend = PostgresQueueBackend;

/** The queries are short: a few connections serve any number of workers. */
const maxQueries = 6;
/** Stands in a lock for a worker that states no budget. */
const noBudget = -1;

/** @param prepare is given the pool before its first connection. Nothing is connected before it is used. */
export function openConnections(settings: pg.PoolConfig, prepare: (pool: pg.Pool) => void) {
  const pool = new pg.Pool({ ...settings, max: maxQueries });
  prepare(pool);
  const users = new Set<Backend['connection']>();
  const report = (error: Error) => {
    for (const user of users) if (user.listenerCount('error') > 0) user.emit('error', error);
  };
  pool.on('error', report);
  // Each backend would add its own listener, and never remove it.
  const shownPool: PgPool = {
    connect: (() => pool.connect()) as unknown as PgPool['connect'],
    query: (text, values) => pool.query<never>(text, [...(values ?? [])]),
    end: () => pool.end(),
    on: () => shownPool,
    removeAllListeners: () => shownPool,
  };
  pool.on('connect', (client) => client.on('error', () => {}));
  /** Names of workers, each with the number of workers that have it. */
  const present = new Map<string, number>();
  let listening: Promise<pg.Client> | undefined;

  async function listen(): Promise<pg.Client> {
    const client = new pg.Client(settings);
    // Every waiting worker adds a listener.
    client.setMaxListeners(0);
    // Without a listener an error between queries ends the process.
    client.on('error', () => {});
    queryInTurn(client);
    const names = [...present].flatMap(([name, workers]) => Array<string>(workers).fill(name));
    try {
      await client.connect();
      await pool.options.onConnect?.(client);
      for (const name of names) await client.query(lockOf(name, 'lock'));
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    return client;
  }

  function listener(): Promise<pg.Client> {
    if (listening !== undefined) return listening;
    const opening = listen();
    listening = opening;
    const forget = () => {
      if (listening === opening) listening = undefined;
    };
    opening.then(
      (client) =>
        client.on('error', (error) => {
          forget();
          client.removeAllListeners('notification');
          void client.end().catch(() => {});
          for (const user of users) user.emit('listenerinvalidated');
          report(error);
        }),
      forget,
    );
    return opening;
  }

  /** Shows a worker to all processes, for as long as it is there and this connection lasts. */
  async function enter(name: string): Promise<void> {
    const before = listening;
    present.set(name, (present.get(name) ?? 0) + 1);
    // A connection that is opened now shows all that are present.
    const client = await listener();
    if (before !== undefined && (present.get(name) ?? 0) > 0) await client.query(lockOf(name, 'lock'));
  }

  /** Nothing is to be left where the connection has ended. */
  async function leave(name: string): Promise<void> {
    present.set(name, (present.get(name) ?? 0) - 1);
    await listening?.then((client) => client.query(lockOf(name, 'unlock'))).catch(() => {});
  }

  return Object.freeze({
    pool,
    /** The pool as BullMQ takes one. */
    shownPool,
    /**
     * Lets a backend use them. Call it before the backend connects.
     *
     * @param workers name of the workers that it finds, without a budget.
     */
    share(backend: Backend, { schema, workers }: { readonly schema: string; readonly workers: string }) {
      const { connection } = backend;
      users.add(connection);
      const names: string[] = [];
      let left: Promise<unknown> = Promise.resolve();
      connection.once('close', () => {
        users.delete(connection);
        left = Promise.all(names.map(leave));
      });
      shareConnections(backend, {
        schema,
        listener,
        enter(name) {
          names.push(name);
          return enter(name);
        },
        left: () => left,
        async present() {
          const { rows } = await pool.query<{ budget: number }>(presentSql, [workers]);
          return rows.map(({ budget }) => (budget === noBudget ? workers : `${workers}@${budget}`));
        },
      });
    },
    async close() {
      const client = await listening?.catch(() => undefined);
      await Promise.all([client?.end(), pool.end()]);
    },
  });
}

/**
 * A worker is present as an advisory lock of the listening connection, which ends with it, however it ends. The first
 * key is its name without the budget, the second one the budget. A process that has several workers of one name counts
 * once.
 */
function lockOf(name: string, step: 'lock' | 'unlock'): { text: string; values: unknown[] } {
  const [withoutBudget, budget = noBudget] = name.split('@');
  return {
    text: `select pg_advisory_${step}_shared(hashtext($1), $2::integer)`,
    values: [withoutBudget, Number(budget)],
  };
}

// Keys are shown as unsigned. Two keys have the subid 2, one key of 64 bits the subid 1.
const presentSql = `
  select objid::bigint::bit(32)::integer as budget from pg_locks
  where locktype = 'advisory' and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database())
    and classid::bigint::bit(32)::integer = hashtext($1)`;
