/** (i) Growth: what a change, a command and a query cost in stores of one, ten and a hundred million candles. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { pino } from 'pino';
import { systemClock } from '../../clock.ts';
import { decimalText } from '../../model/decimal.ts';
import { dayMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import { openQueueBackend } from '../../queue/backend.ts';
import { runPass } from '../../scheduler/pass.ts';
import { type Column, table } from '../../scripts/output/table.ts';
import { trackSeries } from '../../store/series/series.ts';
import { timescaleVersion } from '../../store/timescale/extension.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { timeToFirstState } from '../dashboard/bench.ts';
import { type BenchParts, environmentOf, withDatabase } from '../parts.ts';
import { cookbookQuestions } from '../queries/cookbook.ts';
import { startServing } from '../service/serving.ts';
import { figure, type Spread, spreadOf } from '../spread.ts';
import { commit } from './commit.ts';
import { candlesOf, endMs, load, nowMs, type Size, type Store, seriesOf, timeOf, yearsOfDays } from './load.ts';

const full = {
  sizes: [
    { markets: 10, days: 69 },
    { markets: 50, days: 138 },
    { markets: 200, days: 347 },
  ],
  rounds: 7,
  inTurn: 200,
};
const quick = { sizes: [4, 8, 16].map((markets) => ({ markets, days: 7 })), rounds: 2, inTurn: 10 };

interface Question {
  readonly names: readonly string[];
  /** Milliseconds, one for each name. @param round from 0; the first does not count. */
  readonly measure: (store: Store, round: number) => Promise<readonly number[]>;
}

interface Row {
  readonly name: string;
  readonly unit: 'ms' | 'bytes' | 'ratio';
  /** One for each store, from the smallest. */
  readonly figures: readonly number[];
  readonly spreads?: readonly Spread[];
}

const program = fileURLToPath(new URL('../../scripts/tidemark.js', import.meta.url));

export async function benchGrowth({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const { sizes, rounds, inTurn } = isQuick ? quick : full;
  return withStores(parts, sizes, say, async (stores) => {
    if (stores === null) return { text: '(i) growth: not measured, as it needs TimescaleDB', result: {} };
    const rows: Row[] = [
      {
        name: 'bytes a candle, points alone',
        unit: 'bytes',
        figures: stores.map(({ bytes, candles }) => bytes.points / candles),
      },
      {
        name: 'bytes a candle, with rollups',
        unit: 'bytes',
        figures: stores.map(({ bytes, candles }) => (bytes.points + bytes.rollups) / candles),
      },
      {
        name: 'bytes of the rollups beside the points',
        unit: 'ratio',
        figures: stores.map(({ bytes }) => bytes.rollups / bytes.points),
      },
      {
        name: 'first rollups, a million candles',
        unit: 'ms',
        figures: stores.map(({ firstRefreshMs, candles }) => (1e6 * firstRefreshMs) / candles),
      },
    ];
    for (const question of questionsOf(parts)) {
      rows.push(...(await inTurns(question, stores, rounds)));
      say(`growth: ${question.names[0]}: measured`);
    }
    const turns = await backfillInTurn(stores.at(-1) as Store, inTurn);
    return { text: textOf(stores, rounds, rows, turns), result: { sizes, rounds, rows, turns } };
  });
}

async function withStores<Result>(
  parts: BenchParts,
  [size, ...others]: readonly Size[],
  say: (line: string) => void,
  work: (stores: readonly Store[] | null) => Promise<Result>,
  loaded: readonly Store[] = [],
): Promise<Result> {
  if (size === undefined) return work(loaded);
  return withDatabase(parts, async (url) => {
    const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC -c datestyle=ISO' });
    await client.connect();
    try {
      if ((await timescaleVersion(client)) === null) return await work(null);
      const store = await load(client, url, size, say);
      try {
        return await withStores(parts, others, say, work, [...loaded, store]);
      } finally {
        await store.database.close();
      }
    } finally {
      await client.end();
    }
  });
}

/** Measures the stores in turns. A first round that fills caches does not count. */
async function inTurns({ names, measure }: Question, stores: readonly Store[], rounds: number): Promise<Row[]> {
  const taken = names.map(() => stores.map((): number[] => []));
  for (let round = 0; round <= rounds; round += 1)
    for (const [place, store] of stores.entries()) {
      const all = await measure(store, round);
      if (round > 0) for (const [which, ms] of all.entries()) taken[which]?.[place]?.push(ms);
    }
  return names.map((name, which) => {
    const spreads = (taken[which] ?? []).map(spreadOf);
    return { name, unit: 'ms', figures: spreads.map(({ median }) => median), spreads };
  });
}

function questionsOf(parts: BenchParts): Question[] {
  const alone = (name: string, ask: (store: Store) => Promise<unknown>): Question => ({
    names: [name],
    measure: async (store) => [await timeOf(() => ask(store))],
  });
  const change = (name: string, apply: (store: Store, round: number) => Promise<Change>): Question => ({
    names: [`${name}: commit`, `${name}: until its rollups agree`],
    async measure(store, round) {
      const { seriesId, commitMs } = await apply(store, round);
      // As `backfill` does for the series that it was given.
      const refresh = () => refreshRollups(store.database, { clock: systemClock, nowMs, seriesIds: [seriesId] });
      return [commitMs, await timeOf(refresh)];
    },
  });
  return [
    // Before the changes: question 12 looks at every revision.
    ...cookbookQuestions().map(({ title, statements }) =>
      alone(`cookbook ${title}`, (store) => answer(store, statements)),
    ),
    alone('tidemark status', (store) => command(parts, store, 'status')),
    alone('tidemark plan', (store) => command(parts, store, 'plan')),
    { names: ['a planning pass'], measure: async (store) => [await pass(parts, store)] },
    { names: ['first state of the dashboard'], measure: async (store) => [await firstState(parts, store)] },
    change('a late d1 series, three years', commitDays),
    change('one more month of one m1 series', commitMonth),
    change('a revision of one old day of m1', revise),
  ];
}

interface Change {
  readonly seriesId: number;
  readonly commitMs: number;
}

async function commitDays(store: Store, round: number): Promise<Change> {
  const series = seriesOf(1000 + round, 'd1');
  const range = { startMs: endMs - yearsOfDays * 365 * dayMs, endMs };
  const { seriesId } = await trackSeries(store.database, series, range.startMs, range.endMs);
  const rows = candlesOf(series, range);
  return { seriesId, commitMs: await timeOf(() => commit(store.database, { seriesId, series, range, rows })) };
}

/** Thirty windows of a day, one commit each. */
async function commitMonth(store: Store, round: number): Promise<Change> {
  const { series } = marketOf(store, round);
  const { seriesId } = await trackSeries(store.database, series, endMs - dayMs, endMs + 30 * dayMs);
  const windows = Array.from({ length: 30 }, (_, day) => ({
    startMs: endMs + day * dayMs,
    endMs: endMs + (day + 1) * dayMs,
  })).map((range) => ({ seriesId, series, range, rows: candlesOf(series, range) }));
  const commitMs = await timeOf(async () => {
    for (const window of windows) await commit(store.database, window);
  });
  return { seriesId, commitMs };
}

/** The volumes of a day in the columnstore change. */
async function revise(store: Store, round: number): Promise<Change> {
  const { seriesId, series } = marketOf(store, round);
  const range = { startMs: endMs - 5 * dayMs, endMs: endMs - 4 * dayMs };
  const rows = candlesOf(series, range).map((row) => ({ ...row, volume: decimalText(`1${row.volume}`) }));
  return { seriesId, commitMs: await timeOf(() => commit(store.database, { seriesId, series, range, rows })) };
}

/** Every round changes another market, as long as there are enough. */
function marketOf({ minutes }: Store, round: number): Store['minutes'][number] {
  const market = minutes[round % minutes.length];
  if (market === undefined) throw new Error('no market');
  return market;
}

/** Milliseconds from the start of the process to its end. */
async function command(parts: BenchParts, { url }: Store, name: string): Promise<number> {
  const env = { ...process.env, ...environmentOf(parts, 'postgres', url), SOURCE_URL: 'http://127.0.0.1:9/v2' };
  return timeOf(async () => {
    const child = spawn(process.execPath, [program, name], { env, stdio: 'ignore' });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`tidemark ${name} ended with ${code}`);
  });
}

async function pass(parts: BenchParts, { url, database }: Store): Promise<number> {
  const { QUEUE_NAMESPACE: namespace } = environmentOf(parts, 'postgres', url);
  const log = pino({ level: 'warn' });
  const queues = await openQueueBackend({ clock: systemClock, databaseUrl: url, namespace, attempts: 5, log });
  try {
    const context = {
      database,
      requests: queues.requests,
      source: { name: defaultSource, requestsPerMinute: 500 },
      rules: { backfillShare: 0.8, graceMs: 60_000, openRefreshMs: null },
    };
    return await timeOf(() => runPass(context, nowMs, 0));
  } finally {
    await queues.close();
  }
}

async function firstState(parts: BenchParts, { url }: Store): Promise<number> {
  const serving = await startServing(url, false, environmentOf(parts, 'postgres', url));
  try {
    return await timeToFirstState(new URL('/', serving.url).href);
  } finally {
    await serving.stop();
  }
}

async function answer({ database }: Store, statements: readonly string[]): Promise<void> {
  for (const sql of statements) await database.pool.query(sql);
}

/** Adds hourly series one after the other, each with its rollups. @returns milliseconds of each. */
async function backfillInTurn(store: Store, count: number): Promise<number[]> {
  const range = { startMs: endMs - 40 * dayMs, endMs };
  const taken: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const series = seriesOf(2000 + turn, 'h1');
    const { seriesId } = await trackSeries(store.database, series, range.startMs, range.endMs);
    const rows = candlesOf(series, range);
    taken.push(
      await timeOf(async () => {
        await commit(store.database, { seriesId, series, range, rows });
        await refreshRollups(store.database, { clock: systemClock, nowMs, seriesIds: [seriesId] });
      }),
    );
  }
  return taken;
}

function textOf(stores: readonly Store[], rounds: number, rows: readonly Row[], turns: readonly number[]): string {
  const shown = (row: Row, place: number) => {
    const digits = row.unit === 'ratio' ? 3 : 1;
    const spread = row.spreads?.[place];
    const range = spread === undefined ? '' : ` (${figure(spread.least, digits)} to ${figure(spread.most, digits)})`;
    return `${figure(row.figures[place] ?? Number.NaN, digits)}${range}`;
  };
  const growth = ({ figures }: Row) => figure((figures.at(-1) ?? Number.NaN) / (figures[0] ?? Number.NaN), 2);
  const columns: Column<Row>[] = [
    { title: '', value: ({ name }) => name },
    { title: '', value: ({ unit }) => unit },
    ...stores.map(({ candles }, place) => ({
      title: `${figure(candles / 1e6, 1)} million`,
      value: (row: Row) => shown(row, place),
      right: true,
    })),
    { title: 'growth', value: growth, right: true },
  ];
  const part = Math.max(1, Math.floor(turns.length / 10));
  const [first, last] = [spreadOf(turns.slice(0, part)).median, spreadOf(turns.slice(-part)).median];
  return [
    '(i) growth: stores of ' +
      `${stores.map(({ size }) => `${size.markets} m1 series over ${size.days} days`).join(', ')}, a fifth as many ` +
      'of h1 and ' +
      `of d1, and the synthetic year of the documentation; ${rounds} rounds in turns, median (least to most)`,
    table(columns, rows),
    '',
    `${turns.length} more h1 series of 40 days, one after the other in the largest store, each with its rollups: ` +
      'the first tenth takes ' +
      `${figure(first, 1)} ms a series, the last ${figure(last, 1)} ms, ${figure(last / first, 2)} times as long`,
  ].join('\n');
}
