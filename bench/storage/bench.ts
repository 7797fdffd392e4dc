/** (d) The bytes of a row of each dataset: in row form, in the columnstore, and as the same rows in gzip CSV. */

import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type DatasetName, datasetOf } from '../../model/datasets/index.ts';
import { minuteMs, type Range } from '../../model/intervals.ts';
import { table } from '../../scripts/output/table.ts';
import { fundingEvents, positionsAt, premiumAt } from '../../simulator/derivatives.ts';
import { timescaleVersion } from '../../store/timescale/extension.ts';
import type { Candle } from '../../v2/resources.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { withDatabase } from '../parts.ts';
import { figure } from '../spread.ts';
import { runColumnstorePolicy } from '../timescale.ts';
import { benchRange, benchSeries, type Day, everyDay } from '../write/days.ts';
import { connect, copiedTime } from '../write/table.ts';
import { asTraded } from './as-traded.ts';

interface Sizes {
  readonly kind: string;
  readonly rows: number;
  /** Bytes of the table alone, with its indexes, of the columnstore with all its relations, and of gzip CSV. */
  readonly heap: number;
  readonly rowForm: number;
  readonly columnstore: number;
  readonly gzip: number;
}

interface Kind {
  readonly kind: string;
  readonly dataset: DatasetName;
  readonly columns: string;
  /** CSV of the values, by series and time. */
  lines(days: number): Generator<readonly Line[]>;
}
type Line = readonly [series: number, timeMs: number, ...values: readonly string[]];

const candleColumns = 'open, high, low, close, volume';
const priceColumns = 'open, high, low, close';

function* candleLines(days: number, lineOf: (day: Day, candle: Candle) => readonly string[]): Generator<Line[]> {
  for (const day of everyDay(days))
    yield day.rows.map((row) => [1 + benchSeries.indexOf(day.series), row.period, ...lineOf(day, row)]);
}
const pricesOf = ({ open, high, low, close }: Candle) => [open, high, low, close];

/** Perpetuals, each with the points of the whole range. */
function* marketLines(
  markets: number,
  days: number,
  linesOf: (market: string, range: Range) => ReadonlyArray<readonly [timeMs: number, ...values: readonly string[]]>,
): Generator<Line[]> {
  for (let market = 1; market <= markets; market += 1)
    yield linesOf(`M${market}USDT`, benchRange(days)).map((line): Line => [market, ...line]);
}

function timesOf({ startMs, endMs }: Range, everyMs: number): number[] {
  return Array.from({ length: (endMs - startMs) / everyMs }, (_, place) => startMs + place * everyMs);
}

const kinds: readonly Kind[] = [
  {
    ...{ kind: 'candles, as exchanges trade', dataset: 'candles', columns: candleColumns },
    lines: (days) =>
      candleLines(days, (day, row) => {
        const candle = asTraded(day.series, row);
        return [...pricesOf(candle), candle.volume];
      }),
  },
  {
    ...{ kind: 'candles, random to the last digit', dataset: 'candles', columns: candleColumns },
    lines: (days) => candleLines(days, (_, row) => [...pricesOf(row), row.volume]),
  },
  {
    ...{ kind: 'mark candles, 8 decimals sent', dataset: 'mark_candles', columns: priceColumns },
    lines: (days) =>
      candleLines(days, (day, row) => pricesOf(asTraded(day.series, row)).map((text) => text.slice(0, -8))),
  },
  {
    ...{ kind: 'premium candles', dataset: 'premium_candles', columns: priceColumns },
    lines: (days) =>
      marketLines(4, days, (market, range) =>
        timesOf(range, minuteMs).map((timeMs) => {
          const { open, high, low, close } = premiumAt(market, timeMs);
          return [timeMs, open, high, low, close];
        }),
      ),
  },
  {
    ...{ kind: 'funding, with mark prices', dataset: 'funding_rates' },
    columns: 'rate, interval_hours, delay_ms, mark_price',
    lines: (days) =>
      marketLines(800, days, (market, range) =>
        fundingEvents(market, range).map(({ timeMs, statedMs, rate }) => {
          const price = `${40_000 + Number(positionsAt(market, timeMs).amount.slice(-3)) * 9}.12340000`;
          return [timeMs, rate, '8', String(statedMs - timeMs), price];
        }),
      ),
  },
  {
    ...{ kind: 'open interest, with its value', dataset: 'open_interest', columns: 'amount, value' },
    lines: (days) =>
      marketLines(16, days, (market, range) =>
        timesOf(range, 5 * minuteMs).map((timeMs) => {
          const { amount } = positionsAt(market, timeMs);
          return [timeMs, amount, `${BigInt(amount.replace('.', '')) * 43n}.12340000`];
        }),
      ),
  },
  {
    ...{ kind: 'ratio of accounts, both shares', dataset: 'long_short_ratios' },
    columns: 'ratio, long_share, short_share',
    lines: (days) =>
      marketLines(16, days, (market, range) =>
        timesOf(range, 5 * minuteMs).map((timeMs) => {
          const { ratio, long, short } = positionsAt(market, timeMs);
          return [timeMs, ratio, long, short];
        }),
      ),
  },
];

export async function benchStorage({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const days = isQuick ? 40 : 180;
  const sizes: Sizes[] = [];
  for (const kind of kinds) {
    const measured = await withDatabase(parts, async (url) => {
      const client = await connect(url);
      try {
        return (await timescaleVersion(client)) === null ? null : await measure(client, days, kind);
      } finally {
        await client.end();
      }
    });
    if (measured === null) return { text: '(d) storage: not measured, as it needs TimescaleDB', result: {} };
    sizes.push(measured);
    say(`storage: ${kind.kind}: measured`);
  }
  return { text: textOf(days, sizes), result: { days, lines: sizes } };
}

async function measure(client: pg.Client, days: number, { kind, dataset, columns, lines }: Kind): Promise<Sizes> {
  const name = datasetOf(dataset).table;
  const target = client.query(copyFrom(`copy tidemark.${name} (series_id, time, ${columns}) from stdin (format csv)`));
  const zip = createGzip({ level: 6 });
  let gzip = 0;
  zip.on('data', (chunk: Buffer) => {
    gzip += chunk.length;
  });
  const zipped = new Promise((resolve) => zip.on('end', resolve));
  let rows = 0;
  for (const part of lines(days)) {
    rows += part.length;
    const text = part
      .map(([series, timeMs, ...values]) => `${[series, copiedTime(timeMs), ...values].join()}\n`)
      .join('');
    await Promise.all([written(target, text), written(zip, text)]);
  }
  const copied = new Promise((resolve, reject) => target.on('finish', resolve).on('error', reject));
  target.end();
  zip.end();
  await Promise.all([copied, zipped]);
  const before = await sizesOf(client, name);
  await runColumnstorePolicy(client, name);
  const after = await sizesOf(client, name);
  return { kind, rows, heap: before.heap, rowForm: before.total, columnstore: after.total, gzip };
}

function written(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

async function sizesOf(client: pg.Client, name: string): Promise<{ heap: number; total: number }> {
  const result = await client.query<{ heap: string; total: string }>(
    `select sum(table_bytes) as heap, sum(total_bytes) as total
     from hypertable_detailed_size(format('tidemark.%I', $1::text)::regclass)`,
    [name],
  );
  const [row] = result.rows;
  return { heap: Number(row?.heap), total: Number(row?.total) };
}

function textOf(days: number, lines: readonly Sizes[]): string {
  const each = (line: Sizes, bytes: number) => figure(bytes / line.rows, 1);
  return [
    `(d) storage: ${days} days of m1 of four markets, m5 of 16 and funding of 800; bytes a row`,
    table(
      [
        { title: 'points', value: (line) => line.kind },
        { title: 'rows', value: (line) => figure(line.rows), right: true },
        { title: 'heap', value: (line) => each(line, line.heap), right: true },
        { title: 'with indexes', value: (line) => each(line, line.rowForm), right: true },
        { title: 'columnstore', value: (line) => each(line, line.columnstore), right: true },
        { title: 'gzip CSV', value: (line) => each(line, line.gzip), right: true },
        { title: 'columnstore to heap', value: (line) => figure(line.columnstore / line.heap, 2), right: true },
        { title: 'to gzip CSV', value: (line) => figure(line.columnstore / line.gzip, 2), right: true },
      ],
      lines,
    ),
  ].join('\n');
}
