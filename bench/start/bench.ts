/** (h) The start: processor time of short commands, beside `node -e 0` and other command lines. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dayMs } from '../../model/intervals.ts';
import { type Column, table } from '../../scripts/output/table.ts';
import { openDatabase } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { environmentOf, withDatabase } from '../parts.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';

const full = { rounds: 15 };
const quick = { rounds: 2 };

/** The compiled command: benchmarks run from the build. */
const program = fileURLToPath(new URL('../../scripts/tidemark.js', import.meta.url));
const node = `'${process.execPath}'`;
const tidemark = `${node} '${program}'`;

const commands: Readonly<Record<string, string>> = {
  'node -e 0': `${node} -e 0`,
  'npm --version': 'npm --version',
  'psql --version': 'psql --version',
  'tidemark --version': `${tidemark} --version`,
  'tidemark --help': `${tidemark} --help`,
  'tidemark statsu': `${tidemark} statsu`,
  'tidemark status --al': `${tidemark} status --al`,
  'tidemark why': `${tidemark} why`,
  'tidemark backfill candels': `${tidemark} backfill candels`,
  'tidemark backfill candles --help': `${tidemark} backfill candles --help`,
  'tidemark status': `${tidemark} status`,
  'tidemark plan': `${tidemark} plan`,
};

interface Timed {
  readonly command: string;
  /** Milliseconds of the processor, in the kernel too. Null: not installed. */
  readonly spread: Spread | null;
}

export async function benchStart({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const { rounds } = isQuick ? quick : full;
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  try {
    const timed = await withDatabase(parts, async (url) => {
      await trackOne(url);
      // A status of which the source's address is missing would be shorter.
      const env = { ...environmentOf(parts, 'postgres', url), SOURCE_URL: 'http://127.0.0.1:9/v2' };
      return await measure(rounds, { cwd: directory, env: { ...process.env, ...env } });
    });
    for (const { command, spread } of timed) say(`start, ${command}: ${spread?.median ?? 'absent'} ms`);
    return { text: textOf(rounds, timed), result: { rounds, timed } };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function trackOne(url: string): Promise<void> {
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  });
  const series = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' } as const;
  await trackSeries(database, series, Date.now() - 30 * dayMs, null);
  await database.close();
}

type Surroundings = { readonly cwd: string; readonly env: NodeJS.ProcessEnv };

/** Takes the commands in turn, so that what else the machine does affects all of them. */
async function measure(rounds: number, surroundings: Surroundings): Promise<Timed[]> {
  const all = Object.entries(commands).map(([command, line]) => ({ command, line, ms: [] as number[] }));
  for (let round = 0; round < rounds; round++)
    for (const { line, ms } of all) {
      const took = await processorMs(line, surroundings);
      if (took !== null) ms.push(took);
    }
  return all.map(({ command, ms }) => ({ command, spread: ms.length === 0 ? null : spreadOf(ms) }));
}

const run = promisify(execFile);

/** By `times` of the shell: its second line is the processor time of its children. */
async function processorMs(line: string, surroundings: Surroundings): Promise<number | null> {
  const script = `${line} >/dev/null 2>&1 </dev/null; code=$?; times; exit $((code == 127))`;
  try {
    const { stdout } = await run('bash', ['-c', script], surroundings);
    const [, children = ''] = stdout.split('\n');
    const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, minutes, rest]) => 60 * Number(minutes) + Number(rest),
    );
    return Math.round(1000 * seconds.reduce((sum, one) => sum + one, 0));
  } catch {
    return null;
  }
}

function textOf(rounds: number, timed: readonly Timed[]): string {
  const base = timed[0]?.spread?.median ?? Number.NaN;
  const columns: Column<Timed>[] = [
    { title: 'command', value: ({ command }) => command },
    { title: 'processor ms', value: ({ spread }) => (spread === null ? 'not installed' : told(spread)) },
    { title: 'node -e 0 = 1', value: ({ spread }) => (spread === null ? '' : figure(spread.median / base, 2)) },
  ];
  return `(h) start: processor time, ${rounds} rounds, median (least to most)\n\n${table(columns, timed)}`;
}
