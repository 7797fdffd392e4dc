/** The manifests of Kubernetes: against the types of its API, and against what Tidemark's processes need. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { exitCodes } from '../../errors.ts';
import { environment, secretVariables } from '../../settings/environment.ts';
import { readWatchList } from '../../watch-list/read.ts';
import { blockOf } from '../docs/shell-blocks.ts';
import { composeImage } from '../parts/compose-images.ts';
import { describeMissing } from '../parts/describe-needing.ts';
import {
  apiVersionOf,
  environmentOf,
  inFile,
  type Manifest,
  noKustomize,
  overlays,
  podOf,
  podsOf,
  rendered,
  renderedOwn,
  wrongFields,
} from './manifests.ts';

const title = 'manifests of Kubernetes';
const group =
  noKustomize === null ? describe : (_: string, body: () => void) => describeMissing(title, noKustomize ?? '', body);

const page = readFileSync('docs/kubernetes.md', 'utf8');
/** The blocks of the page in YAML, each with its text. */
const blocks = [...page.matchAll(/^( *)```yaml\n([\s\S]*?)^ *```/gm)].map(([, indent = '', text = '']) => {
  const lines = text.split('\n').map((line) => line.slice(indent.length));
  return { text: lines.join('\n'), value: parse(lines.join('\n')) as Record<string, unknown> };
});

/** What kustomize makes; first the overlays of the repository. */
function everyRendering(): { readonly name: string; readonly manifests: readonly Manifest[] }[] {
  const own = blocks.find(({ value }) => 'components' in value)?.text ?? '';
  const made = overlays.map((name) => ({ name, manifests: rendered(name).manifests }));
  const settings = made[0]?.manifests.filter(({ kind }) => kind === 'ConfigMap') ?? [];
  return [
    ...made,
    { name: 'an overlay of the page', manifests: renderedOwn(own) },
    { name: 'command.yaml', manifests: [...inFile('deploy/kubernetes/command.yaml'), ...settings] },
  ];
}

group(title, () => {
  const all = noKustomize === null ? everyRendering() : [];
  const [everything, , , withComponents] = all.map(({ manifests }) => manifests);
  const find = (manifests: readonly Manifest[] | undefined, kind: string, name: string) =>
    manifests?.find((one) => one.kind === kind && one.metadata.name === name);
  const tidemarks = all.flatMap(({ manifests }) =>
    podsOf(manifests)
      .filter(({ container }) => container.name === 'tidemark')
      .map((one) => ({ ...one, env: environmentOf(one.container, manifests) })),
  );

  it('are of the API, each field of them', () => {
    for (const { manifests } of all) {
      expect(wrongFields(manifests)).toBe('');
      for (const { kind, apiVersion } of manifests as ReadonlyArray<{ kind: string; apiVersion: string }>)
        expect(apiVersion).toBe(apiVersionOf(kind));
    }
    const [first] = all;
    const [wrong] = structuredClone(first?.manifests ?? []).filter(({ kind }) => kind === 'Deployment');
    const container = podsOf(wrong === undefined ? [] : [wrong])[0]?.container as unknown as Record<string, unknown>;
    container.livenessprobe = container.livenessProbe;
    expect(wrongFields(wrong === undefined ? [] : [wrong])).toContain('livenessprobe');
  });

  it('have the processes of Tidemark, each with its command, in a namespace of its own', () => {
    for (const { name, manifests } of all) {
      expect(
        manifests.filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'tidemark'),
      ).toEqual([]);
      const commands = podsOf(manifests).flatMap(({ container }) =>
        container.name === 'tidemark' ? [container.args?.[0]] : [],
      );
      expect(commands.sort()).toEqual(
        name === 'command.yaml' ? ['backfill'] : ['migrate', 'scheduler', 'serve', 'worker'],
      );
    }
  });

  it('run without rights on the machine and in the cluster', () => {
    const pods = all.flatMap(({ manifests }) => podsOf(manifests));
    expect(pods.length).toBeGreaterThan(12);
    for (const { pod, container } of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(container.securityContext).toMatchObject({
        ...{ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        // The image of the database writes its own configuration.
        ...(container.name === 'database' ? {} : { readOnlyRootFilesystem: true }),
      });
      expect(container.resources).toMatchObject({
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      });
      const mounted = (container.volumeMounts ?? []).map(({ name }) => name).sort();
      const claimed = ['data'].filter((name) => mounted.includes(name));
      expect([...(pod.volumes ?? []).map(({ name }) => name), ...claimed].sort()).toEqual(mounted);
    }
  });

  it('have no secret in an environment, and each in a file where it is needed', () => {
    for (const { manifest, env, container, pod } of tidemarks) {
      for (const name of secretVariables) {
        expect(Object.keys(env).filter((one) => one === name && !name.endsWith('_URL'))).toEqual([]);
        const address = env[name];
        if (address !== undefined) expect(new URL(address).password).toBe('');
        const file = env[`${name}_FILE`];
        if (file === undefined) continue;
        const [, , directory = '', key = ''] = file.split('/');
        expect(container.volumeMounts).toContainEqual({ name: directory, mountPath: `/secrets/${directory}` });
        const items = pod.volumes?.find((volume) => volume.name === directory)?.secret?.items;
        if (items !== undefined) expect(items.map((item) => item.key)).toContain(key);
      }
      const isOwner = manifest.metadata.name === 'tidemark-migrate';
      expect(
        new URL(env.DATABASE_URL ?? '').username.startsWith('tidemark_') && !/owner/.test(env.DATABASE_URL ?? ''),
      ).toBe(!isOwner);
      expect(JSON.stringify(pod.volumes).includes('tidemark-owner')).toBe(isOwner);
      const asks = ['worker', 'backfill'].includes(container.args?.[0] ?? '');
      expect(JSON.stringify(pod.volumes).includes('tidemark-source')).toBe(asks);
      const tells = container.args?.[0] === 'scheduler';
      expect(JSON.stringify(pod.volumes).includes('tidemark-notify')).toBe(tells);
    }
  });

  it('set only variables that are read', () => {
    const known = [
      ...Object.keys(environment.shape),
      ...secretVariables.map((name) => `${name}_FILE`),
      ...['DATABASE_ADDRESS', 'DATABASE_OWNER', 'NODE_OPTIONS'],
    ];
    for (const { env } of tidemarks) expect(Object.keys(env).filter((name) => !known.includes(name))).toEqual([]);
  });

  it('are probed where something listens, and are given longer to stop than they take', () => {
    for (const { manifest, pod, container, env } of tidemarks) {
      if (manifest.kind !== 'Deployment') continue;
      const ports = new Map(container.ports?.map(({ name = '', containerPort }) => [name, containerPort]));
      expect(ports.get('metrics')).toBe(Number(env.METRICS_PORT));
      if (ports.has('http')) expect(ports.get('http')).toBe(Number(env.SERVE_PORT));
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
        expect(ports.has(String(container[probe]?.httpGet?.port))).toBe(true);
      // After the drain open requests have the limit of a statement, and a worker that of a request and of its commit.
      const { SOURCE_TIMEOUT_SECONDS, SERVE_STATEMENT_TIMEOUT_SECONDS } = environment.parse({});
      const stopping = new Map([
        ['scheduler', SERVE_STATEMENT_TIMEOUT_SECONDS],
        ['worker', SOURCE_TIMEOUT_SECONDS + 30],
        ['serve', Number(env.SERVE_DRAIN_SECONDS) + SERVE_STATEMENT_TIMEOUT_SECONDS],
      ]).get(container.args?.[0] ?? '');
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(stopping ?? Number.POSITIVE_INFINITY);
    }
  });

  it('keep one of each while a node is drained', () => {
    for (const { manifests } of all) {
      const names = (kind: string) => manifests.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
      expect(names('PodDisruptionBudget').sort()).toEqual(names('Deployment').sort());
    }
  });

  it('have the images of docker-compose.yml, and a watch list that is one', () => {
    const images = new Set(all.flatMap(({ manifests }) => podsOf(manifests).map(({ container }) => container.image)));
    expect(images).toContain(composeImage('timescale/timescaledb'));
    expect(images).toContain(composeImage('redis'));
    expect([...images].filter((image) => image?.startsWith('ghcr.io/tidemark/tidemark:v'))).toHaveLength(1);
    const list = readFileSync('deploy/kubernetes/sources/tidemark.yaml', 'utf8');
    expect(readWatchList(list, Date.UTC(2026, 0, 1))).toMatchObject({ kind: 'list' });
  });

  it('need the secrets that docs/kubernetes.md creates, with their keys, and name no file that none has', () => {
    const keysOf = new Map<string, string[]>([['tidemark-tls', []]]);
    for (const [, name = '', words = ''] of page.matchAll(/create secret generic (\S+) (.*)$/gm)) {
      const keys = [...words.matchAll(/--from-(?:literal|file)=([\w-]+)=/g)].map(([, key = '']) => key);
      keysOf.set(name, [...(keysOf.get(name) ?? []), ...keys]);
    }
    for (const { manifest, pod, container } of all.flatMap(({ manifests }) => podsOf(manifests)))
      for (const { name, secret } of pod.volumes ?? []) {
        if (secret === undefined) continue;
        const env = environmentOf(container, [manifest]);
        const files = Object.values(env).filter((value) => value.startsWith(`/secrets/${name}/`));
        for (const file of files) expect(keysOf.get(secret.secretName ?? '')).toContain(file.split('/').at(-1));
        expect(keysOf.has(secret.secretName ?? '')).toBe(true);
        expect(page).toContain(`| \`${secret.secretName}\` |`);
      }
    expect(page).toContain('create secret tls tidemark-tls ');
    const lists = [readFileSync('deploy/kubernetes/sources/tidemark.yaml', 'utf8'), ...blocks.map(({ text }) => text)];
    const named = lists.flatMap((text) => [...text.matchAll(/\/secrets\/(source|notify)\/([\w-]+)/g)]);
    expect(named.length).toBeGreaterThan(3);
    for (const [, directory, key] of named) expect(keysOf.get(`tidemark-${directory}`)).toContain(key);
  });

  it('let the controller of the Ingress alone reach the service, and trust it', () => {
    const ingress = find(withComponents, 'Ingress', 'tidemark') as Extract<Manifest, { spec?: { rules?: unknown } }>;
    const [path] = (ingress as { spec: { rules: { http: { paths: object[] } }[] } }).spec.rules[0]?.http.paths ?? [];
    expect(path).toMatchObject({ backend: { service: { name: 'tidemark', port: { name: 'http' } } } });
    expect(find(withComponents, 'Service', 'tidemark')).toMatchObject({ spec: { ports: [{ name: 'http' }] } });
    expect(find(withComponents, 'ConfigMap', 'tidemark')).toMatchObject({ data: { TRUSTED_PROXIES: '1' } });
    expect(find(withComponents, 'NetworkPolicy', 'tidemark-service')).toMatchObject({
      spec: {
        ingress: [
          { from: [{ namespaceSelector: { matchLabels: { 'tidemark-service': 'use' } } }], ports: [{ port: 'http' }] },
        ],
      },
    });
    expect(page).toContain('kubectl label namespace ingress-nginx tidemark-service=use');
  });

  it('back up with the command of docs/operations.md, by a program of the version of the server', () => {
    const backup = find(withComponents, 'CronJob', 'tidemark-backup');
    const database = find(withComponents, 'StatefulSet', 'database');
    if (backup === undefined || database === undefined) throw new Error('a manifest is missing');
    const container = podOf(backup)?.containers[0];
    expect(container?.image).toBe(podOf(database)?.containers[0]?.image);
    const [, ...lines] = blockOf('docs/operations.md', 'A backup').split('\n');
    expect(container?.args?.join('\n')).toContain(lines.join('\n'));
    expect(backup).toMatchObject({ spec: { concurrencyPolicy: 'Forbid' } });
  });

  it('leave room for the connections that docs/kubernetes.md counts', () => {
    const { DATABASE_CONNECTIONS: each, SERVE_CONNECTIONS: served } = environment.parse({});
    const replicas = (name: string) =>
      (find(everything, 'Deployment', name) as { spec: { replicas: number } } | undefined)?.spec.replicas ?? 0;
    const others = (replicas('tidemark-scheduler') + replicas('tidemark-worker')) * each;
    const services = replicas('tidemark-service') * (served + 12);
    const updated = others + services + served + 12;
    expect(page).toContain(`That is ${others + services}, and ${updated} during a rolling update`);
    const database = find(everything, 'StatefulSet', 'database');
    const args = database === undefined ? [] : podOf(database)?.containers[0]?.args;
    const [, most] = /^-c max_connections=(\d+)$/.exec(args?.join(' ') ?? '') ?? [];
    expect(page).toContain(`sets \`max_connections\` to ${most},`);
    // Those that PostgreSQL keeps for superusers, those that Tidemark leaves, three services, two commands and a backup.
    expect(Number(most)).toBeGreaterThanOrEqual(updated + 3 + 3 + 3 * (served + 12) + 2 * each + 2);
  });

  it('repeat a command after what passes, and not after what stays', () => {
    const [command] = inFile('deploy/kubernetes/command.yaml') as ReadonlyArray<unknown>;
    const { spec } = command as { spec: { podFailurePolicy: { rules: Record<string, unknown>[] } } };
    const { rules } = spec.podFailurePolicy;
    // The first rule that fits counts: a drained node stops the command too.
    expect(rules.map(({ action }) => action)).toEqual(['Ignore', 'FailJob']);
    const { usage, different, rejected, interrupted } = exitCodes;
    expect(rules[1]?.onExitCodes).toEqual({ operator: 'In', values: [usage, different, rejected, interrupted] });
  });

  it('have blocks of shell on the page that need nothing of an earlier one', () => {
    const shell = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text);
    for (const text of shell) if (text.includes('$(random)')) expect(text).toContain('random() {');
    // With a selector the default is ten lines.
    for (const [line] of page.matchAll(/kubectl logs --selector[^`]*/g)) expect(line).toContain('--tail=-1');
  });

  it('are as the blocks of docs/kubernetes.md say', () => {
    for (const { text, value } of blocks) {
      if ('components' in value) continue;
      if ('notify' in value) expect(readWatchList(text, Date.UTC(2026, 0, 1))).toMatchObject({ kind: 'list' });
      else if ('images' in value) {
        const made = podsOf(renderedOwn(`resources: [../everything]\n${text}`));
        const images = made.flatMap(({ container }) => (container.name === 'tidemark' ? [container.image] : []));
        expect(images).toEqual(Array(4).fill('registry.example.com/tidemark:v0.1.0'));
      } else if (value.kind === 'PodMonitor') {
        const { selector, podMetricsEndpoints } = value.spec as {
          selector: { matchLabels: Record<string, string> };
          podMetricsEndpoints: { port: string }[];
        };
        const workers = find(everything, 'Deployment', 'tidemark-worker') as { spec: { template: object } } | undefined;
        expect(workers?.spec.template).toMatchObject({
          metadata: { labels: selector.matchLabels },
          spec: { containers: [{ ports: podMetricsEndpoints.map(({ port }) => ({ name: port })) }] },
        });
      } else {
        expect(Object.keys(value)).toEqual(['patches']);
        const made = renderedOwn(`resources: [../everything]\ncomponents: [../backup]\n${text}`);
        expect(wrongFields(made)).toBe('');
        const pods = podsOf(made).filter(({ manifest }) => manifest.kind !== 'StatefulSet');
        expect(pods).toHaveLength(5);
        for (const { pod, container } of pods) {
          expect(pod.volumes).toContainEqual({ name: 'ca', secret: { secretName: 'NAME', defaultMode: 0o440 } });
          expect(container.volumeMounts).toContainEqual({ name: 'ca', mountPath: '/secrets/ca' });
        }
      }
    }
  });
});
