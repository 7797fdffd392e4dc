/** Runs a TypeScript module of the tests in a separate process, which a test kills, stops or waits for. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { waitFor } from './wait-for.ts';

export interface ChildModule {
  readonly process: ChildProcess;
  printed(): string;
  /** Waits until the output matches. @throws Error when the process ends or half a minute passes without a match. */
  waitForPrinted(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends the signal, by default SIGKILL, and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Vite loads the module: Node 20 does not run TypeScript.
 *
 * @param prefix a command that runs it, such as `ip netns exec`.
 */
export function startChildModule(
  path: string,
  words: readonly string[] = [],
  environment: NodeJS.ProcessEnv = {},
  prefix: readonly string[] = [],
): ChildModule {
  const requireAsVitest = createRequire(createRequire(import.meta.url).resolve('vitest/package.json'));
  const loader = `
    const { runnerImport } = await import(${JSON.stringify(requireAsVitest.resolve('vite'))});
    await runnerImport(${JSON.stringify(resolve(path))}, { configFile: false, logLevel: 'silent' });`;
  const node = [process.execPath, '--input-type=module', '-e', loader, '--', path, ...words];
  const [program = '', ...rest] = [...prefix, ...node];
  const child = spawn(program, rest, { env: { ...process.env, ...environment }, stdio: ['pipe', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    process: child,
    printed: () => printed,
    async waitForPrinted(pattern) {
      await waitFor(`${path} to print ${pattern}`, () => {
        if (pattern.test(printed)) return true;
        if (hasEnded()) throw new Error(`${path} ended without printing ${pattern}: ${printed}`);
        return false;
      });
      const match = pattern.exec(printed);
      if (match === null) throw new Error('the pattern must not keep state between its uses');
      return match;
    },
    async end(signal = 'SIGKILL') {
      if (hasEnded()) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
}
