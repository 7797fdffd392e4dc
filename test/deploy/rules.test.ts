import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { emptyDirectory } from '../scripts/command.ts';
import { type AlertCase, alertCases } from './alerts.ts';
import { queries, writtenOut } from './grafana.ts';
import { describeWithPromtool, promtool } from './prometheus-tools.ts';

const rulesFile = 'deploy/prometheus/rules.yml';
const named = [...readFileSync(rulesFile, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
/** These fire on absent metrics, which are absent in every other case too. */
const firesOnNothing = ['TidemarkGone', 'TidemarkStateUnknown'];

it('every alert has samples at which it fires, samples at which it does not, and a remedy', () => {
  expect(new Set(alertCases.map(({ alert }) => alert))).toEqual(new Set(named));
  for (const name of named)
    expect(alertCases.some(({ alert, quiet }) => alert === name && quiet.length > 0)).toBe(true);
  const page = readFileSync('docs/metrics.md', 'utf8');
  expect([...page.matchAll(/^\| `(Tidemark\w+)` \|/gm)].map(([, name]) => name)).toEqual(named);
});

it('every required process is looked up by its name, which is its label', () => {
  const config = readFileSync('deploy/prometheus/prometheus.yml', 'utf8');
  const lookedUp = /names: \[(.+)\]/.exec(config)?.[1]?.split(', ');
  expect(config).toMatch(/source_labels: \[__meta_dns_name\]\s+target_label: process/);
  const wanted = [...readFileSync(rulesFile, 'utf8').matchAll(/absent\(up\{job="tidemark",process="(\w+)"/g)];
  expect(wanted.map(([, name]) => name)).toEqual(['scheduler', 'service']);
  for (const [, name] of wanted) expect(lookedUp).toContain(name);
});

describeWithPromtool('the rules, as Prometheus reads them', () => {
  it('are valid, and so are the configuration that names them and the expressions of the dashboards', () => {
    expect(promtool(['check', 'rules', rulesFile])).toMatchObject({ status: 0 });
    const config = promtool(['check', 'config', 'deploy/prometheus/prometheus.yml']);
    expect([config.status, config.said]).toEqual([0, expect.stringContaining('1 rule files found')]);
    // The expressions of the dashboards, as rules.
    const file = join(emptyDirectory(), 'expressions.yml');
    const rules = queries('expr').map(({ query }, place) => ({ record: `panel_${place}`, expr: writtenOut(query) }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
    const expressions = promtool(['check', 'rules', file]);
    expect(expressions.status, expressions.said).toBe(0);
  });

  it('fire when they have to, with their summary, and not at similar samples', () => {
    const files = alertCases.map(({ alert, fires, at = '20m', labels, summary, quiet }) => {
      const rules = rulesOf(alert);
      const [rule] = rules.groups.flatMap((group) => group.rules.filter((each) => each.alert === alert));
      const expected = { exp_labels: { ...rule?.labels, ...labels }, exp_annotations: { summary } };
      const similar = firesOnNothing.includes(alert) ? quiet : [...quiet, { unrelated: '0' }];
      const tests = [
        testOf(fires, alert, [at], [expected]),
        ...similar.map((samples) => testOf(samples, alert, everyFewMinutes, [])),
      ];
      const directory = emptyDirectory();
      // In JSON, which is valid YAML. All rules would take twenty times as long as those of the alert.
      writeFileSync(join(directory, 'rules.yml'), JSON.stringify(rules));
      const file = join(directory, `${alert}.yml`);
      writeFileSync(file, JSON.stringify({ rule_files: ['rules.yml'], evaluation_interval: '30s', tests }));
      return file;
    });
    const { status, said } = promtool(['test', 'rules', ...files]);
    expect(status, said).toBe(0);
    expect(said.match(/SUCCESS/g)).toHaveLength(alertCases.length);
  });
});

interface Rules {
  readonly groups: ReadonlyArray<{
    readonly rules: ReadonlyArray<{ readonly alert?: string; readonly labels?: Record<string, string> }>;
  }>;
}

/** The rules of an alert, and those that record what alerts read. */
function rulesOf(name: string): Rules {
  const { groups }: Rules = parse(readFileSync(rulesFile, 'utf8'));
  const kept = groups.map((group) => ({
    ...group,
    rules: group.rules.filter(({ alert }) => alert === undefined || alert === name),
  }));
  return { groups: kept.filter(({ rules }) => rules.length > 0) };
}

const everyFewMinutes = Array.from({ length: 20 }, (_, place) => `${7 * place}m`);

function testOf(samples: AlertCase['fires'], alertname: string, at: readonly string[], expected: readonly object[]) {
  return {
    interval: '30s',
    input_series: Object.entries(samples).map(([series, values]) => ({ series, values })),
    alert_rule_test: at.map((eval_time) => ({ eval_time, alertname, exp_alerts: expected })),
  };
}
