/** An image of PostgreSQL without TimescaleDB, for docker-compose.yml's database. */

import { spawnSync } from 'node:child_process';
import { composeImage } from '../parts/compose-images.ts';
import { hasImage } from './engine.ts';

const official = 'postgres:18-bookworm';
const derived = 'tidemark-test/postgres';

export const databaseImage = composeImage('timescale/timescaledb');

/** The official image. If it is not available, the database's image with its extension removed. */
export async function plainImage(): Promise<string> {
  if (await hasImage(official)) return official;
  const lines = [
    `FROM ${databaseImage}`,
    'USER root',
    "RUN find / -xdev -name 'timescaledb*' \\( -name '*.so' -o -name '*.control' -o -name '*.sql' \\) -delete",
    'USER postgres',
  ];
  const built = spawnSync('docker', ['build', '--quiet', '--tag', derived, '-'], {
    input: lines.join('\n'),
    encoding: 'utf8',
  });
  if (built.status !== 0) throw new Error(`no image of plain PostgreSQL: ${built.stderr}`);
  return derived;
}
