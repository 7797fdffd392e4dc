import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import { failureFrom } from './failure.ts';
import { type Home, unfinishedPath } from './home.ts';
import { runProgram } from './program.ts';
import { launchAs } from './unprivileged.ts';

/** Whether the home holds a complete cluster. */
export const hasCluster = (home: Home): boolean => existsSync(join(home.data, 'PG_VERSION'));

/**
 * Makes the cluster. It is made beside its place and then renamed, so it is there wholly or not at all; of two
 * processes that do so at once, the second finds the place taken and drops its own.
 * @throws TidemarkError EMBEDDED_DATABASE or DATABASE_FULL.
 */
export async function createCluster(home: Home, binaries: Binaries): Promise<void> {
  const unfinished = unfinishedPath(home.data);
  const passwordFile = unfinishedPath(join(home.directory, 'initial-password'));
  try {
    mkdirSync(unfinished, { mode: 0o700 });
    writeFileSync(passwordFile, home.password, { mode: 0o600 });
    if (home.account !== null) {
      for (const path of [unfinished, passwordFile]) chownSync(path, home.account.uid, home.account.gid);
    }
    const launch = launchAs(home.account, binaries.initdb, home.directory);
    const { succeeded, printed } = await runProgram(launch, binaries.initdb, [
      ...['-D', unfinished, '-U', 'tidemark', '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      // PostgreSQL's own locale: the same order of text on every machine, whatever locales it has.
      ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
      '--no-instructions',
    ]);
    if (!succeeded) throw failureFrom(printed, 'the database could not be made', home.directory);
    try {
      renameSync(unfinished, home.data);
    } catch (error) {
      if (!hasCluster(home)) throw error;
    }
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(unfinished, { recursive: true, force: true });
  }
}
