/**
 * OpenTelemetry traces: a planning pass, the attempts at its jobs, and for each attempt
 *
 *   plan ─ job ─┬─ request   until the last byte of the source's response
 *               ├─ parse     until its rows are parsed
 *               └─ commit    until the end of the transaction
 *
 * A job carries the trace context through the queue, so a trace spans processes. (`bullmq-otel` would do that too, but
 * creates spans for every queue operation.) A scheduled poll has no pass and begins its own trace.
 *
 * Nothing waits for the collector. Spans that it does not take in time are dropped, with a warning at most once a
 * minute.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { type Clock, settledWithin } from '../clock.ts';
import type { SchedulerOptions } from '../scheduler/scheduler.ts';
import type { RequestEvent } from '../sources/source.ts';
import { pathTemplates } from '../v2/paths.ts';
import { type AttemptMiddleware, laneOf, type WorkerEvents } from '../workers/worker-events.ts';

export interface Tracing {
  /** Around a planning pass. */
  readonly pass: NonNullable<SchedulerOptions['middleware']>;
  /** Around an attempt at a job. */
  readonly attempt: AttemptMiddleware;
  /** Records a finished request, within its attempt. */
  readonly request: (request: RequestEvent) => void;
  /** Records a commit, within its attempt. */
  readonly stored: WorkerEvents['stored'];
  /** The context of the current pass, for the jobs that it queues. */
  readonly carry: () => string | undefined;
  /** Sends the remaining spans, with a timeout. */
  close(): Promise<void>;
}

const warnEveryMs = 60_000;
/** An unavailable collector must not delay shutdown. */
const closeTimeoutMs = 3000;

/** @param process clock, command and software version. @param warn receives the reason why spans could not be sent. */
export function createTracing(
  process: { readonly clock: Clock; readonly command: string; readonly version: string },
  warn: (reason: string) => void,
): Tracing {
  const { clock } = process;
  throttleWarnings(warn, clock);
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

  /** @param describe sets the result on the span; false discards the span. */
  async function within<Result>(
    span: Span,
    parent: Context,
    work: () => Promise<Result>,
    describe: (result: Result) => boolean,
  ): Promise<Result> {
    try {
      const result = await active.run(trace.setSpan(parent, span), work);
      if (describe(result)) span.end();
      return result;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : '' });
      span.end();
      throw error;
    }
  }

  /** Starts a span in the past, `durationMs` before `endMs`. */
  function endedAt(endMs: number, durationMs: number, name: string, kind: SpanKind, attributes: Attributes) {
    return tracer.startSpan(name, { kind, startTime: endMs - durationMs, attributes }, current());
  }

  return {
    pass(pass) {
      const span = tracer.startSpan('plan', {}, ROOT_CONTEXT);
      return within(span, ROOT_CONTEXT, pass, ({ added, queued }) => {
        span.setAttributes({ 'tidemark.added': added, 'tidemark.queued': queued });
        // There is a pass each second, and most have nothing to do.
        return added > 0;
      });
    },
    attempt(attempt, run) {
      const { job, number, carried } = attempt;
      const parent = parseTraceparent(carried);
      const attributes = { 'tidemark.job': job.name, 'tidemark.lane': laneOf(job), 'tidemark.attempt': number };
      const span = tracer.startSpan('job', { kind: SpanKind.CONSUMER, attributes }, parent);
      return within(span, parent, run, ({ kind }) => {
        span.setAttribute('tidemark.outcome', kind);
        return true;
      });
    },
    request({ endpoint, outcome, durationMs, readingMs, status, bytes, rows, rejected }) {
      const nowMs = clock.now();
      const span = endedAt(nowMs - readingMs, durationMs, 'request', SpanKind.CLIENT, {
        'http.request.method': 'GET',
        'url.template': (pathTemplates as Readonly<Record<string, string>>)[endpoint] ?? endpoint,
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
      const nowMs = clock.now();
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
      return span === undefined ? undefined : formatTraceparent(span.spanContext());
    },
    async close() {
      await settledWithin(clock, closeTimeoutMs, provider.shutdown()).catch(() => {});
    },
  };
}

function throttleWarnings(warn: (why: string) => void, clock: Clock): void {
  let warnedMs = Number.NEGATIVE_INFINITY;
  const throttled = (reason: string) => {
    if (clock.monotonicMs() - warnedMs < warnEveryMs) return;
    warnedMs = clock.monotonicMs();
    warn(reason);
  };
  const silent = () => {};
  diag.setLogger(
    { error: throttled, warn: throttled, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** The `traceparent` of W3C Trace Context, version 00, which a job carries. */
function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Parses a carried `traceparent`; the root context when it is absent or invalid. */
export function parseTraceparent(carried: string | undefined): Context {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(carried ?? '');
  const [, traceId = '', spanId = '', flags = ''] = match ?? [];
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return trace.isSpanContextValid(spanContext) ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
}
