import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMetrics } from '../../metrics/metrics.ts';
import { anyState } from './any-state.ts';

const page = readFileSync('docs/metrics.md', 'utf8');

/** The rows of the page's tables of metrics. */
function documented() {
  return [...page.matchAll(/^\| `(tidemark_\w+)` \| (\w+) \| ([^|]+) \|([^|]*)\| ([^|]+) \|$/gm)].map(
    ([, name = '', type = '', unit = '', labels = '', meaning = '']) => ({
      name,
      type,
      unit: unit.trim(),
      labels: labels.split(',').flatMap((label) => label.trim() || []),
      meaning: meaning.trim(),
    }),
  );
}

function counted() {
  const metrics = createMetrics({ command: 'run', version: '1.2.3' });
  metrics.work();
  metrics.planning();
  metrics.serving();
  metrics.measureReplica(() => null);
  metrics.measureState(anyState());
  return metrics.registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('tidemark_'))
    .map((metric) => ({
      name: metric.name,
      type: String(metric.type),
      labels: [...(metric as unknown as { labelNames: readonly string[] }).labelNames],
    }));
}

const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);

it('docs/metrics.md lists every metric, its type and its labels, and no other', () => {
  const listed = documented().map(({ name, type, labels }) => ({ name, type, labels }));
  expect(listed.sort(byName)).toEqual(counted().sort(byName));
});

it('names metrics with their unit and counters with _total', () => {
  for (const { name, type, unit } of documented()) {
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    const base = name.replace(/_total$/, '');
    expect([name, base.endsWith('_seconds')]).toEqual([name, unit.startsWith('seconds')]);
    expect([name, base.endsWith('_bytes')]).toEqual([name, unit === 'bytes']);
  }
});
