/** What the service answers. */

import { Counter, Histogram, type Registry } from 'prom-client';
import type { ServedTold } from '../service/telling.ts';

/** For requests that no route takes: their paths have no bound. */
const noRoute = 'none';

export function servingMetrics(registry: Registry): (served: ServedTold) => void {
  const registers = [registry];
  const requests = new Counter({
    name: 'tidemark_served_requests_total',
    help: 'Requests that the service answered, by route and HTTP status',
    labelNames: ['route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'tidemark_served_request_duration_seconds',
    help: 'Time from a request to its answer, streams of events aside',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10],
    registers,
  });
  return ({ route, status, durationMs }) => {
    const name = route ?? noRoute;
    requests.inc({ route: name, status });
    if (durationMs !== null) durations.observe({ route: name }, durationMs / 1000);
  };
}
