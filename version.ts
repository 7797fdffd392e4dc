/**
 * The version of this package, from the nearest package.json above: the sources and the build lie at different depths.
 */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const version: string = readVersion(dirname(fileURLToPath(import.meta.url)));

function readVersion(directory: string): string {
  const file = join(directory, 'package.json');
  if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  const parent = dirname(directory);
  if (parent === directory) throw new Error('no package.json above the program');
  return readVersion(parent);
}
