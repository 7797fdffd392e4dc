/** A Docker engine, used by its command line as a user does. */

import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const answers = (program: string, ...words: string[]) =>
  spawnSync(program, words, { stdio: 'ignore', timeout: 20_000 }).status === 0;

/** The first words of a compose command: those of the plugin, or else of the older program. */
const composeWords = answers('docker', 'compose', 'version')
  ? ['docker', 'compose']
  : answers('docker-compose', 'version')
    ? ['docker-compose']
    : null;

/** The reason why no container can be started here. Null: they can. */
export const noEngine: string | null = !answers('docker', 'version')
  ? 'no Docker engine answers'
  : composeWords === null
    ? 'docker compose is not installed'
    : null;

export async function docker(...words: string[]): Promise<string> {
  const { stdout } = await run('docker', words, { maxBuffer: 2 ** 28 });
  return stdout.trim();
}

/** Whether the image is available, locally or from its registry. */
export async function hasImage(image: string): Promise<boolean> {
  return docker('image', 'inspect', image)
    .catch(() => docker('pull', '--quiet', image))
    .then(
      () => true,
      () => false,
    );
}

export async function hasFile(image: string, name: string): Promise<boolean> {
  const words = ['run', '--rm', '--user', 'root', '--entrypoint', 'find', image];
  return (await docker(...words, '/', '-xdev', '-name', name)) !== '';
}

/** Compose with a project of its own. @param env added to the environment. */
export function composeProject(name: string, files: readonly string[], env: Readonly<Record<string, string>>) {
  const [program = '', ...first] = composeWords ?? [];
  const options = ['--project-name', name, ...files.flatMap((file) => ['--file', file])];
  const compose = async (...words: string[]): Promise<string> => {
    const { stdout } = await run(program, [...first, ...options, ...words], {
      env: { ...process.env, ...env },
      maxBuffer: 2 ** 28,
    });
    return stdout;
  };
  /** The ids of its containers, of those of a service, or of the first one of a service. */
  const ids = async (service?: string, number?: number): Promise<string[]> => {
    const labels = Object.entries({ project: name, service, 'container-number': number });
    const filters = labels.flatMap(([label, value]) =>
      value === undefined ? [] : ['--filter', `label=com.docker.compose.${label}=${value}`],
    );
    const text = await docker('ps', '--all', '--quiet', ...filters);
    return text === '' ? [] : text.split('\n');
  };
  return Object.assign(compose, {
    ids,
    /** Runs a program in the first container of a service. Compose itself takes seconds each time. */
    inside: async (service: string, ...words: string[]): Promise<string> => {
      const [id = ''] = await ids(service, 1);
      return docker('exec', id, ...words);
    },
  });
}
