/**
 * The arrangement of deploy/kubernetes/everything on a Docker engine: the same commands, variables, secrets as files,
 * limits and probes, as Docker Compose takes them. Every pod of Tidemark is restarted in turn during a backfill.
 */

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Container, Probe } from 'kubernetes-types/core/v1.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeMissing } from '../parts/describe-needing.ts';
import { freePort } from '../parts/free-port.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory } from '../scripts/command.ts';
import { type Compose, containers, containersMs, down, patient, sql } from './compose-project.ts';
import { composeProject, noEngine } from './engine.ts';
import { environmentOf, type Manifest, noKustomize, podsOf, rendered } from './manifests.ts';

const secrets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'tidemark-owner': { password: "owner's/secret" },
  'tidemark-roles': { worker: "worker's/secret", service: "service's/secret" },
  'tidemark-redis': { password: 'secret-of-redis' },
  'tidemark-source': { 'api-key': '' },
  'tidemark-dashboard': { password: 'secret-of-the-dashboard' },
};
/** The images at hand may have other numbers for the users of these two. */
const users: Readonly<Record<string, string>> = { database: 'postgres', redis: 'redis' };

/** Compose replaces `$`. */
const literal = (text: string) => text.replaceAll('$', '$$$$');

function healthOf({ ports = [], readinessProbe: probe }: Container): object {
  if (probe === undefined) return {};
  const port = ports.find(({ name }) => name === probe.httpGet?.port)?.containerPort;
  const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET ${probe.httpGet?.path} HTTP/1.0\\r\\n\\r\\n' >&3 &&
    read -r -t 5 line <&3 && [[ $line == *' 200 '* ]]`;
  const test = ['CMD', ...(commandOf(probe) ?? ['bash', '-c', ask])].map(literal);
  return {
    healthcheck: { test, interval: `${probe.periodSeconds}s`, timeout: '10s', start_period: '60s', retries: 6 },
  };
}
const commandOf = ({ exec }: Probe) => exec?.command;

/** A file for Docker Compose, with a container for each replica: `worker-1`, `worker-2`. */
function composed(manifests: readonly Manifest[], ports: ReadonlyMap<string, number>): object {
  const directory = emptyDirectory();
  // Another user than the one of this process reads them.
  chmodSync(directory, 0o755);
  for (const [name, files] of Object.entries(secrets)) {
    mkdirSync(join(directory, name));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, name, file), text);
  }
  const services = podsOf(manifests).flatMap(({ manifest, pod, container }) => {
    const name = manifest.metadata.name.replace('tidemark-', '');
    const replicas = manifest.kind === 'Deployment' ? ((manifest.spec as { replicas?: number }).replicas ?? 1) : 1;
    const volumes = (container.volumeMounts ?? []).flatMap(({ name: mounted, mountPath }) => {
      const secret = pod.volumes?.find((volume) => volume.name === mounted)?.secret?.secretName;
      // One that is not there is optional.
      if (secret !== undefined) return secret in secrets ? [`${join(directory, secret)}:${mountPath}:ro`] : [];
      return mounted === 'data' ? [`${name}:${mountPath}`] : [];
    });
    const { runAsUser, runAsGroup } = pod.securityContext ?? {};
    const env = { ...environmentOf(container, manifests), SOURCE_URL: 'http://source:4010/v2' };
    const isTidemark = container.name === 'tidemark';
    const service = {
      image: isTidemark ? 'tidemark:local' : container.image,
      ...(name === 'migrate' ? { build: { context: resolve('.'), dockerfile: 'deploy/Dockerfile' } } : {}),
      user: users[name] ?? `${runAsUser}:${runAsGroup}`,
      init: true,
      read_only: container.securityContext?.readOnlyRootFilesystem === true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: String(container.resources?.limits?.memory).replace('i', '').toLowerCase(),
      ...(container.command === undefined ? {} : { entrypoint: container.command.map(literal) }),
      ...(container.args === undefined ? {} : { command: container.args.map(literal) }),
      environment: { ...env, SOURCE_REQUESTS_PER_MINUTE: '150' },
      volumes,
      stop_grace_period: `${pod.terminationGracePeriodSeconds ?? 30}s`,
      restart: pod.restartPolicy === 'OnFailure' ? 'on-failure' : 'unless-stopped',
      ...healthOf(container),
    };
    return Array.from({ length: replicas }, (_, place): [string, object] => {
      const own = replicas === 1 ? name : `${name}-${place + 1}`;
      const port = ports.get(own);
      return [own, port === undefined ? service : { ...service, ports: [`127.0.0.1:${port}:4000`] }];
    });
  });
  const source = {
    image: 'tidemark:local',
    command: 'simulate --host 0.0.0.0 --seed rolling --per-minute 6000',
    init: true,
  };
  return { services: { ...Object.fromEntries(services), source }, volumes: { database: {}, redis: {} } };
}

const isReady = async (compose: Compose, count: number) => {
  const found = (await containers(compose)).filter(({ State }) => State.Health !== undefined);
  return found.length === count && found.every(({ State }) => State.Health?.Status === 'healthy');
};
const dayMs = 86_400_000;
const untilMs = Math.floor(Date.now() / dayMs) * dayMs - dayMs;
const days = 200;
const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const missing = noEngine ?? noKustomize;
const group = missing === null ? describe : (title: string, body: () => void) => describeMissing(title, missing, body);

group('the arrangement of Kubernetes on an engine', () => {
  it(
    'restarts every process in turn during a backfill, loses nothing, requests nothing twice, and always answers',
    async () => {
      const ports = new Map([
        ['service-1', await freePort()],
        ['service-2', await freePort()],
      ]);
      const file = join(emptyDirectory(), 'compose.yml');
      writeFileSync(file, JSON.stringify(composed(rendered('everything').manifests, ports)));
      const compose = composeProject(`tidemark-test-rolling-${process.pid}`, [file], {});
      onTestFinished(() => down(compose, '--volumes', '--timeout', '5'), containersMs);
      // The older program starts with those that only use the image.
      await compose('build');
      await compose('up', '--detach');
      // Those that start before the schema is there end, and are started again.
      await waitFor('every pod to be ready', () => isReady(compose, 8), patient);
      const inspected = JSON.stringify(await containers(compose));
      for (const text of Object.values(secrets).flatMap((files) => Object.values(files)))
        if (text !== '') expect(inspected).not.toContain(text);

      const market = ['--exchange', 'binance', '--base', 'bitcoin', '--quote', 'tether', '--interval', 'm1'];
      const range = ['--from', isoDay(untilMs - days * dayMs), '--to', isoDay(untilMs)];
      await compose.inside('worker-1', 'tidemark', 'track', 'candles', ...market, ...range);
      const covered = `select count(distinct range) from tidemark.fetches where lane = 'backfill' and verdict = 'filled'`;
      await waitFor('the first answers', async () => Number(await sql(compose, covered)) > 3, patient);

      // As a balancer: it asks each service whether it is ready, and sends requests to those that are.
      const unanswered: string[] = [];
      let answered = 0;
      let isOver = false;
      const balanced = [...ports.values()].map(async (port) => {
        const at = `http://127.0.0.1:${port}`;
        while (!isOver) {
          const ready = await fetch(`${at}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          );
          for (let times = 0; ready && times < 5; times += 1) {
            const status = await fetch(`${at}/v2/rates`).then((answer) => answer.status, String);
            if (status === 200) answered += 1;
            else unanswered.push(`${port}: ${status}`);
            await new Promise((resolve) => setTimeout(resolve, 500));
          }
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
      });
      for (const name of ['worker-1', 'worker-2', 'scheduler-1', 'scheduler-2', 'service-1', 'service-2']) {
        await compose('restart', name);
        await waitFor(`${name} to be ready again`, () => isReady(compose, 8), patient);
      }
      const duringRestarts = Number(await sql(compose, covered));
      const isComplete = async () =>
        (await sql(compose, "select sum(gaps) from coverage where base = 'bitcoin'")) === '0';
      await waitFor('the range to be complete', isComplete, patient);
      isOver = true;
      await Promise.all(balanced);

      expect(unanswered).toEqual([]);
      expect(answered).toBeGreaterThan(50);
      expect(duringRestarts).toBeGreaterThan(20);
      const twice = `select count(*) from (select from tidemark.fetches where lane = 'backfill' and series_id is not null
                     group by series_id, range having count(*) > 1) twice`;
      expect(await sql(compose, twice)).toBe('0');
      expect(Number(await sql(compose, covered))).toBeGreaterThanOrEqual(days);
      const points = `select count(*) from candles where base = 'bitcoin' and interval = 'm1'`;
      expect(Number(await sql(compose, points))).toBeGreaterThan(days * 1400);
      await compose('stop');
      const ended = await containers(compose);
      expect(ended.filter(({ State }) => State.Running || State.ExitCode !== 0).map(({ Name }) => Name)).toEqual([]);
    },
    containersMs,
  );
});
