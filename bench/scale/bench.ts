/** (j) Scale: what a hundred thousand tracked series cost, and a hundredth of them. Their coverage is simulated. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type Column, table } from '../../scripts/output/table.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { timeToFirstState } from '../dashboard/bench.ts';
import { type BenchParts, environmentOf, withDatabase } from '../parts.ts';
import { measurePasses } from '../planning/bench.ts';
import { startServing } from '../service/serving.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';

const full = { sizes: [1000, 100_000], rounds: 7, passes: 30 };
const quick = { sizes: [100, 2000], rounds: 2, passes: 5 };
const exchanges = 20;

const program = fileURLToPath(new URL('../../scripts/tidemark.js', import.meta.url));
const watchList = "candles:\n  - { exchange: '*', interval: m1, from: 2024-01-01 }\n";

interface Figure {
  readonly name: string;
  readonly unit: 'ms' | 'MB';
  readonly spread: Spread;
}

export async function benchScale({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const { sizes, rounds, passes } = isQuick ? quick : full;
  const measured: Figure[][] = [];
  for (const size of sizes) {
    measured.push(await withDatabase(parts, (url) => measure(parts, { url, size, rounds, passes })));
    say(`scale: ${figure(size)} series are measured`);
  }
  return { text: textOf(sizes, measured), result: { sizes, rounds, passes, measured } };
}

interface Subject {
  readonly url: string;
  readonly size: number;
  readonly rounds: number;
  readonly passes: number;
}

async function measure(parts: BenchParts, { url, size, rounds, passes }: Subject): Promise<Figure[]> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  try {
    await client.query(listing, [size, exchanges]);
    const applied = await apply(parts, url);
    await client.query(coverage);
    await client.query('vacuum analyze tidemark.series');
    const { topUp, fullQueue, readingGaps, peakRssBytes } = await measurePasses(
      passes,
      environmentOf(parts, 'postgres', url),
    );
    const several = async (work: () => Promise<number>) => {
      const taken: number[] = [];
      for (let round = 0; round < rounds; round += 1) taken.push(await work());
      return spreadOf(taken);
    };
    const ms = (name: string, spread: Spread): Figure => ({ name, unit: 'ms', spread });
    return [
      ms('tidemark apply, every series new', spreadOf([applied])),
      ms('tidemark apply, nothing to do', await several(() => apply(parts, url))),
      ms('a planning pass, room for 9', spreadOf(topUp)),
      ms('a planning pass, queue full', spreadOf(fullQueue)),
      ms('of it: gaps (SQL)', spreadOf(readingGaps)),
      { name: 'memory of the planning process', unit: 'MB', spread: spreadOf([peakRssBytes / 1e6]) },
      ms('tidemark status', await several(() => command(parts, url, ['status']))),
      ms('tidemark plan', await several(() => command(parts, url, ['plan']))),
      ms('first state of the dashboard', await several(() => firstState(parts, url))),
    ];
  } finally {
    await client.end();
  }
}

/** `$1` markets on `$2` exchanges, as if the list of markets had just been polled. */
const listing = `
  with list as (insert into tidemark.lists (list, every) values ('markets', '1 hour') returning id),
  poll as (
    insert into tidemark.list_polls (list_id, begun_at, time, answered_at, completed_at, pages, rows)
    select id, now(), now(), now(), now(), 1, $1 from list
  )
  insert into tidemark.listed_markets (exchange, base, quote, newest)
  select 'exchange-' || place % $2::int, 'coin-' || place / $2::int, 'tether', now()
  from generate_series(0, $1::int - 1) place`;

/** Two covered ranges: every series has a gap of ten days, and is a few minutes behind. A third has another gap. */
const coverage = `
  update tidemark.series s
  set covered = tstzmultirange(
        tstzrange(lower(tracked), lower(tracked) + interval '100 days'),
        tstzrange(lower(tracked) + case when id % 3 = 0 then interval '100 days' else interval '110 days' end,
                  date_trunc('minute', now()) - id % 7 * interval '1 minute')),
      points = 1000000, earliest = lower(tracked), newest = date_trunc('minute',
        now()) - (id % 7 + 1) * interval '1 minute',
      refreshed_at = now() - interval '10 minutes'`;

async function apply(parts: BenchParts, url: string): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  try {
    const file = join(directory, 'tidemark.yaml');
    writeFileSync(file, watchList);
    return await command(parts, url, ['apply', '--file', file]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Milliseconds from the start of the process to its end. */
async function command(parts: BenchParts, url: string, words: readonly string[]): Promise<number> {
  const env = { ...process.env, ...environmentOf(parts, 'postgres', url), SOURCE_URL: 'http://127.0.0.1:9/v2' };
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, ...words], { env, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`tidemark ${words.join(' ')} ended with ${code}`);
  return performance.now() - startedMs;
}

async function firstState(parts: BenchParts, url: string): Promise<number> {
  const serving = await startServing(url, false, environmentOf(parts, 'postgres', url));
  try {
    return await timeToFirstState(new URL('/', serving.url).href);
  } finally {
    await serving.stop();
  }
}

function textOf(sizes: readonly number[], measured: readonly (readonly Figure[])[]): string {
  const [least = [], most = []] = [measured[0], measured.at(-1)];
  const columns: Column<Figure>[] = [
    { title: '', value: ({ name }) => name },
    { title: '', value: ({ unit }) => unit },
    ...sizes.map((size, place) => ({
      title: `${figure(size)} series`,
      value: ({ name }: Figure) => {
        const found = measured[place]?.find((one) => one.name === name);
        return found === undefined ? '' : told(found.spread, found.unit === 'ms' ? 1 : 0);
      },
      right: true,
    })),
    {
      title: 'growth',
      value: ({ name, spread }) =>
        figure(spread.median / (least.find((one) => one.name === name)?.spread.median ?? Number.NaN), 1),
      right: true,
    },
  ];
  return [
    `(j) scale: series of m1 since 2024 on ${exchanges} exchanges, with simulated coverage: each a few minutes ` +
      'behind, two of three with an older ' +
      'gap; queue on PostgreSQL; median (least to most)',
    table(columns, most),
  ].join('\n');
}
