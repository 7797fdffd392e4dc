/** PostgreSQL's backup programs, and a server of the same version. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { timescalePrograms } from './local-timescale.ts';
import type { ClusterPrograms } from './throw-away-cluster.ts';

export function dumpPrograms() {
  const timescale = timescalePrograms();
  if (typeof timescale === 'string') return timescale;
  const folder = dirname(timescale.postgres);
  const missing = ['pg_dump', 'pg_restore', 'psql'].find((program) => !existsSync(join(folder, program)));
  if (missing !== undefined) return `${folder} has no ${missing}`;
  const plain: ClusterPrograms = { ...timescale, settings: {} };
  return { folder, timescale, plain };
}
