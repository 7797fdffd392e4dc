/** What a scheduler does: planning passes. */

import { Counter, Histogram, type Registry } from 'prom-client';
import type { PassTold } from '../scheduler/scheduler.ts';

export function planningMetrics(registry: Registry): (pass: PassTold) => void {
  const registers = [registry];
  const durations = new Histogram({
    name: 'tidemark_planning_pass_duration_seconds',
    help: 'Time of a planning pass',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  });
  const passes = new Counter({
    name: 'tidemark_planning_passes_total',
    help: 'Planning passes, by whether they succeeded. Of several schedulers one takes each',
    labelNames: ['outcome'],
    registers,
  });
  const planned = new Counter({
    name: 'tidemark_planned_requests_total',
    help: 'Windows and pages that passes put into the queue',
    registers,
  });
  for (const outcome of ['planned', 'failed']) passes.inc({ outcome }, 0);
  return ({ durationMs, added }) => {
    durations.observe(durationMs / 1000);
    passes.inc({ outcome: added === null ? 'failed' : 'planned' });
    planned.inc(added ?? 0);
  };
}
