/** The connections to the database of this process, by the pool that holds them. */

import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';

/**
 * `work`: all but the service, which has its own: one reads what is served, one looks keys up and counts requests, one is
 * the dashboard's.
 */
export type PoolName = 'work' | 'serve_data' | 'serve_accounts' | 'serve_dashboard';

type WatchedPool = Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>;

/** @returns what adds a pool. One of the same name replaces it. */
export function poolMetrics(registry: Registry): (name: PoolName, pool: WatchedPool) => void {
  const pools = new Map<PoolName, WatchedPool>();
  const registers = [registry];
  const each = (gauge: Gauge, read: (pool: WatchedPool) => Record<string, number> | number) => {
    for (const [pool, watched] of pools) {
      const value = read(watched);
      if (typeof value === 'number') gauge.set({ pool }, value);
      else for (const [state, count] of Object.entries(value)) gauge.set({ pool, state }, count);
    }
  };
  new Gauge({
    name: 'tidemark_database_connections',
    help: 'Connections to the database, in use and idle',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      each(this, ({ totalCount, idleCount }) => ({ in_use: totalCount - idleCount, idle: idleCount }));
    },
  });
  new Gauge({
    name: 'tidemark_database_connections_limit',
    help: 'Connections that the pool may have',
    labelNames: ['pool'],
    registers,
    collect() {
      each(this, ({ options }) => options.max);
    },
  });
  new Gauge({
    name: 'tidemark_database_waiting',
    help: 'Queries that wait for a connection',
    labelNames: ['pool'],
    registers,
    collect() {
      each(this, ({ waitingCount }) => waitingCount);
    },
  });
  return (name, pool) => void pools.set(name, pool);
}
