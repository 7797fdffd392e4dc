/** (k) Sources: a year of minutes from an archive beside COPY of the same rows, and two sources at once. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import { table } from '../../scripts/output/table.ts';
import { startVenueSimulator } from '../../simulator/venues/start.ts';
import { openDatabase } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { setSeriesSources } from '../../test/parts/series-sources.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { type BenchParts, environmentOf, type QueueKind, queueKinds, withDatabase } from '../parts.ts';
import { startProcesses } from '../processes.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import { runCopy } from '../write/copy.ts';
import { openPipeline } from '../write/pipeline.ts';
import { checkTable, connect, copiedTime, type Expected, emptyTable, expectedLines } from '../write/table.ts';

const full = { months: 12, rounds: 5, seconds: 120 };
const quick = { months: 2, rounds: 1, seconds: 20 };
const year = 2024;
const market = { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether' } as const;
const series: CandleSeries = { ...market, interval: 'm1' };

export async function benchSources({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const size = isQuick ? quick : full;
  const archive = await benchArchive(parts, size, say);
  const shares: Share[] = [];
  for (const queue of queueKinds(parts)) {
    const found = await withDatabase(parts, (url) => benchTwo(parts, queue, url, size.seconds));
    for (const share of found) say(`sources, ${queue}: ${share.source} ${figure(share.share, 4)} of its budget`);
    shares.push(...found);
  }
  return { text: `${archiveText(archive)}\n\n${sharesText(size.seconds, shares)}`, result: { ...archive, shares } };
}

/** Files of whole months in memory, so that making them costs nothing while it is measured. */
async function startFiles(months: number) {
  const simulator = await startVenueSimulator({ profile: 'binance-archive', seed: 'bench' });
  const files = new Map<string, Buffer>();
  for (let month = 1; month <= months; month += 1) {
    const name = `BTCUSDT-1m-${year}-${String(month).padStart(2, '0')}.zip`;
    for (const suffix of ['', '.CHECKSUM']) {
      const path = `/data/spot/monthly/klines/BTCUSDT/1m/${name}${suffix}`;
      files.set(path, Buffer.from(await (await fetch(simulator.url + path)).arrayBuffer()));
    }
  }
  const range = { startMs: Date.UTC(year, 0, 1), endMs: Date.UTC(year, months, 1) };
  const rows = simulator.truth.candles(series, range);
  await simulator.close();
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '');
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, rows, range, close: () => void server.close() };
}

interface ArchiveResult {
  readonly rows: number;
  readonly rounds: number;
  readonly lines: ReadonlyArray<{ name: string; rowsPerSecond: Spread; toCopy: Spread; peakMb: number | null }>;
}

async function benchArchive(
  parts: BenchParts,
  { months, rounds }: typeof full,
  say: BenchOptions['say'],
): Promise<ArchiveResult> {
  const files = await startFiles(months);
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const list = join(directory, 'tidemark.yaml');
  writeFileSync(list, `sources:\n  binance-archive: { url: '${files.url}' }\n`);
  return withDatabase(parts, async (url) => {
    const seriesId = await trackArchived(url, files.range);
    const expected = expectedOf(seriesId, files.rows);
    const client = await connect(url);
    const pipelines = [];
    const contestants: Array<{ name: string; run: () => Promise<number | undefined>; peakMb: () => number | null }> = [
      { name: 'COPY, one connection', run: async () => void (await runCopy(client, expected)), peakMb: () => null },
    ];
    try {
      for (const kind of queueKinds(parts)) {
        const environment = { ...environmentOf(parts, kind, url), WATCH_LIST: list };
        const pipeline = await openPipeline(environment, 'binance-archive');
        pipelines.push(pipeline);
        const name = `tidemark, queue on ${kind === 'redis' ? 'Redis' : 'PostgreSQL'}`;
        contestants.push({ name, run: () => pipeline.fill(expected.rows), peakMb: pipeline.peakMb });
      }
      const rates = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
      for (let round = rounds === 1 ? 1 : 0; round <= rounds; round += 1) {
        for (const { name, run } of contestants) {
          await emptyTable(client);
          const started = performance.now();
          const measured = await run();
          const rate = (1000 * expected.rows) / (measured ?? performance.now() - started);
          await checkTable(client, expected, name);
          if (round > 0) rates.get(name)?.push(rate);
          say(`sources, archive, round ${round}: ${name}: ${figure(rate)} rows/s`);
        }
      }
      const [copy = []] = rates.values();
      const lines = contestants.map(({ name, peakMb }) => {
        const values = rates.get(name) ?? [];
        const toCopy = spreadOf(values.map((value, round) => value / (copy[round] ?? value)));
        return { name, rowsPerSecond: spreadOf(values), toCopy, peakMb: peakMb() };
      });
      return { rows: expected.rows, rounds, lines };
    } finally {
      for (const pipeline of pipelines) await pipeline.close();
      await client.end();
      files.close();
      rmSync(directory, { recursive: true });
    }
  });
}

async function trackArchived(url: string, { startMs, endMs }: { startMs: EpochMs; endMs: EpochMs }): Promise<number> {
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 1,
    statementTimeoutMs: 60_000,
  });
  try {
    const { seriesId } = await trackSeries(database, series, startMs, endMs);
    await setSeriesSources(database, seriesId, [{ source: 'binance-archive', symbol: 'BTCUSDT', isArchive: true }]);
    return seriesId;
  } finally {
    await database.close();
  }
}

function expectedOf(seriesId: number, rows: Awaited<ReturnType<typeof startFiles>>['rows']): Expected {
  const lines = rows.map((row) =>
    [seriesId, copiedTime(row.period), row.open, row.high, row.low, row.close, row.volume].join('\t'),
  );
  return expectedLines(lines);
}

interface Share {
  readonly queue: QueueKind;
  readonly source: string;
  /** Requests that its limit allows in the measured time, and those that were made. */
  readonly allowed: number;
  readonly requests: number;
  readonly share: number;
  readonly refused: number;
}

const budgets = { binance: { perMinute: 1200, cost: 2 }, bybit: { perMinute: 600, cost: 1 } } as const;
const latencyMs = 150;
const trackedDays = 400;

async function benchTwo(parts: BenchParts, queue: QueueKind, url: string, seconds: number): Promise<Share[]> {
  const simulators = await Promise.all(
    (['binance', 'bybit'] as const).map(async (profile) => ({
      profile,
      simulator: await startVenueSimulator({
        profile,
        seed: 'bench',
        perMinute: budgets[profile].perMinute,
        faults: { latencyMs },
      }),
    })),
  );
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const list = join(directory, 'tidemark.yaml');
  const entries = simulators.map(
    ({ profile, simulator }) => `  ${profile}: { url: '${simulator.url}', budget: ${budgets[profile].perMinute} }\n`,
  );
  writeFileSync(list, `lists: { rates: off }\nsources:\n${entries.join('')}`);
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 1,
    statementTimeoutMs: 60_000,
  });
  try {
    for (const { profile } of simulators)
      for (const base of ['bitcoin', 'ethereum', 'solana', 'xrp'] as const) {
        const key = { ...series, exchange: profile, baseId: base };
        const { seriesId } = await trackSeries(database, key, Date.now() - trackedDays * dayMs, null);
        const symbol = `${{ bitcoin: 'BTC', ethereum: 'ETH', solana: 'SOL', xrp: 'XRP' }[base]}USDT`;
        await setSeriesSources(database, seriesId, [{ source: profile, symbol, isArchive: false }]);
      }
    const environment = { ...environmentOf(parts, queue, url), WATCH_LIST: list };
    const processes = startProcesses(['scheduler', 'worker', 'worker'], environment);
    try {
      const firstOf = ({ simulator }: (typeof simulators)[number]) => simulator.requests().recent[0]?.atMs ?? null;
      for (;;) {
        processes.assertRunning();
        const firsts = simulators.map(firstOf);
        if (firsts.every((first) => first !== null && Date.now() >= first + seconds * 1000)) break;
        await delay(100);
      }
    } finally {
      await processes.stop();
    }
    return simulators.map(({ profile, simulator }) => {
      const counts = simulator.requests();
      const firstMs = counts.recent[0]?.atMs ?? 0;
      const requests = counts.recent.filter(({ atMs }) => atMs < firstMs + seconds * 1000).length;
      const { perMinute, cost } = budgets[profile];
      const allowed = (perMinute * seconds) / 60 / cost;
      return { queue, source: profile, allowed, requests, share: requests / allowed, refused: counts.refused };
    });
  } finally {
    await database.close();
    for (const { simulator } of simulators) await simulator.close();
    rmSync(directory, { recursive: true });
  }
}

function archiveText({ rows, rounds, lines }: ArchiveResult): string {
  return [
    `(k) sources: ${figure(rows)} minutes of one market from files of months, ${rounds} rounds, median (least to most)`,
    table(
      [
        { title: '', value: (line) => line.name },
        { title: 'rows/s', value: (line) => told(line.rowsPerSecond), right: true },
        { title: 'to COPY', value: (line) => told(line.toCopy, 2), right: true },
        { title: "worker's peak MB", value: (line) => (line.peakMb === null ? '' : figure(line.peakMb)), right: true },
      ],
      lines,
    ),
    'Every stored row was read back after each run and equals the source to the digit.',
  ].join('\n');
}

function sharesText(seconds: number, shares: readonly Share[]): string {
  return [
    `two sources at once, two workers, ${latencyMs} ms latency, ${seconds} s from the first request on`,
    table(
      [
        { title: 'queue', value: (share) => (share.queue === 'redis' ? 'Redis' : 'PostgreSQL') },
        { title: 'source', value: (share) => share.source },
        { title: 'allowed', value: (share) => figure(share.allowed), right: true },
        { title: 'requests', value: (share) => figure(share.requests), right: true },
        { title: 'share used', value: (share) => figure(share.share, 3), right: true },
        { title: 'refused', value: (share) => figure(share.refused), right: true },
      ],
      shares,
    ),
  ].join('\n');
}
