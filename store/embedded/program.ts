import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Launch, spawnOptions } from './unprivileged.ts';

/** This process's environment without libpq's variables: PGDATA, PGPORT and the like would redirect the programs. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }; // messages in English, because failures are read from them
}

/** Runs a program to its end. `printed` is what it wrote to either output. */
export async function runProgram(
  launch: Launch,
  program: string,
  words: readonly string[],
): Promise<{ succeeded: boolean; printed: string }> {
  const [command = program, ...rest] = [...launch.prefix, program, ...words];
  const child = spawn(command, rest, {
    ...spawnOptions(launch),
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  try {
    const [code] = await once(child, 'close');
    return { succeeded: code === 0, printed };
  } catch (error) {
    return {
      succeeded: false,
      printed: `${printed}\nerror: ${error instanceof Error ? error.message : error}`,
    };
  }
}
