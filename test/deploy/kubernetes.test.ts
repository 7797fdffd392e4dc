/** The manifests of Kubernetes: against the types of its API, and against what Tidemark's processes need. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { environment, secretVariables } from '../../settings/environment.ts';
import { readWatchList } from '../../watch-list/read.ts';
import { composeImage } from '../parts/compose-images.ts';
import { describeMissing } from '../parts/describe-needing.ts';
import { apiVersionOf, environmentOf, noKustomize, overlays, podsOf, rendered, wrongFields } from './manifests.ts';

const title = 'manifests of Kubernetes';
const group =
  noKustomize === null ? describe : (_: string, body: () => void) => describeMissing(title, noKustomize ?? '', body);

group(title, () => {
  const all = noKustomize === null ? overlays.map((name) => ({ name, ...rendered(name) })) : [];
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
    for (const { manifests } of all) {
      expect(
        manifests.filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'tidemark'),
      ).toEqual([]);
      const commands = podsOf(manifests).flatMap(({ container: { name, args } }) =>
        name === 'tidemark' ? [args?.[0]] : [],
      );
      expect(commands.sort()).toEqual(['migrate', 'scheduler', 'serve', 'worker']);
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
      const hasKey = manifest.metadata.name === 'tidemark-worker';
      expect(JSON.stringify(pod.volumes).includes('tidemark-source')).toBe(hasKey);
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

  it('need the secrets that docs/kubernetes.md creates, with their keys', () => {
    const page = readFileSync('docs/kubernetes.md', 'utf8');
    const created = [...page.matchAll(/create secret generic (\S+) (.*)$/gm)].map(([, name = '', words = '']) => ({
      name,
      keys: [...words.matchAll(/--from-literal=([\w-]+)=/g)].map(([, key = '']) => key),
    }));
    const keyOf = new Map(created.map(({ name, keys }) => [name, keys]));
    for (const { pod, env } of tidemarks)
      for (const { name, secret } of pod.volumes ?? []) {
        if (secret === undefined) continue;
        const files = Object.values(env).filter((value) => value.startsWith(`/secrets/${name}/`));
        for (const file of files) expect(keyOf.get(secret.secretName ?? '')).toContain(file.split('/').at(-1));
        expect(keyOf.has(secret.secretName ?? '')).toBe(true);
      }
  });
});
