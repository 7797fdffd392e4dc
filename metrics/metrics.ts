/**
 * The Prometheus metrics of one process. The rooms below emit events, which are counted here. docs/metrics.md explains
 * every metric.
 *
 * Labels are bounded: endpoints, datasets, intervals, lanes, routes. No series, asset, market, key or address is a label.
 */

import type pg from 'pg';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { PassEvents } from '../scheduler/scheduler.ts';
import type { ServedEvent } from '../service/request-metrics.ts';
import { planningMetrics, servingMetrics, type WorkMetrics, workMetrics } from './events.ts';
import { type StateSources, stateMetrics } from './state.ts';

export interface Metrics {
  /** Metrics of the worker, registered on the first call. */
  work(): WorkMetrics;
  /** Metrics of the scheduler, registered on the first call. */
  planning(): (pass: PassEvents) => void;
  /** Metrics of the service, registered on the first call. */
  serving(): (served: ServedEvent) => void;
  readonly measurePool: ReturnType<typeof poolMetrics>;
  /** Starts to export the state of the installation. Only one process should. */
  measureState(sources: StateSources): void;
  /** All metrics in Prometheus' text format. */
  read(): Promise<{ readonly contentType: string; readonly text: string }>;
  readonly registry: Registry;
}

/** @param process command and software version. */
export function createMetrics(process: { readonly command: string; readonly version: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  new Gauge({
    name: 'tidemark_build_info',
    help: 'Which command this process runs, in which version; always 1',
    labelNames: ['command', 'version'],
    registers: [registry],
  }).set(process, 1);
  let refreshState = async () => {};
  return {
    work: once(() => workMetrics(registry)),
    planning: once(() => planningMetrics(registry)),
    serving: once(() => servingMetrics(registry)),
    measurePool: poolMetrics(registry),
    measureState: (sources) => {
      refreshState = stateMetrics(registry, sources);
    },
    async read() {
      await refreshState();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
    registry,
  };
}

/** Gauges of prom-client that are named like counters. The same figures exist by type without `_total`. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/** A part of a process may restart; its counters continue. */
function once<Part>(make: () => Part): () => Part {
  let made: Part | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** `work` is for everything but the service. The service has pools for data, for keys and limits, and for the dashboard. */
export type PoolName = 'work' | 'serve_data' | 'serve_accounts' | 'serve_dashboard';

type MeasuredPool = Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>;

/** @returns adds a pool; it replaces an earlier pool of the same name. */
function poolMetrics(registry: Registry): (name: PoolName, pool: MeasuredPool) => void {
  const pools = new Map<PoolName, MeasuredPool>();
  const registers = [registry];
  const each = (gauge: Gauge, read: (pool: MeasuredPool) => Record<string, number> | number) => {
    for (const [pool, measured] of pools) {
      const value = read(measured);
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
    help: 'Largest number of connections of the pool',
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
