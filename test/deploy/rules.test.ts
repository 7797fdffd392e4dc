import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { emptyDirectory } from '../scripts/command.ts';
import { type AlertCase, alertCases } from './alerts.ts';
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
  it('are valid, and so is the configuration that names them', () => {
    expect(promtool(['check', 'rules', rulesFile])).toMatchObject({ status: 0 });
    const config = promtool(['check', 'config', 'deploy/prometheus/prometheus.yml']);
    expect([config.status, config.said]).toEqual([0, expect.stringContaining('1 rule files found')]);
  });

  it.each(alertCases)('$alert fires when it has to, with its summary', (one) => {
    const { alert, at = '20m', labels, summary } = one;
    const [rule] = rulesOf(alert).groups.flatMap(({ rules }) => rules.filter((each) => each.alert === alert));
    const expected = { exp_labels: { ...rule?.labels, ...labels }, exp_annotations: { summary } };
    expect(tested(alert, [testOf(one.fires, alert, [at], [expected])])).toEqual([
      0,
      expect.stringContaining('SUCCESS'),
    ]);
  });

  it.each(alertCases)('$alert does not fire at similar samples', ({ alert, quiet }) => {
    const cases = firesOnNothing.includes(alert) ? quiet : [...quiet, { unrelated: '0' }];
    const tests = cases.map((samples) => testOf(samples, alert, everyFewMinutes, []));
    expect(tested(alert, tests)).toEqual([0, expect.stringContaining('SUCCESS')]);
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

function testOf(
  samples: AlertCase['fires'],
  alertname: string,
  at: readonly string[],
  expected: readonly object[],
) {
  return {
    interval: '30s',
    input_series: Object.entries(samples).map(([series, values]) => ({ series, values })),
    alert_rule_test: at.map((eval_time) => ({ eval_time, alertname, exp_alerts: expected })),
  };
}

/** A test file for promtool, in JSON, which is valid YAML. The rules are those of the alert: all of them take twenty times as long. */
function tested(alert: string, tests: readonly object[]): [number | null, string] {
  const directory = emptyDirectory();
  const file = join(directory, 'tests.yml');
  writeFileSync(join(directory, 'rules.yml'), JSON.stringify(rulesOf(alert)));
  const content = { rule_files: ['rules.yml'], evaluation_interval: '30s', tests };
  writeFileSync(file, JSON.stringify(content));
  const { status, said } = promtool(['test', 'rules', file]);
  return [status, said];
}
