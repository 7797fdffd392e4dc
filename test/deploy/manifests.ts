/** The manifests of Kubernetes as `kubectl kustomize` makes them. */

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { CronJob, Job } from 'kubernetes-types/batch/v1.js';
import type {
  ConfigMap,
  Container,
  Namespace,
  PersistentVolumeClaim,
  PodSpec,
  Service,
} from 'kubernetes-types/core/v1.js';
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { parseAllDocuments } from 'yaml';
import { emptyDirectory } from '../scripts/command.ts';

export type Manifest = (
  | Deployment
  | StatefulSet
  | Job
  | CronJob
  | PersistentVolumeClaim
  | Ingress
  | ConfigMap
  | Namespace
  | Service
  | NetworkPolicy
  | PodDisruptionBudget
) & { readonly kind: string; readonly metadata: { readonly name: string; readonly namespace?: string } };

export const overlays = ['everything', 'own-database', 'sources'] as const;

/** Null: `kubectl` can make them. It needs the kustomize of 1.22, which is newer than the one of Debian 12. */
export const noKustomize: string | null = whyNot();

function whyNot(): string | null {
  const tried = spawnSync('kubectl', ['kustomize', 'deploy/kubernetes/base'], { encoding: 'utf8', timeout: 60_000 });
  if (tried.error !== undefined) return 'kubectl is not installed';
  const isOld = /json: unknown field|invalid Kustomization/.test(tried.stderr);
  return isOld ? 'the kustomize of this kubectl is older than 4.2' : null;
}

export function rendered(overlay: string): { readonly text: string; readonly manifests: readonly Manifest[] } {
  const text = execFileSync('kubectl', ['kustomize', `deploy/kubernetes/${overlay}`], { encoding: 'utf8' });
  return { text, manifests: parsed(text) };
}

const parsed = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as Manifest);

/** What an overlay of somebody else's makes, beside these. @param kustomization its file. */
export function renderedOwn(kustomization: string): readonly Manifest[] {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-overlay-'));
  try {
    cpSync('deploy/kubernetes', directory, { recursive: true });
    mkdirSync(join(directory, 'own'));
    writeFileSync(join(directory, 'own/kustomization.yaml'), kustomization);
    return parsed(execFileSync('kubectl', ['kustomize', join(directory, 'own')], { encoding: 'utf8' }));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The manifests of a file that is for `kubectl create`. */
export const inFile = (path: string) => parsed(readFileSync(path, 'utf8'));

/** The pod of a manifest; null: it makes none. */
export function podOf(manifest: Manifest): PodSpec | null {
  const spec = 'spec' in manifest ? manifest.spec : undefined;
  if (spec === undefined || typeof spec !== 'object') return null;
  const maker = 'jobTemplate' in spec ? spec.jobTemplate.spec : spec;
  return maker !== undefined && 'template' in maker ? (maker.template.spec ?? null) : null;
}

export const podsOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap((manifest) => {
    const pod = podOf(manifest);
    const [container] = pod?.containers ?? [];
    return pod === null || container === undefined ? [] : [{ manifest, pod, container }];
  });

/** The environment of a container, with the settings of its ConfigMap, and `$(NAME)` in values replaced. */
export function environmentOf(container: Container, manifests: readonly Manifest[]): Record<string, string> {
  const settings = (container.envFrom ?? []).flatMap(({ configMapRef }) => {
    const map = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef?.name);
    return Object.entries((map as ConfigMap | undefined)?.data ?? {});
  });
  const env: Record<string, string> = Object.fromEntries(settings);
  for (const { name, value = '' } of container.env ?? [])
    env[name] = value.replaceAll(/\$\((\w+)\)/g, (whole, other: string) => env[other] ?? whole);
  return env;
}

const files: Readonly<Record<string, string>> = {
  Namespace: 'core/v1',
  ConfigMap: 'core/v1',
  Service: 'core/v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  Job: 'batch/v1',
  CronJob: 'batch/v1',
  PersistentVolumeClaim: 'core/v1',
  Ingress: 'networking/v1',
  NetworkPolicy: 'networking/v1',
  PodDisruptionBudget: 'policy/v1',
};
/** Groups of the API by the folder of the package. */
const groups: Readonly<Record<string, string>> = { core: '', networking: 'networking.k8s.io/' };

/** Compares the manifests with the types of the API, which are made of its schemas. @returns what is wrong. */
export function wrongFields(manifests: readonly Manifest[]): string {
  const directory = emptyDirectory();
  const lines = manifests.map((manifest, place) => {
    const file = files[manifest.kind];
    if (file === undefined) throw new Error(`no type of ${manifest.kind}`);
    const value = JSON.stringify(manifest, null, 1);
    return `import type { ${manifest.kind} as T${place} } from 'kubernetes-types/${file}';
// ${manifest.metadata.name}
export const v${place}: T${place} = ${value};`;
  });
  writeFileSync(join(directory, 'manifests.ts'), lines.join('\n'));
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, module: 'nodenext', types: [] },
    paths: { 'kubernetes-types/*': [`${resolve('node_modules/kubernetes-types')}/*`] },
  };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['manifests.ts'] }));
  const { stdout, stderr } = spawnSync('npx', ['tsc', '--project', directory], { encoding: 'utf8' });
  return stdout + stderr;
}

/** The `apiVersion` that a manifest of the kind has. */
export function apiVersionOf(kind: string): string {
  const [folder = '', version] = files[kind]?.split('/') ?? [];
  return `${groups[folder] ?? `${folder}/`}${version}`;
}
