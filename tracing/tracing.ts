/**
 * Traces of the work, for OpenTelemetry: a planning pass, the attempts at the jobs that it queued, and of each attempt
 *
 *   plan ─ job ─┬─ request   to the last byte of the source's answer
 *               ├─ parse     from there to its rows
 *               └─ commit    to the end of the transaction
 *
 * A job carries its pass through the queue, so a trace goes from one process to another. (`bullmq-otel` would do that too,
 * and makes spans of every look into the queue besides.) A poll that comes by the clock has no pass, and begins a trace.
 *
 * Nothing waits for the collector. What it cannot take in time is dropped, and said at most once a minute.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { pathTemplates } from '../contract/paths.ts';
import type { SchedulerOptions } from '../scheduler/scheduler.ts';
import type { RequestTold } from '../source/telling-source.ts';
import type { AroundAttempt, WorkerTold } from '../workers/told.ts';
import { laneOf } from '../workers/told.ts';
import { carriedOf, contextOf } from './carried.ts';

export interface Tracing {
  /** Around a planning pass. */
  readonly pass: NonNullable<SchedulerOptions['around']>;
  /** Around an attempt at a job. */
  readonly attempt: AroundAttempt;
  /** When a request has ended, within its attempt. */
  readonly request: (request: RequestTold) => void;
  /** When an answer is committed, within its attempt. */
  readonly stored: WorkerTold['stored'];
  /** The pass that is under way, for the jobs that it queues. */
  readonly carry: () => string | undefined;
  /** Sends what there is, if the collector takes it soon. */
  close(): Promise<void>;
}

const complainEveryMs = 60_000;
/** A collector that is away must not keep a process that has been asked to stop. */
const closingMs = 3000;

/** @param process its command and version; `complain` is told why spans could not be sent. */
export function createTracing(
  process: { readonly command: string; readonly version: string },
  complain: (why: string) => void,
): Tracing {
  complainAtMostOnceAMinute(complain);
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'tidemark', 'service.version': process.version }))
      .merge(resourceFromAttributes({ 'tidemark.command': process.command }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const tracer = provider.getTracer('tidemark', process.version);
  const active = new AsyncLocalStorage<Context>();
  const current = () => active.getStore() ?? ROOT_CONTEXT;

  /** @param tell gives the span what came of the work. False: it is not worth a span, which is then never sent. */
  async function within<Result>(
    span: Span,
    parent: Context,
    work: () => Promise<Result>,
    tell: (result: Result) => boolean,
  ): Promise<Result> {
    try {
      const result = await active.run(trace.setSpan(parent, span), work);
      if (tell(result)) span.end();
      return result;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : '' });
      span.end();
      throw error;
    }
  }

  /** A span that took so long until `endMs`, which is now or a moment ago. */
  function endedAt(endMs: number, durationMs: number, name: string, kind: SpanKind, attributes: Attributes) {
    return tracer.startSpan(name, { kind, startTime: endMs - durationMs, attributes }, current());
  }

  return {
    pass(pass) {
      const span = tracer.startSpan('plan', {}, ROOT_CONTEXT);
      return within(span, ROOT_CONTEXT, pass, ({ added, queued }) => {
        span.setAttributes({ 'tidemark.added': added, 'tidemark.queued': queued });
        // There is one a second, and most find nothing to do.
        return added > 0;
      });
    },
    attempt(attempt, run) {
      const { job, number, carried } = attempt;
      const parent = contextOf(carried);
      const attributes = {
        'tidemark.job': job.name,
        'tidemark.lane': laneOf(job),
        'tidemark.attempt': number,
      };
      const span = tracer.startSpan('job', { kind: SpanKind.CONSUMER, attributes }, parent);
      return within(span, parent, run, ({ kind }) => {
        span.setAttribute('tidemark.outcome', kind);
        return true;
      });
    },
    request({ endpoint, outcome, durationMs, readingMs, status, bytes, rows, rejected }) {
      const nowMs = Date.now();
      const span = endedAt(nowMs - readingMs, durationMs, 'request', SpanKind.CLIENT, {
        'http.request.method': 'GET',
        'url.template': pathTemplates[endpoint],
        'http.response.body.size': bytes,
        ...(status === null ? {} : { 'http.response.status_code': status }),
      });
      if (outcome !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
      span.end(nowMs - readingMs);
      if (outcome !== 'ok') return;
      const read = { 'tidemark.rows': rows, 'tidemark.rejected': rejected };
      endedAt(nowMs, readingMs, 'parse', SpanKind.INTERNAL, read).end(nowMs);
    },
    stored({ dataset, commitMs, summary }) {
      const nowMs = Date.now();
      const { verdict = 'stored', fresh = 0, changed = 0, unchanged = 0 } = summary;
      endedAt(nowMs, commitMs, 'commit', SpanKind.INTERNAL, {
        'tidemark.dataset': dataset,
        'tidemark.verdict': verdict,
        'tidemark.new': fresh,
        'tidemark.changed': changed,
        'tidemark.unchanged': unchanged,
      }).end(nowMs);
    },
    carry() {
      const span = trace.getSpan(current());
      return span === undefined ? undefined : carriedOf(span.spanContext());
    },
    async close() {
      const patience = new AbortController();
      const late = delay(closingMs, undefined, patience).catch(() => {});
      await Promise.race([provider.shutdown().catch(() => {}), late]);
      patience.abort();
    },
  };
}

function complainAtMostOnceAMinute(complain: (why: string) => void): void {
  let saidMs = Number.NEGATIVE_INFINITY;
  const say = (why: string) => {
    if (performance.now() - saidMs < complainEveryMs) return;
    saidMs = performance.now();
    complain(why);
  };
  const silent = () => {};
  diag.setLogger(
    { error: say, warn: say, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
