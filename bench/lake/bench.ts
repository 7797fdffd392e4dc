/** (m) Lake: a hundred million candles written to a lake, and written again where a hundred of them changed. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { decimalText } from '../../model/decimal.ts';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { table } from '../../scripts/output/table.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { timescaleVersion } from '../../store/timescale/extension.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { runProcess, type Taken } from '../files/process.ts';
import { commit } from '../growth/commit.ts';
import { candlesOf, endMs } from '../growth/load.ts';
import { environmentOf, withDatabase } from '../parts.ts';
import { figure } from '../spread.ts';
import { type Loaded, loadMinutes } from './load.ts';

const full = { size: { markets: 192, days: 366 }, changes: 100, rounds: 3 };
const quick = { size: { markets: 8, days: 60 }, changes: 10, rounds: 1 };

/** The compiled command: benchmarks run from the build. */
const program = fileURLToPath(new URL('../../scripts/tidemark.js', import.meta.url));

interface Run extends Taken {
  readonly name: string;
  /** That it wrote, and their rows. */
  readonly files: number;
  readonly rows: number;
}

type Settings = typeof full;

export async function benchLake({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const settings = isQuick ? quick : full;
  return withDatabase(parts, (url) => measureLake(url, environmentOf(parts, 'postgres', url), settings, say));
}

export async function measureLake(
  url: string,
  env: NodeJS.ProcessEnv,
  { size, changes, rounds }: Settings,
  say: (line: string) => void,
): Promise<BenchResult> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC -c datestyle=ISO' });
  const applicationName = 'tidemark bench';
  const database = openDatabase({ url, applicationName, maxConnections: 2, statementTimeoutMs: 3_600_000 });
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  try {
    await client.connect();
    if ((await timescaleVersion(client)) === null)
      return { text: '(m) lake: not measured, as it needs TimescaleDB', result: {} };
    const loaded = await loadMinutes(database, client, size, say);
    const runs: Run[] = [];
    const run = async (name: string, files: number) => {
      runs.push(await writeLake(join(directory, 'lake'), env, { name, files }));
      say(`lake: ${name}: ${figure((runs.at(-1)?.ms ?? 0) / 1000, 1)} s`);
    };
    await run('all of it', loaded.minutes.length * monthsOf(size.days));
    for (let round = 0; round < rounds; round += 1) {
      await change(database, loaded, { changes, months: monthsOf(size.days), round });
      await run(`where ${changes} candles changed`, changes);
      await run('nothing changed', 0);
    }
    return { text: textOf(loaded, runs), result: { candles: loaded.candles, runs } };
  } finally {
    await client.end();
    await database.close();
    rmSync(directory, { recursive: true });
  }
}

function monthsOf(days: number): number {
  const [first, last] = [new Date(endMs - days * dayMs), new Date(endMs - 1)];
  return 12 * (last.getUTCFullYear() - first.getUTCFullYear()) + last.getUTCMonth() - first.getUTCMonth() + 1;
}

/** @throws Error when it writes another number of files. */
async function writeLake(directory: string, env: NodeJS.ProcessEnv, of: Pick<Run, 'name' | 'files'>): Promise<Run> {
  const before = filesOf(directory);
  const taken = await runProcess(process.execPath, [program, 'lake', directory], env);
  const written = [...filesOf(directory)].filter(([path, { sha256 }]) => before.get(path)?.sha256 !== sha256);
  if (written.length !== of.files) throw new Error(`${of.name}: ${written.length} files instead of ${of.files}`);
  return { ...taken, ...of, rows: written.reduce((sum, [, { rows }]) => sum + rows, 0) };
}

interface LakeFile {
  readonly path?: string;
  readonly rows: number;
  readonly sha256: string;
}

/** By path, as the manifest has them. */
function filesOf(directory: string): Map<string, LakeFile> {
  try {
    const manifest: { series: { months: LakeFile[] }[] } = JSON.parse(
      readFileSync(join(directory, 'manifest.json'), 'utf8'),
    );
    const months = manifest.series.flatMap(({ months }) => months);
    return new Map(months.flatMap((month) => (month.path === undefined ? [] : [[month.path, month]])));
  } catch {
    return new Map();
  }
}

/** The source changes the volume of one candle in each of as many months, over all series and the whole range. */
async function change(
  database: Database,
  { minutes }: Loaded,
  { changes, months, round }: { changes: number; months: number; round: number },
): Promise<void> {
  const all = minutes.flatMap((one) => Array.from({ length: months }, (_, back) => ({ one, back })));
  for (let at = 0; at < changes; at += 1) {
    const chosen = all[(Math.floor((at * all.length) / changes) + round) % all.length];
    if (chosen === undefined) throw new Error('no series');
    const end = new Date(endMs);
    const lastDayMs = end.setUTCMonth(end.getUTCMonth() - chosen.back) - dayMs;
    const [row] = candlesOf(chosen.one.series, { startMs: lastDayMs, endMs: lastDayMs + dayMs });
    if (row === undefined) throw new Error('no candle');
    const rows = [{ ...row, volume: decimalText(`${round + 1}${row.volume}`) }];
    await commit(database, { ...chosen.one, range: { startMs: row.period, endMs: row.period + minuteMs }, rows });
  }
}

function textOf({ candles, minutes }: Loaded, runs: readonly Run[]): string {
  return [
    `(m) lake: ${figure(candles)} candles of ${minutes.length} series of m1, in the columnstore; ` +
      'one run after the other',
    table(
      [
        { title: '', value: ({ name }) => name },
        { title: 'files', value: ({ files }) => figure(files), right: true },
        { title: 'rows', value: ({ rows }) => figure(rows), right: true },
        { title: 'seconds', value: ({ ms }) => figure(ms / 1000, 1), right: true },
        { title: 'processor s', value: ({ processorMs }) => figure(processorMs / 1000, 1), right: true },
        { title: 'peak MB', value: ({ peakMb }) => (peakMb === null ? '' : figure(peakMb)), right: true },
      ],
      runs,
    ),
  ].join('\n');
}
