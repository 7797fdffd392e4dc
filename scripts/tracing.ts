/** The traces of a process, where OTEL_EXPORTER_OTLP_ENDPOINT asks for them. Otherwise nothing of them is even loaded. */

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { version } from './version.ts';

export async function openTracing(command: string, config: Config, log: Logger): Promise<Tracing | null> {
  if (config.tracing.endpoint === undefined) return null;
  const { createTracing } = await import('../tracing/tracing.ts');
  return createTracing({ command, version }, (cause) => log.warn({ cause }, 'traces could not be sent'));
}
