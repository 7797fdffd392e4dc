/** (e) The cost of queries: each is compared with another query for the same rows, in turns; and of the cookbook. */

import pg from 'pg';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import { rollupLevels } from '../../model/rollup-levels.ts';
import { table } from '../../scripts/output/table.ts';
import { timescaleVersion } from '../../store/timescale/extension.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { type BenchParts, withDatabase } from '../parts.ts';
import { figure, type Spread, spreadOf, told } from '../spread.ts';
import { chunksRead } from './chunks-read.ts';
import { cookbookText, measureCookbook } from './cookbook.ts';
import { functionsText, measureFunctions } from './functions.ts';
import { type Extent, type Loaded, load } from './load.ts';

const full: Extent & { rounds: number } = {
  markets: 20,
  days: 730,
  years: 11,
  latest: 1000,
  latestDays: 20,
  rounds: 15,
};
const quick: Extent & { rounds: number } = { markets: 5, days: 60, years: 11, latest: 100, latestDays: 20, rounds: 3 };

interface Question {
  readonly name: string;
  readonly sql: string;
  /** Another query for the same rows. */
  readonly beside: string;
  readonly besideSql: string;
}

interface Measured extends Question {
  readonly rows: number;
  readonly ms: Spread;
  readonly besideMs: Spread;
  readonly ratio: Spread;
}

export async function benchQueries(options: BenchOptions): Promise<BenchResult> {
  const { parts, isQuick, say } = options;
  const extent = isQuick ? quick : full;
  const compared = await withClient(parts, async (client, url) => {
    if ((await timescaleVersion(client)) === null) return null;
    const loaded = await load(client, url, extent, say);
    // As Tidemark's own sessions and viewers: compiling a plan of the view takes longer than most queries.
    await client.query('set jit = off');
    const questions = await questionsOn(client, loaded, extent);
    const measured: Measured[] = [];
    for (const question of questions) {
      measured.push(await measure(client, question, extent.rounds));
      say(`queries: ${question.name}: measured`);
    }
    const latest = await chunksRead(client, latestSql);
    const functions = await measureFunctions(client, loaded, say);
    const text = `${textOf(loaded, extent, measured, latest)}\n\n${functionsText(functions)}`;
    return { text, result: { extent, loaded, measured, latest, functions } };
  });
  if (compared === null) return { text: '(e) queries: not measured, as they need TimescaleDB', result: {} };
  const cookbook = await withClient(parts, (client, url) => measureCookbook(client, url, options));
  return { text: `${compared.text}\n\n${cookbookText(cookbook)}`, result: { ...compared.result, cookbook } };
}

/** Of a migrated database of its own. */
function withClient<Result>(
  parts: BenchParts,
  work: (client: pg.Client, url: string) => Promise<Result>,
): Promise<Result> {
  return withDatabase(parts, async (url) => {
    const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC -c datestyle=ISO' });
    await client.connect();
    try {
      return await work(client, url);
    } finally {
      await client.end();
    }
  });
}

const values = 'time, open, high, low, close, volume';
const latestSql = `select exchange, base, quote, time, close from latest_candles where interval = 'h1'`;

async function questionsOn(
  client: pg.Client,
  { toMs, minutes, sparse }: Loaded,
  { days }: Extent,
): Promise<Question[]> {
  for (const [name, { seriesId }] of Object.entries({ only_days: sparse, only_minutes: minutes })) {
    await client.query(
      `create table ${name} as select * from tidemark.candle_points where series_id = ${seriesId} order by time`,
    );
    await client.query(`alter table ${name} add primary key (series_id, time)`);
    await client.query(`vacuum analyze ${name}`);
  }
  const { exchange, baseId, quoteId } = minutes.series;
  const named = `exchange = '${exchange}' and base = '${baseId}' and quote = '${quoteId}'`;
  const called = `candles('${exchange}', '${baseId}', '${quoteId}', 'm1')`;
  const monthMs = toMs - Math.round(0.55 * days) * dayMs;
  const [since, until] = [at(monthMs), at(monthMs + 30 * dayMs)];
  const month = `time >= ${since} and time < ${until}`;
  const byId = `from tidemark.candle_points where series_id = ${minutes.seriesId}`;
  const bySeriesId = `series_id = tidemark.series_id('${exchange}', '${baseId}', '${quoteId}', 'm1')`;
  const lastDay = at(toMs - dayMs);
  const lastDays = at(toMs - 15 * dayMs);
  const panel = `(select array_agg(format('%s %s/%s', exchange_id, base_id, quote_id))
                  from (select * from tidemark.series where interval = 'h1' order by id limit 30) s)`;
  const daysOfPoints = `select time_bucket('1 day', time) as day, first(open, time), max(high), min(low), last(close,
      time), sum(volume)
                        ${byId} group by day`;
  return [
    {
      name: 'd1 over eleven years',
      sql: `select ${values} from tidemark.candle_points where series_id = ${sparse.seriesId} order by time`,
      beside: 'a plain table of that series alone',
      besideSql: `select ${values} from only_days where series_id = ${sparse.seriesId} order by time`,
    },
    {
      name: 'a month of m1',
      sql: `select ${values} ${byId} and ${month} order by time`,
      beside: 'a plain table of that series alone',
      besideSql: `select ${values} from only_minutes where series_id = ${minutes.seriesId} and ${month} order by time`,
    },
    {
      name: 'latest price of every hourly series',
      sql: latestSql,
      beside: 'distinct on over the points',
      besideSql: `select distinct on (p.series_id) s.exchange_id, s.base_id, s.quote_id, p.time, p.close
                  from tidemark.candle_points p join tidemark.series s on s.id = p.series_id
                  where s.interval = 'h1' order by p.series_id, p.time desc`,
    },
    {
      name: 'days of all m1, from the rollup',
      sql: `select ${values} from tidemark.rollup_d1 where series_id = ${minutes.seriesId}`,
      beside: 'from the points',
      besideSql: daysOfPoints,
    },
    {
      name: 'the same through the view',
      sql: `select ${values} from candles where ${named} and interval = 'd1'`,
      beside: 'from the points',
      besideSql: daysOfPoints,
    },
    {
      name: 'view: a month of m1, all columns',
      sql: `select ${values} from candles where ${named} and interval = 'm1' and ${month}`,
      beside: 'by id',
      besideSql: `select ${values} ${byId} and ${month}`,
    },
    {
      name: 'view: the same in order of time',
      sql: `select ${values} from candles where ${named} and interval = 'm1' and ${month} order by time`,
      beside: 'by id',
      besideSql: `select ${values} ${byId} and ${month} order by time`,
    },
    {
      name: 'view: highest, lowest and volume of all m1',
      sql: `select max(high), min(low), sum(volume) from candles where ${named} and interval = 'm1'`,
      beside: 'by id',
      besideSql: `select max(high), min(low), sum(volume) ${byId}`,
    },
    {
      name: 'view: the month at every interval',
      sql: `select interval, ${values} from candles where ${named} and ${month}`,
      beside: 'by id, each level',
      besideSql: [
        `select 'm1', ${values} ${byId} and ${month}`,
        ...rollupLevels.map(
          ({ interval, name }) =>
            `select '${interval}', ${values} from ${name} where series_id = ${minutes.seriesId} and ${month}`,
        ),
      ].join(' union all '),
    },
    {
      name: 'candles(): the newest ten m1',
      sql: `select ${values} from ${called} order by time desc limit 10`,
      beside: 'by id',
      besideSql: `select ${values} ${byId} order by time desc limit 10`,
    },
    {
      name: 'candles(): a month of m1 in order of time',
      sql: `select ${values} from ${called} where ${month} order by time`,
      beside: 'by id',
      besideSql: `select ${values} ${byId} and ${month} order by time`,
    },
    {
      name: 'candles(): highest, lowest and volume of all m1',
      sql: `select max(high), min(low), sum(volume) from ${called}`,
      beside: 'by id',
      besideSql: `select max(high), min(low), sum(volume) ${byId}`,
    },
    {
      name: 'series_id(): a month of m1 in order of time',
      sql: `select ${values} from tidemark.candle_points where ${bySeriesId} and ${month} order by time`,
      beside: 'by id',
      besideSql: `select ${values} ${byId} and ${month} order by time`,
    },
    {
      name: 'view: a panel of hourly markets, a day',
      sql: `select exchange, base, quote, ${values} from candles
            where interval = 'h1' and derived_from is null and time >= ${lastDay}`,
      beside: 'by ids',
      besideSql: `select exchange_id, base_id, quote_id, ${values}
                  from tidemark.candle_points p join tidemark.series s on s.id = p.series_id
                  where p.series_id = any ((select array_agg(id) from tidemark.series where interval = 'h1')::integer[])
                    and time >= ${lastDay}`,
    },
    {
      name: 'aligned(): thirty hourly markets, the last days, without an end',
      sql: `select * from aligned(${panel}, 'h1', ${lastDays})`,
      beside: 'with an end',
      besideSql: `select * from aligned(${panel}, 'h1', ${lastDays}, ${at(toMs)})`,
    },
    {
      name: 'ohlcv(): the month in order of time',
      sql: `select ${values} from ohlcv('${exchange}', '${baseId}', '${quoteId}', 'm1', ${since}, ${until})`,
      beside: 'by id',
      besideSql: `select ${values} ${byId} and ${month} order by time`,
    },
    ...costsOf(`'${exchange}', '${baseId}', '${quoteId}', 'm1'`, `'${exchange} ${baseId}/${quoteId}', 'm1'`, byId),
  ];
}

/** Every function of a line of points, over all minutes of a market, beside the reading of those points. */
function costsOf(market: string, series: string, byId: string): Question[] {
  const calls = [
    ...[`ohlcv(${market})`, `ohlcv(${market}, gap_fill => true)`, `vwap(${market})`, `prices(${series})`],
    ...['returns', 'volatility', 'drawdown', 'sma', 'ema', 'rsi', 'bollinger', 'seasonality_by_hour'].map(
      (name) => `${name}(${series})`,
    ),
    `maximum_drawdown(${series})`,
    `ohlcv_by(${market.replace(/'m1'$/, "'7 minutes'")})`,
  ];
  return calls.map((call) => ({
    name: `all m1 through ${call.slice(0, call.indexOf('('))}()${call.includes('gap_fill') ? ', filled' : ''}`,
    // The whole row, so that no column is left out.
    sql: `select count(f) from ${call} f`,
    beside: 'by id, in order of time',
    besideSql: `select count(p) from (select time, close ${byId} order by time offset 0) p`,
  }));
}

async function measure(client: pg.Client, question: Question, rounds: number): Promise<Measured> {
  const times: number[] = [];
  const besides: number[] = [];
  let rows = 0;
  // The first round warms the caches, and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const asked = await timed(client, question.sql);
    const beside = await timed(client, question.besideSql);
    if (asked.rows !== beside.rows)
      throw new Error(`${question.name}: ${asked.rows} rows, and ${beside.rows} ${question.beside}`);
    rows = asked.rows;
    if (round === 0) continue;
    times.push(asked.ms);
    besides.push(beside.ms);
  }
  return {
    ...question,
    rows,
    ms: spreadOf(times),
    besideMs: spreadOf(besides),
    ratio: spreadOf(times.map((ms, round) => ms / (besides[round] ?? ms))),
  };
}

/** Measured at the client, with every row read as text. */
async function timed(client: pg.Client, sql: string): Promise<{ ms: number; rows: number }> {
  const started = performance.now();
  const result = await client.query({ text: sql, rowMode: 'array' });
  return { ms: performance.now() - started, rows: result.rowCount ?? 0 };
}

function at(timeMs: EpochMs): string {
  return `timestamptz '${new Date(timeMs).toISOString()}'`;
}

function textOf(
  loaded: Loaded,
  extent: Extent & { rounds: number },
  measured: readonly Measured[],
  latest: { readonly read: number; readonly of: number },
): string {
  return [
    `(e) queries: ${figure(loaded.rows)} candles in one hypertable: m1 of ${extent.markets} markets over ` +
      `${extent.days} days, d1 of one over ` +
      `${extent.years} years, h1 of ${figure(extent.latest)} over ${extent.latestDays} days; ${extent.rounds} ` +
      'rounds, milliseconds at the client, median (least to most)',
    table(
      [
        { title: '', value: (line) => line.name },
        { title: 'rows', value: (line) => figure(line.rows), right: true },
        { title: 'ms', value: (line) => told(line.ms, 1), right: true },
        { title: 'beside', value: (line) => line.beside },
        { title: 'ms', value: (line) => told(line.besideMs, 1), right: true },
        { title: 'ratio', value: (line) => told(line.ratio, 3), right: true },
      ],
      measured,
    ),
    `The latest prices were read from ${latest.read} of ${latest.of} chunks of points.`,
  ].join('\n');
}
