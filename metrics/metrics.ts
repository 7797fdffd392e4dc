/**
 * The Prometheus metrics of one process. The rooms below emit events, which are counted here. docs/metrics.md explains
 * every metric.
 *
 * Labels are bounded: endpoints, datasets, intervals, lanes, routes. No series, asset, market, key or address is a
 * label.
 */

import type pg from 'pg';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { planningMetrics, servingMetrics, tellingMetrics, workMetrics } from './events.ts';
import { type StateSources, stateMetrics } from './state.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** @param process command and software version. */
export function createMetrics(process: { readonly command: string; readonly version: string }) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  new Gauge({
    name: 'tidemark_build_info',
    help: 'Which command this process runs, in which version; always 1',
    labelNames: ['command', 'version'],
    registers: [registry],
  }).set(process, 1);
  const pools = poolMetrics(registry);
  let refreshState = async () => {};
  return {
    // Each part's metrics are registered on the first call.
    work: once(() => workMetrics(registry)),
    planning: once(() => planningMetrics(registry)),
    telling: once(() => tellingMetrics(registry)),
    serving: once(() => servingMetrics(registry)),
    measurePool: pools.measure,
    measureReplica: (lagMs: () => number | null) => {
      const lag = new Gauge({
        name: 'tidemark_replica_lag_seconds',
        help: 'How far the replica from which the service reads is behind; absent while unknown',
        registers: [registry],
        collect() {
          const ms = lagMs();
          if (ms === null) lag.remove();
          else lag.set(ms / 1000);
        },
      });
    },
    /** Starts to export the state of the installation. Only one process should. */
    measureState: (sources: StateSources) => {
      refreshState = stateMetrics(registry, sources);
    },
    /** All metrics in Prometheus' text format. */
    async read() {
      pools.refresh();
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

/**
 * `work` is for everything but the service. The service has pools for data, for keys and limits, and for the dashboard.
 */
type PoolName = 'work' | 'serve_data' | 'serve_accounts' | 'serve_dashboard';

type MeasuredPool = Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>;

/** `measure` adds a pool, which replaces an earlier pool of the same name. `refresh` updates the gauges. */
function poolMetrics(registry: Registry) {
  const pools = new Map<PoolName, MeasuredPool>();
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name: `tidemark_database_${name}`, help, labelNames, registers: [registry] });
  const connections = gauge('connections', 'Connections to the database, in use and idle', ['pool', 'state']);
  const limit = gauge('connections_limit', 'Largest number of connections of the pool', ['pool']);
  const waiting = gauge('waiting', 'Queries that wait for a connection', ['pool']);
  return {
    measure: (name: PoolName, pool: MeasuredPool) => void pools.set(name, pool),
    refresh() {
      for (const [pool, { totalCount, idleCount, waitingCount, options }] of pools) {
        connections.set({ pool, state: 'in_use' }, totalCount - idleCount);
        connections.set({ pool, state: 'idle' }, idleCount);
        limit.set({ pool }, options.max);
        waiting.set({ pool }, waitingCount);
      }
    },
  };
}
