import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { afterAll, expect, it } from 'vitest';
import { decimalOf, fractionDigitsOf, unscaled } from '../../files/decimals/text.ts';
import { openRows, openRowWriter } from '../../files/formats.ts';
import { columnsOf, type FileFormat, fileFormats, type Layout, layouts } from '../../files/layout.ts';
import { isPoints, lengthOf, rowsOf as rowsOfPage } from '../../files/point-pages.ts';
import type { StoredDataset } from '../../model/stored-datasets.ts';
import { askDuckdb, describeNeedingDuckdb } from '../parts/duckdb.ts';
import { useStore } from '../store/open-store.ts';
import { copiedPoints, type Rows } from './copied-points.ts';

const store = useStore();
const directory = mkdtempSync(join(tmpdir(), 'tidemark-files-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/**
 * Plain decimals as NUMERIC gives them: any sign, any zeros at the end, and more digits than a double or DECIMAL has.
 */
const decimal = fc
  .tuple(fc.boolean(), fc.bigInt(0n, 10n ** 24n), fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 24 }))
  .map(([isNegative, whole, fraction]) => {
    const text = fraction === '' ? `${whole}` : `${whole}.${fraction}`;
    return isNegative && /[1-9]/.test(text) ? `-${text}` : text;
  });
/** Ids may hold anything that a database does. */
const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }),
  fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom(...'a",\r\n ;\\é{') }),
);
const time = fc.integer({ min: 0, max: Date.UTC(9999, 0) });

const decimalFor = ({ optional }: Layout, name: string) => (optional.includes(name) ? fc.option(decimal) : decimal);

function rowsOf(layout: Layout) {
  return fc.array(
    fc.record({
      names: fc.tuple(...layout.names.map((column) => (column === 'currency_symbol' ? fc.option(name) : name))),
      points: fc
        .uniqueArray(
          fc.record({ timeMs: time, values: fc.tuple(...layout.values.map((name) => decimalFor(layout, name))) }),
          { minLength: 1, maxLength: 8, selector: ({ timeMs }) => timeMs },
        )
        .map((points) => points.sort((a, b) => a.timeMs - b.timeMs)),
    }),
    { minLength: 1, maxLength: 4 },
  );
}

async function written(format: FileFormat, layout: Layout, rows: readonly Rows[]): Promise<string> {
  const pieces: Uint8Array[] = [];
  const digits = layout.values.map((_, place) => {
    const values = rows.flatMap(({ points }) => points.map(({ values }) => values[place] ?? '0'));
    return {
      beforePoint: Math.max(...values.map((text) => (text.replace('-', '').split('.')[0] ?? '').length)),
      afterPoint: Math.max(
        ...values.map((text) => fractionDigitsOf(text.includes('.') ? text.replace(/0+$/, '') : text)),
      ),
    };
  });
  const output = { write: async (bytes: Uint8Array) => void pieces.push(bytes) };
  const writer = await openRowWriter(format, { layout, digits, output });
  for (const { names, points } of rows) {
    let counted = 0;
    await writer.writeSeries(names, copiedPoints(store.database, layout, points, writer.takes), (read) => {
      counted += read;
    });
    expect(counted).toBe(points.length);
  }
  await writer.end();
  const path = join(directory, `rows.${format}`);
  writeFileSync(path, Buffer.concat(pieces));
  return path;
}

async function readBack(path: string, format: FileFormat, dataset: StoredDataset | null = null) {
  const file = await openRows(path, format, dataset);
  const rows = [];
  for await (const page of file.pages()) rows.push(...rowsOfPage(page));
  // A Parquet file says so before it is read.
  if (format === 'parquet') expect(file.rows).toBe(rows.length);
  return { dataset: file.layout.dataset, rows };
}

for (const format of fileFormats) {
  for (const layout of Object.values(layouts)) {
    it(`${format} gives back ${layout.dataset} to the digit, whatever the names hold`, async () => {
      await fc.assert(
        fc.asyncProperty(rowsOf(layout), async (rows) => {
          const path = await written(format, layout, rows);
          const read = await readBack(path, format, layout.dataset);
          const places = read.rows.map((row) => 'place' in row && row.place);
          if (format === 'parquet') expect(places).toEqual(places.map((_, at) => `row ${at + 1}`));
          expect({ ...read, rows: read.rows.map((row) => ({ ...row, place: undefined })) }).toEqual({
            dataset: layout.dataset,
            rows: rows.flatMap(({ names, points }) =>
              points.map(({ timeMs, values }) => ({ names, time: timeMs, values })),
            ),
          });
        }),
        { numRuns: 40 },
      );
    });
  }
}

it('refuses a file without a sidecar whose columns several datasets have', async () => {
  const path = join(directory, 'index.csv');
  writeFileSync(path, `${columnsOf(layouts.index_candles).join(',')}\n`);
  await expect(openRows(path, 'csv')).rejects.toThrow('of mark candles and of index candles and of premium candles');
  expect((await openRows(path, 'csv', 'index_candles')).layout.dataset).toBe('index_candles');
});

it('decimals survive the conversion to whole numbers, trailing zeros included', () => {
  fc.assert(
    fc.property(decimal, fc.nat(6), (text, more) => {
      const digits = fractionDigitsOf(text);
      expect(decimalOf(unscaled(text, digits + more), digits + more, digits)).toBe(text);
    }),
  );
});

it('rejects a decimal that does not fit its column, without rounding', () => {
  expect(unscaled('1.2300', 2)).toBe(123n);
  expect(() => unscaled('1.235', 2)).toThrow(RangeError);
});

it('reads CSV of other programs: quotes, CRLF, columns in another order', async () => {
  const path = join(directory, 'foreign.csv');
  writeFileSync(
    path,
    '\uFEFF"time","asset","price_usd","interval"\r\n"2024-01-31T06:00:00Z","bit""coin","1.10","m1"\r\n',
  );
  expect((await readBack(path, 'csv')).rows).toEqual([
    { names: ['bit"coin', 'm1'], time: Date.UTC(2024, 0, 31, 6), values: ['1.10'], place: 'line 2' },
  ]);
});

it.each([
  ...[
    '2024-01-31 06:00:00+00',
    '2024-01-31 06:00:00+00:00',
    '2024-01-31 08:00:00.000000+0200',
    '2024-01-31T06:00:00.000Z',
  ],
  ...['2024-01-31 06:00:00 UTC', '2024-01-31T06:00Z'],
])('reads the time that another program made of an exported one: %s', async (time) => {
  const path = join(directory, 'rewritten.csv');
  writeFileSync(path, `asset,interval,time,price_usd\nbitcoin,m1,${time},1.10\n`);
  const rows = [{ names: ['bitcoin', 'm1'], time: Date.UTC(2024, 0, 31, 6), values: ['1.10'], place: 'line 2' }];
  expect((await readBack(path, 'csv')).rows).toEqual(rows);
  const lines = join(directory, 'rewritten.jsonl');
  writeFileSync(lines, `${JSON.stringify({ asset: 'bitcoin', interval: 'm1', time, price_usd: '1.10' })}\n`);
  expect((await readBack(lines, 'jsonl')).rows).toEqual([{ ...rows[0], place: 'line 1' }]);
});

it.each(['2024-01-31 06:00:00', '2024-01-31', '1706680800000', '2024-01-31 06:00:00.000001+00', '31/01/2024 06:00Z'])(
  'leaves a time unread that may be of any zone, or is none: %s',
  async (time) => {
    const path = join(directory, 'rewritten.csv');
    writeFileSync(path, `asset,interval,time,price_usd\nbitcoin,m1,${time},1.10\n`);
    expect((await readBack(path, 'csv')).rows).toEqual([expect.objectContaining({ time })]);
  },
);

it('rejects a truncated last row', async () => {
  const whole = 'asset,interval,time,price_usd\nbitcoin,m1,2024-01-31T06:00:00Z,1.2345\n';
  for (let cut = whole.length - 1; cut > whole.indexOf('\n') + 1; cut -= 1) {
    const path = join(directory, 'cut.csv');
    writeFileSync(path, whole.slice(0, cut));
    expect((await readBack(path, 'csv')).rows).toEqual([
      { raw: whole.slice(whole.indexOf('\n') + 1, cut), reason: 'line 2: the file ends within this row' },
    ]);
  }
});

it.each([
  ['csv', 'a,b,c\n1,2,3\n', 'its columns are not those of an export'],
  ['csv', '', 'it has no header'],
  ['csv', Buffer.from([0x61, 0xff, 0x0a]), 'it is not UTF-8 text'],
  ['jsonl', 'not json\n', 'its first line is not a JSON object'],
  ['parquet', 'PAR1 but no more', ''],
] as const)('says what is wrong with a file that is no %s', async (format, content, reason) => {
  const path = join(directory, 'wrong');
  writeFileSync(path, content);
  await expect(readBack(path, format)).rejects.toMatchObject({
    code: 'FILE_NOT_USABLE',
    message: expect.stringContaining(reason),
  });
});

it('rejects a JSON number as a decimal', async () => {
  const path = join(directory, 'numbers.jsonl');
  writeFileSync(path, '{"asset":"bitcoin","interval":"m1","time":"2024-01-31T06:00:00Z","price_usd":1.1}\n');
  expect((await readBack(path, 'jsonl')).rows).toMatchObject([{ values: [null] }]);
});

const atMs = Date.UTC(2024, 0, 31, 6);

describeNeedingDuckdb('a Parquet file that another program wrote', () => {
  it.each(['zstd', 'gzip', 'lz4_raw', 'brotli', 'snappy', 'uncompressed'])(
    'is read to the digit, with decimals as integers and as bytes: %s',
    async (codec) => {
      const path = join(directory, 'others.parquet');
      await askDuckdb(`copy (
        select 'binance' as exchange, 'bitcoin' as base, 'tether' as quote, 'm1' as interval,
               make_timestamp(${atMs}000 + i * 60000000) as time, 1.05::decimal(9, 2) + i as open,
               12345678901234.5678::decimal(18, 4) as high, 0.12345678901234567891::decimal(38, 20) + i as low,
               '1.10' as close, 9007199254740993::bigint + i as volume
        from range(0, 3000) as t(i) order by i) to '${path}' (format parquet, codec '${codec}')`);
      const { rows } = await readBack(path, 'parquet');
      expect(rows[2999]).toMatchObject({
        time: atMs + 2999 * 60_000,
        values: ['3000.05', '12345678901234.5678', '2999.12345678901234567891', '1.10', '9007199254743992'],
      });
    },
  );
});

it('reads a decimal of bytes without a fixed length', async () => {
  const writer = new ByteWriter();
  const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
  const price: SchemaElement = { name: 'price_usd', type: 'BYTE_ARRAY' };
  const time: SchemaElement = { name: 'time', type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' };
  const columns = [{ name: 'asset', ...text }, { name: 'interval', ...text }, time, price];
  const schema = [{ name: 'root', num_children: 4 }, ...columns];
  const parquet = new ParquetWriter({ writer, schema, statistics: false });
  const cells = ['bitcoin', 'm1', BigInt(atMs), Uint8Array.of(0xff, 0xff, 0x01)];
  await parquet.write({ columnData: columns.map(({ name }, at) => ({ name, data: [cells[at]] })) });
  // The writer has no such decimals: the column becomes one afterwards.
  Object.assign(price, { converted_type: 'DECIMAL', precision: 9, scale: 2 });
  await parquet.finish();
  const path = join(directory, 'bytes.parquet');
  writeFileSync(path, Buffer.from(writer.getBuffer()));
  expect((await readBack(path, 'parquet')).rows).toMatchObject([{ time: atMs, values: ['-2.55'] }]);
});

it('reads lines of CSV from their bytes only if each text is the one that its value gives back', async () => {
  const path = join(directory, 'forms.csv');
  const row = (time: string, price: string) => `bitcoin,d1,${time},${price}`;
  const time = '2024-02-29T00:00:00Z';
  const plain = ['1', '0', '0.00', '-1.50', '0.0001', '-0.1', '100', `0.${'1'.repeat(198)}`].map((price) =>
    row(time, price),
  );
  const other = [
    ...['01', '-0', '-0.0', '1e5', '1.', '.5', '+1', ' 1', '', '"1"', `0.${'1'.repeat(199)}`].map((price) =>
      row(time, price),
    ),
    ...['2023-02-29T00:00:00Z', '2024-02-29T24:00:00Z', '2024-02-29T00:00:00.500Z', '0024-02-29T00:00:00Z', ''].map(
      (one) => row(one, '1'),
    ),
    `${row(time, '1')},2`,
    'bitcoin,d1',
  ];
  const write = (lines: readonly string[]) =>
    writeFileSync(path, ['asset,interval,time,price_usd', ...lines, ''].join('\r\n'));
  const pagesOf = async (lines: readonly string[]) => {
    write(lines);
    const pages = [];
    for await (const page of (await openRows(path, 'csv')).pages()) pages.push(page);
    return pages;
  };
  const [page, ...more] = await pagesOf(plain);
  expect(more).toEqual([]);
  expect(page !== undefined && isPoints(page)).toBe(true);
  for (const line of other) {
    const pages = await pagesOf([plain[0] ?? '', line, plain[0] ?? '']);
    expect(pages.map(isPoints), line).toEqual([true, false, true]);
    expect(pages.map(lengthOf)).toEqual([1, 1, 1]);
  }
});
