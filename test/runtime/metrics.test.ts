import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../simulator/start.ts';
import { metricsAddress, scraperOf, secrets, startProcesses, sumOf } from '../metrics/running-processes.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { processesMs, start, tidemark } from '../scripts/command.ts';

it(
  'each process exports its own work, and the scheduler the state, without names in labels',
  async () => {
    const { scrape, serviceUrl, databaseUrl } = await startProcesses();
    for (const path of ['candles?exchange=binance&baseId=bitcoin&quoteId=tether&interval=h1', 'assets/nobody', 'x'])
      await (await fetch(`${serviceUrl}/${path}`)).arrayBuffer();
    let scraped = await scrape();
    const missing = () => sumOf(scraped.scheduler, 'tidemark_gap_seconds', { reason: 'not_asked' });
    const polled = () => sumOf(scraped.scheduler, 'tidemark_newest_age_seconds', { dataset: 'markets' });
    await waitFor(
      'the backfill to show',
      async () => {
        scraped = await scrape();
        return missing() === 0 && polled() !== null && sumOf(scraped.scheduler, 'tidemark_stored_points') !== 0;
      },
      { everyMs: 500, withinMs: 120_000 },
    );
    const { scheduler, worker, serve } = scraped;
    expect(sumOf(scheduler, 'tidemark_series')).toBe(3);
    expect(sumOf(scheduler, 'tidemark_budget_limit_requests_per_minute')).toBe(6000);
    expect(sumOf(scheduler, 'tidemark_queue_workers')).toBe(1);
    expect(sumOf(scheduler, 'tidemark_lag_seconds', { interval: 'd1' })).toBe(0);
    expect(sumOf(scheduler, 'tidemark_planned_requests_total')).toBeGreaterThan(5);
    expect(sumOf(scheduler, 'tidemark_poll_interval_seconds', { dataset: 'assets' })).toBe(300);
    expect(sumOf(scheduler, 'tidemark_points_total')).toBeNull();

    const stored = (text: string) => sumOf(text, 'tidemark_stored_points', { dataset: 'candles' });
    expect(sumOf(worker, 'tidemark_points_total', { dataset: 'candles', effect: 'new' })).toBeGreaterThanOrEqual(
      stored(scheduler) ?? Number.NaN,
    );
    const asked = sumOf(worker, 'tidemark_source_requests_total', { outcome: 'ok' });
    expect(asked).toBeGreaterThan(5);
    expect(sumOf(worker, 'tidemark_source_request_duration_seconds_count')).toBe(asked);
    expect(sumOf(worker, 'tidemark_windows_total')).toBeLessThanOrEqual(asked ?? 0);
    expect(sumOf(worker, 'tidemark_queue_wait_seconds_count', { lane: 'backfill' })).toBeGreaterThan(0);
    expect(sumOf(worker, 'tidemark_commit_duration_seconds_count', { dataset: 'markets' })).toBeGreaterThan(0);
    expect(sumOf(worker, 'tidemark_series')).toBeNull();

    expect(sumOf(serve, 'tidemark_served_requests_total', { route: '/v2/candles', status: '200' })).toBe(1);
    expect(sumOf(serve, 'tidemark_served_requests_total', { route: '/v2/assets/:id', status: '404' })).toBe(1);
    expect(sumOf(serve, 'tidemark_served_requests_total', { route: 'none', status: '404' })).toBe(1);
    expect(sumOf(serve, 'tidemark_database_connections_limit', { pool: 'serve_data' })).toBe(10);

    const all = scheduler + worker + serve;
    const { password, pathname } = new URL(databaseUrl);
    for (const secret of [secrets.sourceKey, password, pathname.slice(1), 'bitcoin', 'binance', '127.0.0.1', 'nobody'])
      if (secret !== '') expect(all).not.toContain(secret);
    expect(all).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  },
  processesMs,
);

it(
  '`run` exports all metrics on one port, and rejects an occupied port in one line',
  async () => {
    const { url, drop } = await createMigratedDatabase();
    onTestFinished(() => drop());
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = { DATABASE_URL: url, SOURCE_URL: simulator.url, METRICS_PORT: '0' };
    const run = start(['run'], env);
    const scrape = await scraperOf(run);
    const families = ['planning_passes_total', 'source_requests_total', 'budget_limit_requests_per_minute'];
    await waitFor('metrics of every part', async () => {
      const text = await scrape();
      return families.every((name) => sumOf(text, `tidemark_${name}`) !== null);
    });
    const address = metricsAddress(run) ?? '';
    const root = address.replace(/metrics$/, '');
    expect((await fetch(root)).status).toBe(404);
    for (const path of ['healthz', 'readyz']) expect((await fetch(`${root}${path}`)).status).toBe(200);
    expect((await fetch(address, { method: 'POST' })).status).toBe(405);
    expect((await fetch(address, { method: 'HEAD' })).status).toBe(200);
    const second = await tidemark(['worker'], { ...env, METRICS_PORT: new URL(address).port });
    expect([second.exitCode, second.stderr]).toEqual([
      2,
      expect.stringMatching(/^tidemark: PORT_IN_USE: METRICS_PORT \d+ on 127\.0\.0\.1 is in use[^\n]*\n$/m),
    ]);
    const nowhere = await tidemark(['serve'], { ...env, METRICS_HOST: '192.0.2.1' });
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([2, expect.stringContaining('METRICS_HOST 192.0.2.1')]);
    run.kill('SIGTERM');
    expect((await run.ended).exitCode).toBe(0);
  },
  processesMs,
);
