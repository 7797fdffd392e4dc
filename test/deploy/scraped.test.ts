import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startProcesses } from '../metrics/running-processes.ts';
import { freePort } from '../parts/free-port.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory, processesMs } from '../scripts/command.ts';
import { queries, writtenOut } from './grafana.ts';
import { describeWithPromtool, promtool } from './prometheus-tools.ts';

const rules = readFileSync('deploy/prometheus/rules.yml', 'utf8');
const expressions = queries('expr').map(({ title, query }) => ({ title, query: writtenOut(query) }));

/** Metrics of Prometheus itself and of the Node exporter. */
const ofOthers = /^(up|node_filesystem_((avail|size)_bytes|readonly))$/;

/** Every name in a text that looks like a metric. */
function namesIn(text: string): string[] {
  const withoutWords = text.replace(/"[^"]*"/g, '').replace(/'[^']*'/g, '');
  return [
    ...new Set(withoutWords.match(/\b(?:tidemark|nodejs|process|node_filesystem)_[a-z0-9_]+\b/g) ?? []),
  ];
}

describeWithPromtool('the metrics of the processes', () => {
  it(
    'include every metric that rules and dashboards use, and are valid for a real Prometheus',
    async () => {
      const { scrape, addresses } = await startProcesses();
      const scraped = await scrape();
      for (const [process, text] of Object.entries(scraped))
        expect([process, promtool(['check', 'metrics'], text)]).toEqual([process, { status: 0, said: '' }]);

      const told = new Set(
        Object.values(scraped).flatMap((text) =>
          [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
            type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
          ),
        ),
      );
      const named = namesIn([rules, ...expressions.map(({ query }) => query)].join('\n'));
      expect(named.length).toBeGreaterThan(30);
      expect(named.filter((name) => !told.has(name) && !ofOthers.test(name))).toEqual([]);

      const ask = await prometheusAt(addresses.map((address) => new URL(address).host));
      await waitFor('Prometheus to have read all of them', async () => {
        const { data } = await ask('up{job="tidemark"} == 1');
        return data.result.length === addresses.length;
      });
      for (const { title, query } of expressions)
        expect([title, query, (await ask(query)).status]).toEqual([title, query, 'success']);
      const answered = async (query: string) => (await ask(query)).data.result.length;
      expect(await answered('sum by (endpoint) (tidemark_source_requests_total)')).toBe(7);
      expect(
        await answered('tidemark_newest_age_seconds{interval=""} or tidemark_poll_interval_seconds'),
      ).toBeGreaterThan(0);
    },
    processesMs,
  );
});

interface Answer {
  readonly status: string;
  readonly data: { readonly result: readonly unknown[] };
}

/** Starts Prometheus with the rules of this project and these targets. @returns a function that queries it. */
async function prometheusAt(targets: readonly string[]): Promise<(query: string) => Promise<Answer>> {
  const directory = emptyDirectory();
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [`${process.cwd()}/deploy/prometheus/rules.yml`],
    scrape_configs: [{ job_name: 'tidemark', static_configs: [{ targets }] }],
  };
  writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config));
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${directory}/prometheus.yml`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => prometheus.on('close', resolve));
  onTestFinished(async () => {
    prometheus.kill('SIGKILL');
    await ended;
  });
  const base = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${base}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor('Prometheus', isReady);
  return async (query) => {
    const answer = await fetch(`${base}/api/v1/query?${new URLSearchParams({ query })}`);
    return (await answer.json()) as Answer;
  };
}
