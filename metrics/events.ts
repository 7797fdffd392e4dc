/** Metrics of events: the worker's requests and commits, the scheduler's passes, the service's responses. */

import { Counter, Histogram, type Registry } from 'prom-client';
import type { PassEvents } from '../scheduler/scheduler.ts';
import type { ServedEvent } from '../service/request-metrics.ts';
import type { RequestEvent } from '../source/source.ts';
import type { WorkerEvents } from '../workers/worker-events.ts';
import { datasets, effects, lanes, outcomes, requestedEndpoints } from './names.ts';

export interface WorkMetrics {
  readonly request: (request: RequestEvent) => void;
  readonly worker: WorkerEvents;
}

export function workMetrics(registry: Registry): WorkMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'tidemark_source_requests_total',
    help: 'Requests to the source by outcome',
    labelNames: ['endpoint', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'tidemark_source_request_duration_seconds',
    help: 'Time from a request to the last byte of its response or to its failure',
    labelNames: ['endpoint'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const bytes = new Counter({
    name: 'tidemark_source_response_bytes_total',
    help: 'Size of the decoded responses',
    labelNames: ['endpoint'],
    registers,
  });
  const rows = new Counter({
    name: 'tidemark_source_rows_total',
    help: 'Accepted rows of responses',
    labelNames: ['endpoint'],
    registers,
  });
  const rejected = new Counter({
    name: 'tidemark_source_rejected_rows_total',
    help: 'Rejected rows of responses, which went to quarantine',
    labelNames: ['endpoint'],
    registers,
  });
  const waits = new Histogram({
    name: 'tidemark_queue_wait_seconds',
    help: 'Time a job waited in the queue for the budget, from when it was due',
    labelNames: ['lane'],
    buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600],
    registers,
  });
  const commits = new Histogram({
    name: 'tidemark_commit_duration_seconds',
    help: 'Time from a response to the end of its transaction, including the wait for a connection',
    labelNames: ['dataset'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  });
  const notStored = new Counter({
    name: 'tidemark_commit_failures_total',
    help: 'Responses that were not stored because of the database or because of the response',
    labelNames: ['cause'],
    registers,
  });
  const points = new Counter({
    name: 'tidemark_points_total',
    help: 'Committed points and list rows by their effect on the stored data',
    labelNames: ['dataset', 'effect'],
    registers,
  });
  const revisions = new Counter({
    name: 'tidemark_revisions_total',
    help: 'Revised values of closed periods, whose old values are kept',
    labelNames: ['dataset'],
    registers,
  });
  const windows = new Counter({
    name: 'tidemark_windows_total',
    help: 'Windows and pages by verdict; put_aside: failed and deferred',
    labelNames: ['dataset', 'lane', 'verdict'],
    registers,
  });

  for (const endpoint of requestedEndpoints) {
    for (const outcome of outcomes) requests.inc({ endpoint, outcome }, 0);
    for (const counter of [bytes, rows, rejected]) counter.inc({ endpoint }, 0);
    durations.zero({ endpoint });
  }
  for (const lane of lanes) waits.zero({ lane });
  for (const dataset of datasets) {
    for (const effect of effects) points.inc({ dataset, effect }, 0);
    revisions.inc({ dataset }, 0);
    commits.zero({ dataset });
  }
  for (const cause of ['database', 'answer']) notStored.inc({ cause }, 0);

  return {
    request(request) {
      const { endpoint, outcome } = request;
      requests.inc({ endpoint, outcome });
      durations.observe({ endpoint }, request.durationMs / 1000);
      bytes.inc({ endpoint }, request.bytes);
      rows.inc({ endpoint }, request.rows);
      rejected.inc({ endpoint }, request.rejected);
    },
    worker: {
      claimed: ({ lane, waitedMs }) => waits.observe({ lane }, waitedMs / 1000),
      stored({ dataset, lane, commitMs, summary }) {
        const { fresh = 0, changed = 0, unchanged = 0, revised = 0, verdict = 'stored' } = summary;
        commits.observe({ dataset }, commitMs / 1000);
        points.inc({ dataset, effect: 'new' }, fresh);
        points.inc({ dataset, effect: 'changed' }, changed);
        points.inc({ dataset, effect: 'unchanged' }, unchanged);
        revisions.inc({ dataset }, revised);
        windows.inc({ dataset, lane, verdict });
      },
      deferred: ({ dataset, lane }) => windows.inc({ dataset, lane, verdict: 'put_aside' }),
      notStored: ({ passes }) => notStored.inc({ cause: passes ? 'database' : 'answer' }),
    },
  };
}

export function planningMetrics(registry: Registry): (pass: PassEvents) => void {
  const registers = [registry];
  const durations = new Histogram({
    name: 'tidemark_planning_pass_duration_seconds',
    help: 'Time of a planning pass',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  });
  const passes = new Counter({
    name: 'tidemark_planning_passes_total',
    help: 'Planning passes by outcome; each pass is done by one of the schedulers',
    labelNames: ['outcome'],
    registers,
  });
  const planned = new Counter({
    name: 'tidemark_planned_requests_total',
    help: 'Windows and pages that passes queued',
    registers,
  });
  for (const outcome of ['planned', 'failed']) passes.inc({ outcome }, 0);
  return ({ durationMs, added }) => {
    durations.observe(durationMs / 1000);
    passes.inc({ outcome: added === null ? 'failed' : 'planned' });
    planned.inc(added ?? 0);
  };
}

/** The route label of requests without a route, whose paths are unbounded. */
const noRoute = 'none';

export function servingMetrics(registry: Registry): (served: ServedEvent) => void {
  const registers = [registry];
  const requests = new Counter({
    name: 'tidemark_served_requests_total',
    help: 'Requests that the service answered, by route and HTTP status',
    labelNames: ['route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'tidemark_served_request_duration_seconds',
    help: 'Time from a request to the end of its response, except event streams',
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
