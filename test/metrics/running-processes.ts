/** A scheduler, a worker and a service as processes of their own, at a simulated source, each with its metrics. */

import { expect, onTestFinished } from 'vitest';
import { startSimulator } from '../../simulator/start.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { market, type Running, start, tidemark } from '../scripts/command.ts';

export const secrets = { sourceKey: 'a-key-of-the-source' } as const;

const series = [...market, '--interval', 'm5,h1'];

/** @returns also the service's address, ending in `/v2`. */
export async function startProcesses() {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_API_KEY: secrets.sourceKey,
    SOURCE_REQUESTS_PER_MINUTE: '6000',
    METRICS_PORT: '0',
  };
  for (const words of [
    ['track', 'candles', ...series, '--from', '20d'],
    ['track', 'history', '--asset', 'bitcoin', '--interval', 'd1', '--from', '1y'],
    ['track', 'lists'],
  ]) {
    expect(await tidemark(words, env)).toMatchObject({ exitCode: 0 });
  }
  const scheduler = start(['scheduler'], env);
  const worker = start(['worker'], env);
  const service = start(['serve'], env);
  const scrapers = {
    scheduler: await scraperOf(scheduler),
    worker: await scraperOf(worker),
    serve: await scraperOf(service),
  };
  await waitFor('the worker to work', async () => (await scrapers.worker()).includes('tidemark_windows_total'));
  await waitFor('the scheduler to plan', async () =>
    (await scrapers.scheduler()).includes('tidemark_planning_passes_total'),
  );
  await waitFor('the service', () => /http:\S+\/v2/.test(service.stdout()));
  return {
    scrape: async () => ({
      scheduler: await scrapers.scheduler(),
      worker: await scrapers.worker(),
      serve: await scrapers.serve(),
    }),
    serviceUrl: /http:\S+\/v2/.exec(service.stdout())?.[0] ?? '',
    databaseUrl: url,
  };
}

export async function scraperOf(process: Running): Promise<() => Promise<string>> {
  await waitFor('the metrics', () => metricsAddress(process) !== undefined);
  return async () => {
    const answer = await fetch(metricsAddress(process) ?? '');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
    return answer.text();
  };
}

/** Where a process says that its metrics are read; undefined until then. */
export function metricsAddress(process: Pick<Running, 'stderr'>): string | undefined {
  return /"metrics":"(http:[^"]+)"/.exec(process.stderr())?.[1];
}

/** The sum of a metric's samples whose labels hold all of these; null: there is none. */
export function sumOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number | null {
  const samples = text
    .split('\n')
    .map((line) => /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line))
    .filter((match) => match?.[1] === name)
    .filter((match) => Object.entries(labels).every(([label, value]) => match?.[2]?.includes(`${label}="${value}"`)));
  return samples.length === 0 ? null : samples.reduce((sum, match) => sum + Number(match?.[3]), 0);
}
