/** Programs that come with PostgreSQL. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** @param program such as `psql`. @returns its path; null: it is not installed. */
export function findInstalled(program: string): string | null {
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    ...(existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [])
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => `/usr/lib/postgresql/${version}/bin`),
  ];
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file)) ?? null;
}
