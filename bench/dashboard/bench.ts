/** (g) The dashboard: the cost of its answers over much data, and over little. */

import pg from 'pg';
import { chartInterval, maxPeriods } from '../../dashboard/chart-intervals.ts';
import { dayMs, hourMs, intervalMs, periodStart } from '../../model/intervals.ts';
import { table } from '../../scripts/output/table.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { environmentOf, withDatabase } from '../parts.ts';
import { startServing } from '../service/serving.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import { type Charted, type Extent, load } from './load.ts';
import { measurePage, pageText } from './page.ts';

const full = { much: { points: 5_000_000, series: 1000 }, little: { points: 50_000, series: 10 }, rounds: 40 };
const quick = { much: { points: 300_000, series: 100 }, little: { points: 50_000, series: 10 }, rounds: 5 };
/** Series on one page of the overview, and columns of a band. */
const shown = 50;
const columns = 240;

type Question = (charted: Charted) => string;

/** The requests of the page. */
const questions: Readonly<Record<string, Question>> = {
  'bands of the overview': () =>
    `bands?ids=${Array.from({ length: shown }, (_, place) => place + 1).join(',')}&columns=${columns}`,
  problems: () => 'problems',
  'facts of the series': ({ seriesId }) => `series/${seriesId}`,
  'chart, the newest day': (charted) => chart(charted, dayMs),
  'chart, the newest month': (charted) => chart(charted, 30 * dayMs),
  'chart, all there is': (charted) => chart(charted, charted.endMs - charted.startMs),
};

function chart({ seriesId, endMs }: Charted, spanMs: number): string {
  const interval = chartInterval('m1', spanMs, maxPeriods - 4);
  const toMs = periodStart(endMs, interval);
  const fromMs = periodStart(toMs - spanMs, interval) + intervalMs[interval];
  return `series/${seriesId}/points?interval=${interval}&from=${fromMs}&to=${toMs}`;
}

interface Side {
  readonly extent: Extent;
  readonly charted: Charted;
  readonly url: string;
  /** The time to the first state of the stream from a new service. */
  firstState(): Promise<number>;
}

interface Measured {
  readonly name: string;
  readonly muchMs: Spread;
  readonly littleMs: Spread;
  readonly ratio: Spread;
}

export async function benchDashboard({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const { much, little, rounds } = isQuick ? quick : full;
  const endMs = periodStart(Date.now() - hourMs, 'h1');
  const onSide = <Result>(extent: Extent, work: (side: Side) => Promise<Result>) =>
    withDatabase(parts, async (url) => {
      const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
      await client.connect();
      try {
        const charted = await load(client, url, extent, endMs);
        say(`dashboard: ${figure(extent.points)} points and ${figure(extent.series)} series are loaded`);
        const start = () => startServing(url, false, environmentOf(parts, 'postgres', url));
        const serving = await start();
        try {
          return await work({
            extent,
            charted,
            url: pageOf(serving.url),
            async firstState() {
              const begun = await start();
              try {
                return await timeToFirstState(pageOf(begun.url));
              } finally {
                await begun.stop();
              }
            },
          });
        } finally {
          await serving.stop();
        }
      } finally {
        await client.end();
      }
    });
  const { measured, page } = await onSide(much, async (large) => ({
    measured: await onSide(little, (small) => measureAll(large, small, rounds, say)),
    page: await measurePage(large.url, large.charted.seriesId),
  }));
  return {
    text: `${textOf(measured, much, little)}\n\n${pageText(page)}`,
    result: { much, little, rounds, measured, page },
  };
}

async function measureAll(much: Side, little: Side, rounds: number, say: (line: string) => void): Promise<Measured[]> {
  const all = [
    await inTurns('the state, first of the stream', Math.ceil(rounds / 8), [
      () => much.firstState(),
      () => little.firstState(),
    ]),
  ];
  for (const [name, question] of Object.entries(questions)) {
    const time = (side: Side) => () => timeOf(`${side.url}dashboard/${question(side.charted)}`);
    all.push(await inTurns(name, rounds, [time(much), time(little)]));
    say(`dashboard: ${name}: measured`);
  }
  return all;
}

/** Measures in turns. A first round that fills caches does not count. */
async function inTurns(
  name: string,
  rounds: number,
  [much, little]: readonly [() => Promise<number>, () => Promise<number>],
): Promise<Measured> {
  const taken: Array<{ muchMs: number; littleMs: number }> = [];
  for (let round = 0; round <= rounds; round += 1) taken.push({ muchMs: await much(), littleMs: await little() });
  const counted = taken.slice(1);
  return {
    name,
    muchMs: spreadOf(counted.map(({ muchMs }) => muchMs)),
    littleMs: spreadOf(counted.map(({ littleMs }) => littleMs)),
    ratio: spreadOf(counted.map(({ muchMs, littleMs }) => muchMs / littleMs)),
  };
}

function pageOf(serviceUrl: string): string {
  return new URL('/', serviceUrl).href;
}

/** Milliseconds to the end of the answer. @throws Error unless its status is 200. */
async function timeOf(url: string): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return performance.now() - startedMs;
}

export async function timeToFirstState(page: string): Promise<number> {
  const over = new AbortController();
  const startedMs = performance.now();
  const response = await fetch(`${page}dashboard/events`, { signal: over.signal });
  if (!response.ok || response.body === null) throw new Error(`no stream: ${response.status}`);
  const decoder = new TextDecoder();
  let hasData = false;
  let rest = '';
  try {
    for await (const piece of response.body) {
      rest += decoder.decode(piece, { stream: true });
      const begin = hasData ? 0 : rest.indexOf('\ndata:');
      if (begin < 0) continue;
      hasData = true;
      // An event ends at an empty line, of which one half may be here.
      if (rest.includes('\n\n', begin)) return performance.now() - startedMs;
      rest = rest.slice(-1);
    }
  } finally {
    over.abort();
  }
  throw new Error('the stream ended before its first state');
}

function textOf(measured: readonly Measured[], much: Extent, little: Extent): string {
  const sizeOf = ({ points, series }: Extent) => `${figure(points)} points, ${figure(series)} series`;
  return [
    `(g) dashboard: milliseconds to the end of an answer; much: ${sizeOf(much)}; little: ${sizeOf(little)}`,
    table(
      [
        { title: '', value: (row: Measured) => row.name },
        { title: 'much, ms', value: (row) => told(row.muchMs, 1), right: true },
        { title: 'little, ms', value: (row) => told(row.littleMs, 1), right: true },
        { title: 'ratio', value: (row) => told(row.ratio, 2), right: true },
      ],
      measured,
    ),
  ].join('\n');
}
