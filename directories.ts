/** Creates directories. */

import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Creates a directory, and those above it that are missing. Node's own `recursive` never ends where a directory takes
 * no new one and says that there is none, such as `/proc`.
 *
 * @throws errors of the file system as they are.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  if (isDirectory(path)) return;
  const above = dirname(resolve(path));
  if (above !== resolve(path)) makeDirectory(above, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!isDirectory(path)) throw error;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
