/**
 * Metrics of a process if METRICS_PORT is set, and traces if OTEL_EXPORTER_OTLP_ENDPOINT is set. Their modules are
 * loaded only then.
 */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ProcessPhase } from '../metrics/endpoint.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Config } from '../settings/config.ts';
import type { Database } from '../store/db/database.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { version } from '../version.ts';

export interface MeasuredContext {
  readonly clock: Clock;
  readonly config: Config;
  readonly database: Database;
  /** Whether it is the embedded database under `.tidemark/`. */
  readonly embedded: boolean;
}

export interface OpenMetrics extends Metrics {
  readonly url: string;
  /** What `/readyz` beside the metrics says from now on. */
  readonly reach: (phase: ProcessPhase) => void;
  close(): Promise<void>;
}

interface Telemetry {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Logger;
}

/** @throws TidemarkError PORT_IN_USE, BAD_CONFIGURATION for an address that it cannot listen on. */
export async function openMetrics(command: string, { config, log }: Telemetry): Promise<OpenMetrics | null> {
  const { host, port } = config.metrics;
  if (port === undefined) return null;
  const { createMetrics } = await import('../metrics/metrics.ts');
  const { openMetricsEndpoint } = await import('../metrics/endpoint.ts');
  const metrics = createMetrics({ command, version });
  const endpoint = await openMetricsEndpoint(() => metrics.read(), { host, port });
  log.info({ metrics: endpoint.url }, 'metrics endpoint');
  return { ...metrics, url: endpoint.url, reach: endpoint.reach, close: () => endpoint.close() };
}

export async function openTracing(command: string, { clock, config, log }: Telemetry): Promise<Tracing | null> {
  if (config.tracing.endpoint === undefined) return null;
  const { createTracing } = await import('../tracing/tracing.ts');
  return createTracing({ clock, command, version }, (cause) => log.warn({ cause }, 'traces could not be sent'));
}
