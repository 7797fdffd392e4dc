/** What each function of docs/sql.md costs a million rows, beside reading them by id: all m1 of one or two markets. */

import type pg from 'pg';
import type { CandleSeries } from '../../model/series.ts';
import { table } from '../../scripts/output/table.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import type { Loaded } from './load.ts';

export interface Functions {
  /** Of the first market alone. */
  readonly rows: number;
  readonly rounds: number;
  readonly measured: readonly Cost[];
  /** What a BI tool sends on connecting, in milliseconds at the client. */
  readonly connecting: ReadonlyArray<{ readonly sql: string; readonly ms: Spread }>;
}

interface Cost {
  readonly name: string;
  /** Seconds at the server, of a million rows that it reads. */
  readonly seconds: Spread;
  /** To reading them by id, in the same round. */
  readonly ratio: Spread;
}

const rounds = 3;

export async function measureFunctions(
  client: pg.Client,
  { minutes, beside }: Loaded,
  say: (line: string) => void,
): Promise<Functions> {
  const rows = await pointsOf(client, minutes.seriesId);
  const both = rows + (await pointsOf(client, beside.seriesId));
  const all = callsOn(minutes, beside.series);
  const seconds = all.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [place, { name, sql, reads }] of all.entries()) {
      seconds[place]?.push((await secondsOf(client, sql)) / ((reads === 'both' ? both : rows) / 1e6));
      say(`queries: function ${name}, round ${round + 1}: measured`);
    }
  const [byId = []] = seconds;
  const measured = all.map(({ name }, place) => {
    const taken = seconds[place] ?? [];
    return { name, seconds: spreadOf(taken), ratio: spreadOf(taken.map((one, round) => one / (byId[round] ?? one))) };
  });
  return { rows, rounds, measured, connecting: await measureConnecting(client) };
}

const preview = 1000;
const sentOnConnecting = [
  `select table_name, column_name, data_type from information_schema.columns where table_schema = 'public'`,
  'select * from candles limit 0',
  `select * from candles limit ${preview}`,
  'select distinct exchange, base, quote, interval from coverage',
  `select sum(points), min(earliest), max(newest) from coverage where dataset = 'candles'`,
];

async function measureConnecting(client: pg.Client): Promise<Functions['connecting']> {
  const taken = sentOnConnecting.map((sql) => ({ sql, all: [] as number[] }));
  for (let round = 0; round < rounds; round += 1)
    for (const { sql, all } of taken) {
      const startedMs = performance.now();
      await client.query({ text: sql, rowMode: 'array' });
      all.push(performance.now() - startedMs);
    }
  return taken.map(({ sql, all }) => ({ sql, ms: spreadOf(all) }));
}

async function pointsOf(client: pg.Client, seriesId: number): Promise<number> {
  const { rows } = await client.query<{ points: string }>('select points from tidemark.series where id = $1', [
    seriesId,
  ]);
  return Number(rows[0]?.points);
}

/** Every column of every row is computed, and none is sent. */
async function secondsOf(client: pg.Client, sql: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ 'Planning Time': number; 'Execution Time': number }] }>(
    `explain (analyze, timing off, format json) ${sql}`,
  );
  const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
  if (plan === undefined) throw new Error('no plan');
  return (plan['Planning Time'] + plan['Execution Time']) / 1000;
}

interface Call {
  readonly name: string;
  readonly sql: string;
  /** Whose rows it reads. */
  readonly reads: 'one' | 'both';
}

/** By id first. */
function callsOn({ seriesId, series }: Loaded['minutes'], beside: CandleSeries): Call[] {
  const named = ({ exchange, baseId, quoteId }: CandleSeries) => `'${exchange} ${baseId}/${quoteId}'`;
  const market = `'${series.exchange}', '${series.baseId}', '${series.quoteId}'`;
  const [one, two] = [named(series), `${named(series)}, ${named(beside)}`];
  const single = (name: string, args: string): Call => ({ name, sql: `select * from ${name}(${args})`, reads: 'one' });
  const both = (name: string, args: string): Call => ({ name, sql: `select * from ${name}(${args})`, reads: 'both' });
  const values = 'time, open, high, low, close, volume';
  return [
    {
      name: 'by id, in order of time',
      sql: `select ${values} from tidemark.candle_points where series_id = ${seriesId} order by time`,
      reads: 'one',
    },
    single('candles', `${market}, 'm1'`),
    single('ohlcv', `${market}, 'm1'`),
    { ...single('ohlcv', `${market}, 'm1', gap_fill => true`), name: 'ohlcv, gap_fill' },
    single('ohlcv_by', `${market}, '7 minutes'`),
    single('volume_bars', `${market}, 1000`),
    single('dollar_bars', `${market}, 1000000`),
    single('prices', `${one}, 'm1'`),
    single('coverage_share', `${one}, 'm1'`),
    single('returns', `${one}, 'm1'`),
    single('volatility', `${one}, 'm1'`),
    single('drawdown', `${one}, 'm1'`),
    single('maximum_drawdown', `${one}, 'm1'`),
    single('sma', `${one}, 'm1'`),
    single('ema', `${one}, 'm1'`),
    single('rsi', `${one}, 'm1'`),
    single('bollinger', `${one}, 'm1'`),
    single('vwap', `${market}, 'm1'`),
    single('rolling', `${one}, '1 hour', 'm1'`),
    single('seasonality_by_hour', `${one}, 'm1'`),
    single('seasonality_by_weekday', `${one}, 'm1'`),
    single('candles_as_known_at', `${market}, 'm1', now()`),
    both('correlation', `${two}, 'm1'`),
    both('rolling_correlation', `${two}, 'm1'`),
    both('correlations', `array[${two}], 'm1'`),
    both('correlation_matrix', `array[${two}], 'm1'`),
    both('returns_panel', `array[${two}], 'm1'`),
    both('asof', `${two}, 'm1'`),
    both('aligned', `array[${two}], 'm1'`),
    both('aligned_wide', `array[${two}], 'm1'`),
    {
      name: 'prices_asof, a time for each row',
      sql: `select * from prices_asof(array[${one}], (select array_agg(time) from tidemark.candle_points
              where series_id = ${seriesId}))`,
      reads: 'one',
    },
    { name: 'quality', sql: `select * from quality where series_id = ${seriesId}`, reads: 'one' },
  ];
}

export function functionsText({ rows, rounds, measured, connecting }: Functions): string {
  return [
    `Functions over ${figure(rows)} m1 of one market, or of it and another; ${rounds} rounds, at the server, of a ` +
      'million rows that are read, median (least to most)',
    table(
      [
        { title: '', value: ({ name }) => name },
        { title: 'seconds', value: ({ seconds }) => told(seconds, 2), right: true },
        { title: 'to by id', value: ({ ratio }) => told(ratio, 1), right: true },
      ],
      measured,
    ),
    '\nWhat a BI tool sends on connecting, milliseconds at the client, median (least to most)',
    table(
      [
        { title: '', value: ({ sql }) => sql },
        { title: 'ms', value: ({ ms }) => told(ms, 1), right: true },
      ],
      connecting,
    ),
  ].join('\n');
}
