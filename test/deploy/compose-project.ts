/** Starts docker-compose.yml with a simulated source for one test, and queries its containers. */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../parts/free-port.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory } from '../scripts/command.ts';
import { composeProject, docker } from './engine.ts';

export type Compose = ReturnType<typeof composeProject>;

export interface Project {
  readonly compose: Compose;
  /** Addresses on this machine, without a path. */
  readonly service: string;
  readonly prometheus: string;
}

/** The timeout of a test of a dozen containers on a busy machine. */
export const containersMs = 1_800_000;
/** Looking is a process in a container each time. */
export const patient = { everyMs: 1500, withinMs: 900_000 };
export const apiKey = 'key-of-the-source';

export const profiles = ['--profile', 'observability'];

/** Starts everything but the profile. It is removed, including volumes, when the test has finished. */
export async function bringUp(files: readonly string[], env: Readonly<Record<string, string>>): Promise<Project> {
  const keyFile = join(emptyDirectory(), 'key');
  writeFileSync(keyFile, `${apiKey}\n`);
  const [service, postgres, prometheus, grafana] = await Promise.all([1, 2, 3, 4].map(freePort));
  const compose = composeProject(
    `tidemark-test-${randomBytes(4).toString('hex')}`,
    ['docker-compose.yml', 'test/deploy/compose.source.yml', ...files],
    {
      ...env,
      SOURCE_URL: 'http://source:4010/v2',
      SOURCE_API_KEY_FILE: keyFile,
      // Ten a second: 60 windows take six.
      SOURCE_REQUESTS_PER_MINUTE: '600',
      SERVICE_PUBLISH: `127.0.0.1:${service}`,
      POSTGRES_PORT: String(postgres),
      PROMETHEUS_PORT: String(prometheus),
      GRAFANA_PORT: String(grafana),
    },
  );
  onTestFinished(() => down(compose, '--volumes', '--timeout', '5'), containersMs);
  await up(compose);
  const at = (port: number | undefined) => `http://127.0.0.1:${port}`;
  return { compose, service: at(service), prometheus: at(prometheus) };
}

/** Runs the command of the documentation with two workers, and returns when every container is healthy. */
export async function up(compose: Compose): Promise<void> {
  await compose('up', '--detach', '--scale', 'worker=2');
  await waitFor('every container to be healthy', () => isHealthy(compose), patient);
}

/** Removes every container and network. Twice more if need be: a network may still have a container that is gone. */
export async function down(compose: Compose, ...options: string[]): Promise<void> {
  const remove = () => compose(...profiles, 'down', ...options);
  await remove().catch(remove).catch(remove);
}

interface Container {
  readonly Name: string;
  readonly RestartCount: number;
  readonly State: {
    readonly Running: boolean;
    readonly ExitCode: number;
    readonly Health?: { readonly Status: string };
  };
  readonly HostConfig: {
    readonly Memory: number;
    readonly PidsLimit: number | null;
    readonly LogConfig: { readonly Type: string };
  };
  readonly Config: { readonly Env: readonly string[]; readonly Labels: Readonly<Record<string, string>> };
}

/** @param service absent: every one. */
export async function containers(compose: Compose, service?: string): Promise<Container[]> {
  const ids = await compose.ids(service);
  return ids.length === 0 ? [] : (JSON.parse(await docker('inspect', ...ids)) as Container[]);
}

/** Database, Redis, scheduler, two workers and service have a health check; the others end. */
const longRunning = 6;

export async function isHealthy(compose: Compose): Promise<boolean> {
  const found = (await containers(compose)).filter(({ State }) => State.Health !== undefined);
  return found.length === longRunning && found.every(({ State }) => State.Health?.Status === 'healthy');
}

/** Runs a statement with psql in the database's container. @returns its output, with rows as lines. */
export async function sql(compose: Compose, statement: string): Promise<string> {
  const words = ['--username', 'tidemark', '--no-align', '--tuples-only', '--command', statement];
  return compose.inside('database', 'psql', ...words);
}
