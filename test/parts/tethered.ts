/**
 * A server that ends with the process that started it, even when that is killed with SIGKILL: a shell between them
 * waits for the end of its standard input, which only this process holds open.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Launch, spawnOptions } from '../../embedded/unprivileged.ts';

export interface Tethered {
  isRunning(): boolean;
  /** The last lines of its output. */
  output(): string;
  /** Stops the server and removes its directory. */
  stop(): Promise<void>;
}

// The shell's background jobs read from /dev/null, so the tether is kept as descriptor 3.
const script = `
signal=$1; directory=$2; shift 2
exec 3<&0
"$@" </dev/null 3<&- & server=$!
( read -r _ <&3; kill -s "$signal" $server ) & tether=$!
wait $server
kill $tether 2>/dev/null
[ -z "$directory" ] || rm -rf "$directory"
`;

/** Starts `command`. `signal` asks it to stop. `directory`, unless empty, is removed once it has ended. */
export function startTethered(
  command: readonly string[],
  { launch, signal, directory }: { launch: Launch; signal: 'INT' | 'TERM'; directory: string },
): Tethered {
  const [program = 'sh', ...words] = [...launch.prefix, 'sh', '-c', script, 'sh', signal, directory, ...command];
  const child = spawn(program, words, { ...spawnOptions(launch), stdio: 'pipe' });
  let printed = '';
  const keep = (chunk: Buffer) => {
    printed = (printed + chunk.toString()).slice(-4000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  child.on('error', (error) => keep(Buffer.from(error.message)));
  const isRunning = () => child.exitCode === null && child.signalCode === null && child.pid !== undefined;
  return {
    isRunning,
    output: () => printed.trim(),
    async stop() {
      if (!isRunning()) return;
      const exited = once(child, 'exit');
      child.stdin.end();
      await exited;
    },
  };
}
