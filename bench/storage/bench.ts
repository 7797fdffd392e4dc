/** (d) The bytes of a candle: in row form, in the columnstore, and as the same rows in gzip CSV. */

import { createGzip } from 'node:zlib';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { table } from '../../scripts/output/table.ts';
import { timescaleVersion } from '../../store/timescale/extension.ts';
import type { Candle } from '../../v2/resources.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { withDatabase } from '../parts.ts';
import { figure } from '../spread.ts';
import { runColumnstorePolicy } from '../timescale.ts';
import { type Day, everyDay } from '../write/days.ts';
import { copiedColumns, copiedTime, track } from '../write/table.ts';
import { asTraded } from './as-traded.ts';

interface Sizes {
  readonly digits: string;
  readonly rows: number;
  /** Bytes of the table alone, with its indexes, of the columnstore with all its relations, and of gzip CSV. */
  readonly heap: number;
  readonly rowForm: number;
  readonly columnstore: number;
  readonly gzip: number;
}

const kinds: ReadonlyArray<{ digits: string; shape: (day: Day, candle: Candle) => Candle }> = [
  { digits: 'as exchanges trade', shape: (day, candle) => asTraded(day.series, candle) },
  { digits: 'random to the last', shape: (_, candle) => candle },
];

export async function benchStorage({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const days = isQuick ? 40 : 180;
  const lines: Sizes[] = [];
  for (const { digits, shape } of kinds) {
    const sizes = await withDatabase(parts, async (url) => {
      const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC -c datestyle=ISO' });
      await client.connect();
      try {
        if ((await timescaleVersion(client)) === null) return null;
        return await measure(client, await track(url, days), { days, digits, shape });
      } finally {
        await client.end();
      }
    });
    if (sizes === null) return { text: '(d) storage: not measured, as it needs TimescaleDB', result: {} };
    lines.push(sizes);
    say(`storage: ${digits}: measured`);
  }
  return { text: textOf(days, lines), result: { days, lines } };
}

async function measure(
  client: pg.Client,
  seriesIds: readonly number[],
  { days, digits, shape }: { days: number } & (typeof kinds)[number],
): Promise<Sizes> {
  const target = client.query(copyFrom(`copy tidemark.candle_points (${copiedColumns}) from stdin (format csv)`));
  const zip = createGzip({ level: 6 });
  let gzip = 0;
  zip.on('data', (chunk: Buffer) => {
    gzip += chunk.length;
  });
  const zipped = new Promise((resolve) => zip.on('end', resolve));
  let rows = 0;
  let at = 0;
  for (const day of everyDay(days)) {
    const seriesId = seriesIds[Math.floor(at / days)] ?? 0;
    at += 1;
    rows += day.rows.length;
    const text = day.rows
      .map((row) => shape(day, row))
      .map(
        ({ period, open, high, low, close, volume }) =>
          `${seriesId},${copiedTime(period)},${open},${high},${low},${close},${volume}\n`,
      )
      .join('');
    await Promise.all([written(target, text), written(zip, text)]);
  }
  const copied = new Promise((resolve, reject) => target.on('finish', resolve).on('error', reject));
  target.end();
  zip.end();
  await Promise.all([copied, zipped]);
  const before = await sizesOf(client);
  await runColumnstorePolicy(client, 'candle_points');
  const after = await sizesOf(client);
  return { digits, rows, heap: before.heap, rowForm: before.total, columnstore: after.total, gzip };
}

function written(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

async function sizesOf(client: pg.Client): Promise<{ heap: number; total: number }> {
  const result = await client.query<{ heap: string; total: string }>(
    `select sum(table_bytes) as heap, sum(total_bytes) as total
     from hypertable_detailed_size('tidemark.candle_points')`,
  );
  const [row] = result.rows;
  return { heap: Number(row?.heap), total: Number(row?.total) };
}

function textOf(days: number, lines: readonly Sizes[]): string {
  const each = (line: Sizes, bytes: number) => figure(bytes / line.rows, 1);
  return [
    `(d) storage: ${days} days of m1 of four markets, ${figure(lines[0]?.rows ?? 0)} candles; bytes a candle`,
    table(
      [
        { title: 'digits', value: (line) => line.digits },
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
