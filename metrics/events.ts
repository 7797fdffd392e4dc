/** Metrics of events: the worker's requests and commits, the scheduler's passes, the service's responses. */

import { Counter, Histogram, type Registry } from 'prom-client';
import { laneNames } from '../model/lanes.ts';
import type { ToldEvent } from '../notify/teller.ts';
import type { PassEvents } from '../scheduler/scheduler.ts';
import type { ServedEvent } from '../service/request-metrics.ts';
import type { RequestEvent } from '../sources/source.ts';
import type { WorkerEvents } from '../workers/worker-events.ts';
import { datasets, effects, outcomes, requestedEndpoints } from './names.ts';

/** Creates metrics of the registry. Names get the prefix `tidemark_`. */
function registering(registry: Registry) {
  const registers = [registry];
  return {
    counter: (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ name: `tidemark_${name}`, help, labelNames, registers }),
    histogram: (name: string, help: string, labelNames: string[], buckets: number[]) =>
      new Histogram({ name: `tidemark_${name}`, help, labelNames, buckets, registers }),
  };
}

export function workMetrics(registry: Registry) {
  const { counter, histogram } = registering(registry);
  const requests = counter('source_requests_total', 'Requests to the source by outcome', ['endpoint', 'outcome']);
  const durations = histogram(
    'source_request_duration_seconds',
    'Time from a request to the last byte of its response or to its failure',
    ['endpoint'],
    [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  );
  const bytes = counter('source_response_bytes_total', 'Size of the decoded responses', ['endpoint']);
  const rows = counter('source_rows_total', 'Accepted rows of responses', ['endpoint']);
  const rejected = counter('source_rejected_rows_total', 'Rejected rows of responses, which went to quarantine', [
    'endpoint',
  ]);
  const waits = histogram(
    'queue_wait_seconds',
    'Time a job waited in the queue for the budget, from when it was due',
    ['lane'],
    [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600],
  );
  const commits = histogram(
    'commit_duration_seconds',
    'Time from a response to the end of its transaction, including the wait for a connection',
    ['dataset'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  );
  const notStored = counter(
    'commit_failures_total',
    'Responses that were not stored because of the database or because of the response',
    ['cause'],
  );
  const points = counter('points_total', 'Committed points and list rows by their effect on the stored data', [
    'dataset',
    'effect',
  ]);
  const revisions = counter('revisions_total', 'Revised values of closed periods, whose old values are kept', [
    'dataset',
  ]);
  const windows = counter('windows_total', 'Windows and pages by verdict; put_aside: failed and deferred', [
    'dataset',
    'lane',
    'verdict',
  ]);

  for (const endpoint of requestedEndpoints) {
    for (const outcome of outcomes) requests.inc({ endpoint, outcome }, 0);
    for (const counter of [bytes, rows, rejected]) counter.inc({ endpoint }, 0);
    durations.zero({ endpoint });
  }
  for (const lane of laneNames) waits.zero({ lane });
  for (const dataset of datasets) {
    for (const effect of effects) points.inc({ dataset, effect }, 0);
    revisions.inc({ dataset }, 0);
    commits.zero({ dataset });
  }
  for (const cause of ['database', 'answer']) notStored.inc({ cause }, 0);

  return {
    request(request: RequestEvent): void {
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
      notStored: ({ isTransient }) => notStored.inc({ cause: isTransient ? 'database' : 'answer' }),
    } satisfies WorkerEvents,
  };
}

export function planningMetrics(registry: Registry): (pass: PassEvents) => void {
  const { counter, histogram } = registering(registry);
  const durations = histogram(
    'planning_pass_duration_seconds',
    'Time of a planning pass',
    [],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
  );
  const passes = counter(
    'planning_passes_total',
    'Planning passes by outcome; each pass is done by one of the schedulers',
    ['outcome'],
  );
  const planned = counter('planned_requests_total', 'Windows and pages that passes queued');
  for (const outcome of ['planned', 'failed']) passes.inc({ outcome }, 0);
  return ({ durationMs, added }) => {
    durations.observe(durationMs / 1000);
    passes.inc({ outcome: added === null ? 'failed' : 'planned' });
    planned.inc(added ?? 0);
  };
}

/** Targets are the few that the watch list names. */
export function tellingMetrics(registry: Registry): (told: ToldEvent) => void {
  const told = registering(registry).counter(
    'notifications_total',
    'Messages to the targets of `notify`: delivered, or given up',
    ['target', 'result'],
  );
  return ({ target, result }) => told.inc({ target, result });
}

/** The route label of requests without a route, whose paths are unbounded. */
const noRoute = 'none';

export function servingMetrics(registry: Registry): (served: ServedEvent) => void {
  const { counter, histogram } = registering(registry);
  const requests = counter('served_requests_total', 'Requests that the service answered, by route and HTTP status', [
    'route',
    'status',
  ]);
  const durations = histogram(
    'served_request_duration_seconds',
    'Time from a request to the end of its response, except event streams',
    ['route'],
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10],
  );
  return ({ route, status, durationMs }) => {
    const name = route ?? noRoute;
    requests.inc({ route: name, status });
    if (durationMs !== null) durations.observe({ route: name }, durationMs / 1000);
  };
}
