import { randomBytes } from 'node:crypto';
import { expect, inject, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../simulator/start.ts';
import { parseTraceparent } from '../../tracing/tracing.ts';
import { freePort } from '../parts/free-port.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { market, processesMs, start, tidemark } from '../scripts/command.ts';
import { startCollector } from './collector.ts';

const series = [...market, '--interval', 'h1'];

async function prepared(kind: 'redis' | 'postgres'): Promise<Record<string, string>> {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_API_KEY: 'a-key-of-the-source',
    SOURCE_REQUESTS_PER_MINUTE: '6000',
    QUEUE_NAMESPACE: `t${randomBytes(5).toString('hex')}`,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    ...(kind === 'redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}),
  };
  expect(await tidemark(['migrate'], env)).toMatchObject({ exitCode: 0 });
  const range = ['--from', '2024-03-01', '--to', '2024-03-05'];
  expect(await tidemark(['track', 'candles', ...series, ...range], env)).toMatchObject({ exitCode: 0 });
  return env;
}

onEachBackend('traces', (kind) => {
  it(
    'go from the pass in one process through the queue to the commit in another',
    async () => {
      const { url, spans } = await startCollector();
      const env = { ...(await prepared(kind)), OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'mine' };
      const scheduler = start(['scheduler'], env);
      const worker = start(['worker'], env);
      const filled = () =>
        spans.find(({ name, attributes }) => name === 'commit' && attributes['tidemark.verdict'] === 'filled');
      const named = (name: string) => spans.filter((span) => span.name === name);
      await waitFor('the commit of the window', () => filled() !== undefined);
      const commit = filled();
      const parentOf = (span: { parentSpanId: string | undefined } | undefined) =>
        spans.find(({ spanId }) => spanId === span?.parentSpanId);
      await waitFor('what it belongs to', () => parentOf(parentOf(commit)) !== undefined);
      const job = parentOf(commit);
      const plan = parentOf(job);
      expect(commit?.attributes).toMatchObject({ 'tidemark.dataset': 'candles', 'tidemark.new': 96 });
      expect(job).toMatchObject({
        name: 'job',
        attributes: {
          'tidemark.job': 'candles',
          'tidemark.lane': 'backfill',
          'tidemark.attempt': 1,
          'tidemark.outcome': 'done',
        },
        resource: { 'service.name': 'mine', 'tidemark.command': 'worker' },
      });
      expect(plan).toMatchObject({ name: 'plan', resource: { 'tidemark.command': 'scheduler' } });
      expect(plan?.parentSpanId ?? '').toBe('');
      expect(plan?.attributes['tidemark.added']).toBeGreaterThan(0);
      const within = (name: string) => named(name).filter(({ parentSpanId }) => parentSpanId === job?.spanId);
      const [[request], [parse]] = [within('request'), within('parse')];
      expect(request?.attributes).toMatchObject({
        'http.request.method': 'GET',
        'url.template': '/candles',
        'http.response.status_code': 200,
      });
      // The window's 96, and the witness on either side of it.
      expect(parse?.attributes).toMatchObject({ 'tidemark.rows': 98, 'tidemark.rejected': 0 });
      for (const span of [plan, job, request, parse]) expect(span?.traceId).toBe(commit?.traceId);
      // One begins when the one before it has ended, to the millisecond that the clock has.
      const order = [request?.startTimeUnixNano, request?.endTimeUnixNano, parse?.endTimeUnixNano];
      expect(order.map(Number)).toEqual(order.map(Number).sort((one, other) => one - other));
      expect(JSON.stringify(spans)).not.toContain('a-key-of-the-source');

      for (const process of [scheduler, worker]) process.kill('SIGTERM');
      expect([(await scheduler.ended).exitCode, (await worker.ended).exitCode]).toEqual([0, 0]);
    },
    processesMs,
  );
});

it(
  'an unavailable collector costs a line in the log, and neither work nor an orderly end',
  async () => {
    const env = {
      ...(await prepared('postgres')),
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    };
    const run = start(['run', '--no-serve'], env);
    await waitFor('a failed export', () => run.stderr().includes('traces could not be sent'));
    const status = async () => (await tidemark(['status', '--json'], env)).stdout;
    await waitFor('96 stored points', async () => /"points": 96/.test(await status()), { everyMs: 500 });
    run.kill('SIGTERM');
    expect(await run.ended).toMatchObject({ exitCode: 0 });
  },
  processesMs,
);

it.each([undefined, `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`, `99-${'1'.repeat(32)}-${'1'.repeat(16)}-01`])(
  'a job that carries %j begins a trace of its own',
  (carried) => expect(parseTraceparent(carried)).toBe(parseTraceparent(undefined)),
);
