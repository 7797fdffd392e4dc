/**
 * The metrics of one process, for Prometheus. The rooms below tell what happens, each in words of its own; here it is
 * counted. docs/metrics.md explains every metric.
 *
 * Labels are bounded: endpoints, datasets, intervals, lanes, routes. No series, asset, market, key or address is ever one.
 */

import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { PassTold } from '../scheduler/scheduler.ts';
import type { ServedTold } from '../service/telling.ts';
import { planningMetrics } from './planning.ts';
import { poolMetrics } from './pools.ts';
import { servingMetrics } from './serving.ts';
import { type StateSources, stateMetrics } from './state.ts';
import { type WorkMetrics, workMetrics } from './work.ts';

export interface Metrics {
  /** What a worker does; there from the first call on. */
  work(): WorkMetrics;
  /** What a scheduler does; there from the first call on. */
  planning(): (pass: PassTold) => void;
  /** What the service does; there from the first call on. */
  serving(): (served: ServedTold) => void;
  readonly watchPool: ReturnType<typeof poolMetrics>;
  /** Exports the state of the whole from now on. One process of an installation does. */
  watchState(sources: StateSources): void;
  /** All of it, as Prometheus reads it. */
  read(): Promise<{ readonly contentType: string; readonly text: string }>;
  readonly registry: Registry;
}

/** @param process its command, and the version of the software. */
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
    watchPool: poolMetrics(registry),
    watchState: (sources) => {
      refreshState = stateMetrics(registry, sources);
    },
    async read() {
      await refreshState();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
    registry,
  };
}

/** The library's, which are gauges and named like counters; by type the same figures are there without `_total`. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/** Parts of a process can be started again: they count on. */
function once<Part>(make: () => Part): () => Part {
  let made: Part | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
