import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMetrics } from '../../metrics/metrics.ts';
import { queries, writtenOut } from '../deploy/grafana.ts';
import { anyState } from './any-state.ts';

const page = readFileSync('docs/metrics.md', 'utf8');

/** The rows of the page's tables of metrics. */
function documented() {
  return [...page.matchAll(/^\| `(tidemark_\w+)` \| (\w+) \| [^|]+ \|([^|]*)\| [^|]+ \|$/gm)].map(
    ([, name = '', type = '', labels = '']) => ({
      name,
      type,
      labels: labels.split(',').flatMap((label) => label.trim() || []),
    }),
  );
}

function everyMetric() {
  const metrics = createMetrics({ command: 'run', version: '1.2.3' });
  metrics.work();
  metrics.planning();
  metrics.serving();
  metrics.telling();
  metrics.measureReplica(() => null);
  metrics.measureState(anyState());
  return metrics.registry.getMetricsAsArray();
}

function counted() {
  return everyMetric()
    .filter(({ name }) => name.startsWith('tidemark_'))
    .map((metric) => ({
      name: metric.name,
      type: String(metric.type),
      labels: [...(metric as unknown as { labelNames: readonly string[] }).labelNames],
    }));
}

const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);

it('docs/metrics.md lists every metric, its type and its labels, and no other', () => {
  expect(documented().sort(byName)).toEqual(counted().sort(byName));
});

it('rules and dashboards use no metric that does not exist', () => {
  const texts = [
    readFileSync('deploy/prometheus/rules.yml', 'utf8'),
    ...queries('expr').map(({ query }) => writtenOut(query)),
  ];
  const known = everyMetric().flatMap(({ name, type }) =>
    String(type) === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
  );
  const used = texts
    .join('\n')
    .replace(/"[^"]*"|'[^']*'/g, '')
    .match(/\b(?:tidemark|nodejs|process)_[a-z0-9_]+\b/g);
  expect(new Set(used).size).toBeGreaterThan(30);
  expect([...new Set(used)].filter((name) => !known.includes(name))).toEqual([]);
});
