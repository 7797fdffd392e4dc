/** (l) Files: export, lake and import beside COPY and DuckDB, with the same values in one run. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { table } from '../../scripts/output/table.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { findInstalled } from '../installed.ts';
import { environmentOf, withDatabase } from '../parts.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import { connect, copiedColumns, emptyTable } from '../write/table.ts';
import { bytesOf, type Duckdb, openDuckdb } from './duckdb.ts';
import { type Digits, loadMarket, market, trackMarket } from './load.ts';
import { runProcess, type Taken } from './process.ts';

const full = { days: 2 * 365, rounds: 3 };
const quick = { days: 20, rounds: 1 };

/** The compiled command: benchmarks run from the build. */
const program = fileURLToPath(new URL('../../scripts/tidemark.js', import.meta.url));
const valueColumns = 'time, open, high, low, close, volume';

/** One way to write or to read all points. */
interface Contestant {
  readonly name: string;
  /** Its time is compared with that of COPY in this direction. */
  readonly direction: 'out' | 'in';
  /** Not measured. */
  prepare?(): Promise<void>;
  run(): Promise<Taken>;
  /** @throws Error when the points differ. Not measured. */
  check(): Promise<void>;
  /** Of the file that it writes. */
  bytes?(): number;
}

interface Line {
  readonly name: string;
  readonly seconds: Spread;
  readonly toCopy: Spread;
  /** Microseconds of the processor. */
  readonly processorPerRow: Spread;
  readonly peakMb: number | null;
  readonly bytesPerRow: number | null;
}

export async function benchFiles({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const psql = findInstalled('psql');
  if (psql === null) return { text: '(l) files: not measured, as psql is not installed', result: {} };
  const { days, rounds } = isQuick ? quick : full;
  const measured: Array<{ digits: Digits; rows: number; lines: Line[] }> = [];
  for (const digits of ['as traded', 'random to the last digit'] as const)
    await withDatabase(parts, (from) =>
      withDatabase(parts, async (to) => {
        const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
        const clients = { from: await connect(from), to: await connect(to) };
        try {
          const seriesId = await trackMarket(from, days);
          if ((await trackMarket(to, days)) !== seriesId) throw new Error('the series have different ids');
          const rows = await loadMarket(clients.from, seriesId, days, digits);
          say(`files, ${digits}: ${figure(rows)} candles are loaded`);
          const envOf = (url: string) => environmentOf(parts, 'postgres', url);
          const places = { psql, directory, seriesId, rows, ...clients };
          const urls = { from: envOf(from), to: envOf(to) };
          measured.push({ digits, rows, lines: await measure(places, urls, { rounds, digits, say }) });
        } finally {
          await clients.from.end();
          await clients.to.end();
          rmSync(directory, { recursive: true });
        }
      }),
    );
  return { text: textOf(days, rounds, measured), result: { days, rounds, measured } };
}

interface Places {
  readonly psql: string;
  readonly directory: string;
  readonly seriesId: number;
  readonly rows: number;
  /** The store that is exported, and the one that is imported into. */
  readonly from: pg.Client;
  readonly to: pg.Client;
}
type Urls = Readonly<Record<'from' | 'to', { readonly DATABASE_URL: string }>>;

async function measure(
  places: Places,
  urls: Urls,
  { rounds, digits, say }: { rounds: number; digits: Digits; say: (line: string) => void },
): Promise<Line[]> {
  const copied = join(places.directory, 'values.csv');
  await copyOut(places, urls.from.DATABASE_URL, `${valueColumns}`, copied);
  const { exchange, baseId: base, quoteId: quote, interval } = market;
  const duckdb = await openDuckdb(copied, { exchange, base, quote, interval });
  try {
    const all = contestantsOf(places, urls, duckdb);
    const taken = new Map<string, Taken[]>(all.map(({ name }) => [name, []]));
    for (let round = 1; round <= rounds; round += 1)
      for (const { name, prepare, run, check } of all) {
        await prepare?.();
        const one = await run();
        await check();
        taken.get(name)?.push(one);
        say(`files, ${digits}, round ${round}: ${name}: ${figure(one.ms / 1000, 1)} s`);
      }
    const copyOf = (direction: Contestant['direction']) =>
      taken.get(all.find((one) => one.direction === direction)?.name ?? '') ?? [];
    return all.map(({ name, direction, bytes }) => {
      const [found, copy] = [taken.get(name) ?? [], copyOf(direction)];
      const peaks = found.flatMap(({ peakMb }) => peakMb ?? []);
      return {
        name,
        seconds: spreadOf(found.map(({ ms }) => ms / 1000)),
        toCopy: spreadOf(found.map(({ ms }, round) => (copy[round]?.ms ?? Number.NaN) / ms)),
        processorPerRow: spreadOf(found.map(({ processorMs }) => (1000 * processorMs) / places.rows)),
        peakMb: peaks.length === 0 ? null : Math.max(...peaks),
        bytesPerRow: bytes === undefined ? null : bytes() / places.rows,
      };
    });
  } finally {
    duckdb.close();
  }
}

/** COPY comes first in each direction. */
function contestantsOf(places: Places, urls: Urls, duckdb: Duckdb): Contestant[] {
  const { directory, to } = places;
  const at = (name: string) => join(directory, name);
  const tidemark = (words: readonly string[], env: NodeJS.ProcessEnv) =>
    runProcess(process.execPath, [program, ...words], env);
  const names = ['--exchange', market.exchange, '--base', market.baseId, '--quote', market.quoteId];
  const exported = (path: string): Contestant => ({
    name: `tidemark export, ${path.split('.').at(-1)}`,
    direction: 'out',
    run: () => tidemark(['export', 'candles', ...names, '--interval', market.interval, '--out', path], urls.from),
    check: () => duckdb.check(path),
    bytes: () => bytesOf(path),
  });
  const imported = (path: string, isKnown: boolean): Contestant => ({
    name: `tidemark import, ${path.split('.').at(-1)}, ${isKnown ? 'all known' : 'all new'}`,
    direction: 'in',
    prepare: async () => {
      if (!isKnown) await emptyTable(to);
    },
    run: () => tidemark(['import', path], urls.to),
    check: () => assertSame(places),
  });
  const lake = (...options: readonly string[]): Contestant => {
    const path = at(['lake', ...options].join(''));
    return {
      name: ['tidemark lake', ...options].join(' '),
      direction: 'out',
      prepare: async () => rmSync(path, { recursive: true, force: true }),
      run: () => tidemark(['lake', path, ...options], urls.from),
      check: () => duckdb.check(`${path}/**/*.parquet`),
      bytes: () => filesBelow(path).reduce((sum, file) => sum + bytesOf(file), 0),
    };
  };
  const byDuckdb = (path: string): Contestant[] => [
    {
      name: `DuckDB writes ${path.split('.').at(-1)}`,
      direction: 'out',
      run: () => duckdb.write(path),
      check: () => duckdb.check(path),
      bytes: () => bytesOf(path),
    },
    {
      name: `DuckDB reads ${path.split('.').at(-1)}`,
      direction: 'in',
      run: () => duckdb.read(path),
      check: async () => {},
    },
  ];
  const [copy, csv, jsonl, parquet] = [at('copy.text'), at('x.csv'), at('x.jsonl'), at('x.parquet')];
  const copyOutAndIn: Contestant[] = [
    {
      name: 'COPY out, ordered',
      direction: 'out',
      run: () => copyOut(places, urls.from.DATABASE_URL, copiedColumns, copy),
      check: async () => {},
      bytes: () => bytesOf(copy),
    },
    {
      name: 'COPY in',
      direction: 'in',
      prepare: () => emptyTable(to),
      run: () =>
        psqlRun(places, urls.to.DATABASE_URL, `\\copy tidemark.candle_points (${copiedColumns}) from '${copy}'`),
      check: () => assertSame(places),
    },
  ];
  const all = [
    ...copyOutAndIn,
    ...[exported(csv), exported(jsonl), exported(parquet)],
    ...[lake(), lake('--doubles'), lake('--decimals', 'text')],
    ...[csv, jsonl, parquet].flatMap((path) => [imported(path, false), imported(path, true)]),
    ...[...byDuckdb(at('duckdb.csv')), ...byDuckdb(at('duckdb.parquet'))],
  ];
  return [...all.filter(({ direction }) => direction === 'out'), ...all.filter(({ direction }) => direction === 'in')];
}

function copyOut(places: Places, url: string, columns: string, path: string): Promise<Taken> {
  const rows = `select ${columns} from tidemark.candle_points where series_id = ${places.seriesId} order by time`;
  const options = path.endsWith('.csv') ? 'csv' : 'text';
  return psqlRun(places, url, `\\copy (${rows}) to '${path}' (format ${options})`);
}

const psqlRun = ({ psql }: Places, url: string, command: string) =>
  runProcess(psql, ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', '--command', command, url], {
    PGOPTIONS: '-c timezone=UTC -c datestyle=ISO',
  });

/** @throws Error when both stores have not the same points. */
async function assertSame({ from, to }: Places): Promise<void> {
  const sql = `select count(*)::text || ' ' || coalesce(sum(hashtextextended(p::text, 0)), 0)::text as all
               from (select ${copiedColumns} from tidemark.candle_points) p`;
  const [stored, found] = await Promise.all([from, to].map((client) => client.query<{ all: string }>(sql)));
  if (stored?.rows[0]?.all !== found?.rows[0]?.all)
    throw new Error(`other points were imported: ${found?.rows[0]?.all} instead of ${stored?.rows[0]?.all}`);
}

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.parquet'))
    .map((entry) => join(entry.parentPath, entry.name));

function textOf(
  days: number,
  rounds: number,
  measured: ReadonlyArray<{ digits: Digits; rows: number; lines: readonly Line[] }>,
): string {
  const blank = (value: number | null, digits: number) => (value === null ? '' : figure(value, digits));
  return [
    `(l) files: ${days} days of m1 of one market, ${rounds} round${rounds === 1 ? '' : 's'} in turns, ` +
      'median (least to most)',
    ...measured.flatMap(({ digits, rows, lines }) => [
      `\n${figure(rows)} candles, ${digits}`,
      table(
        [
          { title: '', value: (line) => line.name },
          { title: 'seconds', value: (line) => told(line.seconds, 2), right: true },
          { title: 'to COPY', value: (line) => told(line.toCopy, 2), right: true },
          { title: 'processor µs a row', value: (line) => told(line.processorPerRow, 1), right: true },
          { title: 'peak MB', value: (line) => blank(line.peakMb, 0), right: true },
          { title: 'bytes a row', value: (line) => blank(line.bytesPerRow, 1), right: true },
        ],
        lines,
      ),
    ]),
    'After each run DuckDB read the files, and PostgreSQL the store: all have the same points, to the digit.',
  ].join('\n');
}
