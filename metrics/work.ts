/** What a worker does: requests at the source, waits, commits, and what they changed. */

import { Counter, Histogram, type Registry } from 'prom-client';
import type { RequestTold } from '../source/telling-source.ts';
import type { WorkerTold } from '../workers/told.ts';
import { askedEndpoints, datasets, effects, lanes, outcomes } from './names.ts';

export interface WorkMetrics {
  readonly request: (request: RequestTold) => void;
  readonly worker: WorkerTold;
}

export function workMetrics(registry: Registry): WorkMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'tidemark_source_requests_total',
    help: 'Requests made at the source, by how they ended',
    labelNames: ['endpoint', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'tidemark_source_request_duration_seconds',
    help: 'Time from asking the source to the last byte of its answer, or to the failure',
    labelNames: ['endpoint'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const bytes = new Counter({
    name: 'tidemark_source_response_bytes_total',
    help: 'Size of the decoded answers',
    labelNames: ['endpoint'],
    registers,
  });
  const rows = new Counter({
    name: 'tidemark_source_rows_total',
    help: 'Rows of answers that could be read',
    labelNames: ['endpoint'],
    registers,
  });
  const rejected = new Counter({
    name: 'tidemark_source_rejected_rows_total',
    help: 'Rows of answers that could not be used, and went to quarantine',
    labelNames: ['endpoint'],
    registers,
  });
  const waits = new Histogram({
    name: 'tidemark_queue_wait_seconds',
    help: 'Time a job waited in the queue for its turn in the budget, from when it could have been taken',
    labelNames: ['lane'],
    buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600],
    registers,
  });
  const commits = new Histogram({
    name: 'tidemark_commit_duration_seconds',
    help: 'Time from an answer to the end of its transaction, the wait for a connection included',
    labelNames: ['dataset'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  });
  const notStored = new Counter({
    name: 'tidemark_commit_failures_total',
    help: 'Answers that were not stored: the database was in trouble, or the answer cannot be stored',
    labelNames: ['cause'],
    registers,
  });
  const points = new Counter({
    name: 'tidemark_points_total',
    help: 'Points and rows of lists that were committed, by what they did to what is stored',
    labelNames: ['dataset', 'effect'],
    registers,
  });
  const revisions = new Counter({
    name: 'tidemark_revisions_total',
    help: 'Values of closed periods that the source changed, and of which the old value is kept',
    labelNames: ['dataset'],
    registers,
  });
  const windows = new Counter({
    name: 'tidemark_windows_total',
    help: 'Windows and pages by what they turned out to be; put_aside: failed, to be asked for later',
    labelNames: ['dataset', 'lane', 'verdict'],
    registers,
  });

  for (const endpoint of askedEndpoints) {
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
      taken: ({ lane, waitedMs }) => waits.observe({ lane }, waitedMs / 1000),
      stored({ dataset, lane, commitMs, summary }) {
        const { fresh = 0, changed = 0, unchanged = 0, revised = 0, verdict = 'stored' } = summary;
        commits.observe({ dataset }, commitMs / 1000);
        points.inc({ dataset, effect: 'new' }, fresh);
        points.inc({ dataset, effect: 'changed' }, changed);
        points.inc({ dataset, effect: 'unchanged' }, unchanged);
        revisions.inc({ dataset }, revised);
        windows.inc({ dataset, lane, verdict });
      },
      putAside: ({ dataset, lane }) => windows.inc({ dataset, lane, verdict: 'put_aside' }),
      notStored: ({ passes }) => notStored.inc({ cause: passes ? 'database' : 'answer' }),
    },
  };
}
