import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { openCandleFile } from '../../files/candle-file.ts';
import type { CandleFormat, CandleFormatName } from '../../files/candle-formats.ts';
import type { FileRow } from '../../files/layout.ts';
import { formatOfColumns } from '../../files/named-columns.ts';
import { isPoints, rowsOf } from '../../files/point-pages.ts';
import type { CandleInterval } from '../../model/datasets/candles.ts';
import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import { zipOf } from './zip-of.ts';

const directory = mkdtempSync(join(tmpdir(), 'tidemark-candles-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const startMs = Date.UTC(2024, 4, 1);
const minute = (index: number): EpochMs => startMs + index * minuteMs;
const range = (from: number, to: number) => ({ startMs: minute(from), endMs: minute(to) });

/** A row of the archive, with a number of zeros that no double keeps. */
function kline(index: number, { unit = 1, close = '1.50000000' } = {}): string {
  const closesAt = unit === 1 ? minute(index + 1) - 1 : minute(index + 1) * unit - 1;
  return `${minute(index) * unit},1.10000000,2.00000000,1.00000000,${close},36304.20000000,${closesAt},54456.3,79,1.0,0.5,0`;
}
const trades = (index: number) => `${minute(index) / 1000},1.1,2.0,1.0,1.5,0.12345678901234567890,3`;
const shown = (index: number, unit = 1000) =>
  `${minute(index) / unit},${new Date(minute(index)).toISOString().slice(0, 19).replace('T', ' ')},BTC/USDT,1.10,2.0,1.0,1.5,7.0000,11.2,9`;
const site = 'https://www.CryptoDataDownload.com';
const header = 'unix,date,symbol,open,high,low,close,Volume BTC,Volume USDT,tradecount';
const fetched = (index: number) => `[${minute(index)}, 1.10, 2e0, 1.0, 1.500, 7.0]`;

async function read(
  format: CandleFormatName | CandleFormat,
  content: string | Buffer,
  { name = 'file.csv', interval = 'm1' as CandleInterval } = {},
) {
  const path = join(directory, name);
  writeFileSync(path, content);
  const series = { dataset: 'candles', exchange: 'x', baseId: 'btc', quoteId: 'usdt', interval } as const;
  const file = await openCandleFile(path, { format, series, beforePage: () => {} });
  const placed: FileRow[] = [];
  for await (const page of file.pages()) placed.push(...(rowsOf(page) as FileRow[]));
  expect(placed).toHaveLength(file.rows);
  const rows = placed.map(({ names, time, values }) => ({ names, time, values }));
  return { rows, placed, covered: file.covered, notes: file.notes, unit: file.unit };
}
const lines = (...all: string[]) => `${all.join('\n')}\n`;
const list = (...all: string[]) => `[\n${all.join(',\n')}\n]`;
const names = ['x', 'btc', 'usdt', 'm1'];

const month = 'BTCUSDT-1m-2024-05.csv';
const ofPart = expect.stringMatching(/^its name states the time up to 2024-06-01, and its rows end at/);

describe('a line of CSV', () => {
  const row = (index: number, volume: string, turnover: string) =>
    `${minute(index) / 1000},1.10,2.0,1.0,1.5,${volume},${turnover}`;
  const columns = { time: '1', open: '2', high: '3', low: '4', close: '5', volume: '6', turnover: '7' };

  it.each([
    ['7.0', '11.2', true],
    ['0', '0', true],
    ['0.00000001', '0.0000', false],
    ['7.0', '20.1', false],
    ['7.0', '14.141', false],
    ['07.0', '11.2', false],
    ['-0', '0', false],
    ['7e0', '11.2', false],
    ['7.', '11.2', false],
    ['', '11.2', false],
    ['7.0', '', false],
    ['"7.0"', '11.2', false],
    [' 7.0', '11.2', false],
    [`0.${'1'.repeat(199)}`, '0.2', false],
  ])('is read from its bytes if it has the plain form: volumes %s and %s', async (volume, turnover, isPlain) => {
    const path = join(directory, 'forms.csv');
    const all = [
      row(0, '1', '1.5'),
      row(1, '1', '1.5'),
      row(2, volume, turnover),
      row(3, '1', '1.5'),
      row(4, '1', '1.5'),
    ];
    writeFileSync(path, lines(...all));
    const series = { dataset: 'candles', exchange: 'x', baseId: 'btc', quoteId: 'usdt', interval: 'm1' } as const;
    const file = await openCandleFile(path, { format: formatOfColumns(columns), series, beforePage: () => {} });
    const pages = [];
    for await (const page of file.pages()) pages.push(page);
    // The newest row may be open.
    const expected = isPlain ? [true, false] : [true, false, true, false];
    expect(pages.map(isPoints)).toEqual(expected);
    expect(pages.flatMap(rowsOf).map((one) => 'place' in one && [one.place, one.time])).toEqual(
      all.map((_, index) => [`line ${index + 1}`, minute(index)]),
    );
    expect(pages.flatMap(rowsOf)[2]).toMatchObject({
      values: ['1.10', '2.0', '1.0', '1.5', volume.replace(/[" ]/g, '') || null],
    });
  });
});

describe('binance', () => {
  it.each([
    ['milliseconds', 1, ''],
    ['microseconds', 1000, ''],
    [
      'a header',
      1,
      'open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore\n',
    ],
  ])('reads every digit: %s', async (_, unit, heading) => {
    const text = heading + lines(kline(0, { unit }), kline(1, { unit }));
    const { rows, covered, notes } = await read('binance', text, { name: month });
    const values = ['1.10000000', '2.00000000', '1.00000000', '1.50000000', '36304.20000000'];
    expect(rows).toEqual([
      { names, time: minute(0), values },
      { names, time: minute(1), values },
    ]);
    expect({ covered, notes }).toEqual({ covered: [range(0, 2)], notes: [ofPart] });
  });

  it('reads a ZIP file and says what is wrong with one', async () => {
    const name = 'BTCUSDT-1m-2024-05-01.zip';
    const text = lines(kline(0), kline(1));
    const whole = zipOf({ 'BTCUSDT-1m-2024-05-01.csv': text });
    const beside = zipOf({ 'a/': '', 'a/BTCUSDT-1m-2024-05-01.CSV': text, 'readme.txt': 'x', '__MACOSX/._a.csv': 'x' });
    for (const good of [whole, beside]) expect((await read('binance', good, { name })).covered).toEqual([range(0, 2)]);
    const directoryAt = whole.indexOf('PK\x01\x02');
    const [damaged, otherMethod] = [Buffer.from(whole), Buffer.from(whole)];
    damaged.writeUInt32LE(0, directoryAt + 16);
    await expect(read('binance', damaged, { name })).rejects.toThrow('does not have the checksum');
    otherMethod.writeUInt16LE(12, directoryAt + 10);
    await expect(read('binance', otherMethod, { name })).rejects.toThrow('compressed by method 12');
    for (const wrong of [zipOf({ 'a.txt': text }), zipOf({ 'a.csv': text, 'b.csv': text })])
      await expect(read('binance', wrong, { name })).rejects.toThrow(/it has [02] CSV files, not one/);
    await expect(read('binance', whole.subarray(0, -30), { name })).rejects.toThrow();
    for (const [packing, ending] of Object.entries({ ZIP: 'zip', gzip: 'csv.gz', Zstandard: 'csv.zst' }))
      await expect(read('binance', text, { name: `a.${ending}` })).rejects.toThrow(`is not a ${packing} file`);
  });

  it('rejects rows whose two volumes contradict one another, and says where the columns seem exchanged', async () => {
    const exchange = (index: number) => kline(index).replace('36304.20000000', '7.5').replace('54456.3', '5.0');
    const rows = [kline(0), exchange(1), exchange(2), exchange(3), '', kline(4), exchange(5)];
    const { placed, notes } = await read('binance', lines(...rows), { name: month });
    expect(placed.flatMap(({ place, problem }) => (problem === undefined ? [] : [place]))).toEqual([
      'line 2',
      'line 3',
      'line 4',
      'line 7',
    ]);
    expect(notes).toEqual(['its two columns of volume seem exchanged from line 2 to line 4', ofPart]);
  });

  it('covers no period without a row: the archive has files that lack rows', async () => {
    const text = lines(kline(0), kline(1), kline(5), kline(6));
    expect((await read('binance', text, { name: month })).covered).toEqual([range(0, 2), range(5, 7)]);
  });

  it('does not cover the newest row when the name does not say that the archive made the file', async () => {
    const { placed, covered, notes } = await read('binance', lines(kline(0), kline(1), kline(2)));
    expect(placed.map(({ mayBeOpen = false }) => mayBeOpen)).toEqual([false, false, true]);
    expect(covered).toEqual([range(0, 2)]);
    expect(notes).toEqual([
      'its newest row, 2024-05-01 00:02Z, is not covered: it may have been open when the file was made',
    ]);
  });

  it('keeps rows that begin at no full minute, as after an outage, for the quarantine', async () => {
    const late = kline(1).replace(`${minute(1)}`, `${minute(1) + 14_789}`);
    const { rows, covered } = await read('binance', lines(kline(0), late, kline(2)), { name: month });
    expect(rows).toMatchObject([{ time: minute(0) }, { time: minute(1) + 14_789 }, { time: minute(2) }]);
    expect(covered).toEqual([range(0, 3)]);
  });

  it.each<[string, string, { name?: string; interval?: CandleInterval }, string]>([
    ['a column too few', lines(kline(0), '1,2,3'), {}, 'line 2: it has 3 columns, not 12'],
    ['unknown columns', lines('time,open', kline(0)), {}, 'line 1: unknown columns for binance: time,open'],
    [
      'seconds',
      lines(kline(0).replace(`${minute(0)}`, `${minute(0) / 1000}`)),
      {},
      'line 1: its time 1714521600 is in seconds, and binance has milliseconds or microseconds',
    ],
    [
      'two units',
      lines(kline(0), kline(1, { unit: 1000 })),
      {},
      'line 2: its time 1714521660000000 is in microseconds, and that of the rows before in milliseconds',
    ],
    [
      'rows of a finer interval',
      lines(kline(0), kline(1)),
      { interval: 'h1' },
      'line 2: 2024-05-01 00:01Z, from 1714521660000 as milliseconds, does not start a period of h1',
    ],
    ['an interval that the name contradicts', lines(kline(0)), { name: 'A-1h-2024-05.csv.gz' }, 'its name states'],
    ['rows of another month', lines(kline(0)), { name: 'A-1m-2024-04.csv' }, 'line 1: 2024-05-01 lies outside'],
    ['days as weeks', lines(kline(0)), { interval: 'w1' }, 'begin on Monday, and it is a Wednesday'],
    [
      'two rows of one period that differ',
      lines(kline(0), kline(0, { close: '1.6' })),
      {},
      'line 2: 2024-05-01 is not after the row above it',
    ],
    ['no rows', '', {}, 'it has no rows'],
  ])('refuses %s, with the line', async (_, text, options, message) => {
    await expect(read('binance', text, options)).rejects.toThrow(message);
  });
});

describe('kraken', () => {
  it('covers from the first row to the last: a minute without a row had no trade', async () => {
    const { rows, covered, notes } = await read('kraken', lines(trades(0), trades(1), trades(90)));
    expect(rows[2]).toEqual({
      names,
      time: minute(90),
      values: ['1.1', '2.0', '1.0', '1.5', '0.12345678901234567890'],
    });
    expect({ covered, notes }).toEqual({ covered: [range(0, 91)], notes: [] });
  });

  it('reads a file with a header of the documented columns', async () => {
    const header = 'time,open,high,low,close,volume,trades';
    const row = '1714521660 , 1.23457E12, 1e+16, 1.5E-7, 1e-07, 1.23456789E+16, 3';
    const { rows, covered } = await read('kraken', lines(header, trades(0), row));
    expect(rows[1]).toMatchObject({ values: row.split(', ').slice(1, 6) });
    expect(covered).toEqual([range(0, 2)]);
    await expect(read('kraken', lines(header, header))).rejects.toThrow('line 2: "time" is not a time');
  });

  it('refuses hours as minutes, unless the name of the file states its interval', async () => {
    const text = lines(trades(0), trades(60), trades(120));
    await expect(read('kraken', text)).rejects.toThrow('no two rows are one m1 apart');
    await expect(read('kraken', text, { name: 'XBTUSD_60.csv' })).rejects.toThrow('its name states another');
    // A thin market.
    expect((await read('kraken', text, { name: 'XBTUSD_1.csv' })).covered).toEqual([range(0, 121)]);
    expect((await read('kraken', text, { name: 'XBTUSD_60.csv', interval: 'h1' })).covered).toEqual([range(0, 180)]);
  });

  it.each([
    ['milliseconds', trades(0).replace(/^\d+/, `${minute(0)}`), 'line 1: its time 1714521600000 is in mill'],
    ['a time off the grid', trades(0).replace(/^\d+/, '1714521630'), 'line 1: 2024-05-01 00:00:30Z, from'],
  ])('refuses %s, with the line', async (_, text, message) => {
    await expect(read('kraken', lines(text))).rejects.toThrow(message);
  });
});

describe('cryptodatadownload', () => {
  it.each([
    ['seconds', 1000],
    ['milliseconds', 1],
  ])('reads descending rows, %s, and does not cover the newest', async (_, unit) => {
    const text = lines(site, header, ...[5, 5, 4, 2, 2, 1, 0].map((index) => shown(index, unit)));
    const { rows, placed, covered, notes } = await read('cryptodatadownload', text);
    expect(notes).toContain('2 rows are given twice, equal');
    expect(placed.at(-1)).toMatchObject({ mayBeOpen: true });
    expect(rows.map((row) => 'time' in row && row.time)).toEqual([0, 1, 2, 4, 5].map(minute));
    expect(rows[0]).toMatchObject({ values: ['1.10', '2.0', '1.0', '1.5', '7.0000'] });
    expect(covered).toEqual([range(0, 3), range(4, 5)]);
  });

  it('reads a file of several megabytes from its end, with and without a last line feed, and compressed', async () => {
    const all = Array.from({ length: 50_000 }, (_, index) => index);
    const text = [site, header, ...all.toReversed().map((index) => shown(index))].join('\r\n');
    for (const content of [text, `${text}\r\n`, gzipSync(text)]) {
      const { rows, covered, notes } = await read('cryptodatadownload', content);
      expect(rows.map((row) => 'time' in row && row.time)).toEqual(all.map(minute));
      expect([covered, notes]).toEqual([[range(0, 49_999)], [expect.stringMatching(/^its newest row/)]]);
    }
  });

  it('reports a symbol that is not spelled like the named pair', async () => {
    const other = (text: string) => text.replaceAll('BTC', 'ETH');
    const text = lines(site, other(header), other(shown(1)), other(shown(0)));
    expect((await read('cryptodatadownload', text)).notes).toContain(
      'its symbol is ETHUSDT; it is imported as btc/usdt',
    );
    const same = lines(site, header.replace(',tradecount', ''), ...[1, 0].map((i) => shown(i).slice(0, -2)));
    expect((await read('cryptodatadownload', same)).notes).toHaveLength(1);
  });

  it.each([
    ['no header', lines(site, shown(1)), 'line 2: unknown columns for cryptodatadownload: 1714521660,'],
    ['ascending rows', lines(header, shown(0), shown(1)), 'line 3: 2024-05-01 00:01Z is not before the row'],
    [
      'a date that contradicts the time',
      lines(header, shown(1), shown(0).replace('00:00:00', '05:00:00')),
      'line 3: its date 2024-05-01 05:00:00 is not its time, 2024-05-01',
    ],
    [
      'two markets',
      lines(header, shown(1), shown(0).replace('BTC', 'ETH')),
      'line 3: its symbol is ETHUSDT, and that of the rows before BTCUSDT: the file has two markets',
    ],
    [
      'a volume of the other asset',
      lines(header.replace('Volume BTC,Volume USDT', 'Volume USDT,Volume BTC'), shown(1)),
      'line 2: its symbol is BTCUSDT, and the first volume is counted in USDT',
    ],
  ])('refuses %s, with the line', async (_, text, message) => {
    await expect(read('cryptodatadownload', text)).rejects.toThrow(message);
  });
});

describe('ccxt-json', () => {
  it('reads numbers and text with their digits, and does not cover the newest row', async () => {
    const text = `[[${minute(0)}.0,1.10,"2.000",1E+00,0.1234567890123456789,null] ,\n ${fetched(1)},${fetched(2)} ]\n`;
    const { rows, covered } = await read('ccxt-json', text, { name: 'file.json' });
    expect(rows).toEqual([
      { names, time: minute(0), values: ['1.10', '2.000', '1E+00', '0.1234567890123456789', null] },
      { names, time: minute(1), values: ['1.10', '2e0', '1.0', '1.500', '7.0'] },
      { names, time: minute(2), values: ['1.10', '2e0', '1.0', '1.500', '7.0'] },
    ]);
    expect(covered).toEqual([range(0, 2)]);
  });

  it('reads a single line of several megabytes', async () => {
    const all = Array.from({ length: 50_000 }, (_, index) => fetched(index));
    const { rows, covered } = await read('ccxt-json', `[${all.join(', ')}]`);
    expect(rows).toHaveLength(50_000);
    expect(covered).toEqual([range(0, 49_999)]);
  });

  it.each([
    ['a column too few', list(fetched(0), '[1714521660000, 1, 1, 1, 1]'), 'line 3, row 2: it has 5 columns, not 6'],
    ['seconds', list(fetched(0).replace('000,', ',')), 'line 2, row 1: its time 1714521600 is in seconds'],
    ['objects', `[{"time": ${minute(0)}}]`, 'line 1, row 1: not an array of numbers'],
    ['an empty array', '[]', 'it has no rows'],
    ['two arrays', `[${fetched(0)}]\n[${fetched(1)}`, 'line 2, row 2: text follows the array'],
  ])('refuses %s, with the line, and does not name an option for CSV', async (_, text, message) => {
    const remedy = expect.not.stringContaining('--columns');
    const refusal = { message: expect.stringContaining(message), remedy };
    await expect(read('ccxt-json', text)).rejects.toMatchObject(refusal);
  });
});

describe('a compressed file', () => {
  const text = list(fetched(0), fetched(1), fetched(2));
  // The same text, by the program zstd.
  const zstd = 'KLUv/SSJjQEAUsIHDNA9W0W3SyWzboRiBAqEJ+rBENuWQvx5iO9kdXxCBgYAYESAYVDBRpHgcsgCSdRYPJo=';

  it.each([
    ['otherwise.json', gzipSync(text)],
    ['file.json.zst', Buffer.from(zstd, 'base64')],
    ['file.zip', zipOf({ 'file.json': text, 'readme.txt': 'x' })],
  ])('is read as what is in it, and refused when it is cut off anywhere: %s', async (name, packed) => {
    const { rows } = await read('ccxt-json', packed, { name });
    expect(rows.map(({ time }) => time)).toEqual([0, 1, 2].map(minute));
    for (let cut = 4; cut < packed.length; cut += 1)
      await expect(read('ccxt-json', packed.subarray(0, cut), { name })).rejects.toMatchObject({
        ...{ name: 'FileProblem', remedy: expect.stringContaining('download it again') },
      });
  });
});

const changes = 'its layout changes at this line';
it.each([
  ['binance', [kline(0), '1,2', kline(2)], `line 2: it has 2 columns, not 12: ${changes}`, 'divide'],
  ['binance', [kline(0), '1,2'], 'line 2: it has 2 columns, not 12: the file ends within', 'download'],
  ['kraken', [trades(0), 'time,open'], `line 2: it is another header, time,open: ${changes}`, 'divide'],
  ['kraken', ['time;open'], 'line 1: its fields are separated by semicolons', '--columns'],
  ['ccxt-json', ['[', `${fetched(0)},`, '[17145'], 'line 3, row 2: the file ends within this', 'download'],
  ['kraken', [list(fetched(0))], 'line 1: it is JSON, and kraken reads CSV', '--format ccxt-json'],
  ['kraken', ['1.71452E+12,1,1,1,1,1,1'], 'line 1: a spreadsheet rounded its times', 'without saving it'],
  ['kraken', ['1714521600,1,1,"1,10",1,1,1'], 'line 1: its numbers have commas, here 1,10', 'with points'],
  ['kraken', ['1714521600,1,1,1,1,1.5E+12,1'], 'line 1: a spreadsheet rounded its values', 'without saving'],
] as const)('says where %s changes or was rounded, with fitting advice', async (format, all, message, advice) => {
  const refusal = { message: expect.stringContaining(message), remedy: expect.stringContaining(advice) };
  await expect(read(format, lines(...all))).rejects.toMatchObject(refusal);
});

describe('--columns', () => {
  const columns = { time: 'Stamp', open: 'o', high: 'h', low: 'l', close: 'c', volume: 'vol' };
  const named = (times: unknown[]) => [
    'c,x,o,h,l,vol,stamp',
    ...times.map((time, at) => `1.5,${at === 1 ? 70 : 8},1.1,2.0,1,7,${time}`),
  ];
  const iso = (index: number) => new Date(minute(index)).toISOString().slice(0, 19);

  it.each<[string, string, (index: number) => string]>([
    ['seconds', ',', (index) => `"${minute(index) / 1000}"`],
    ['nanoseconds', ';', (index) => `${minute(index)}000000`],
    ['dates in UTC', '\t', (index) => iso(index).replace('T', ' ')],
    ['dates in UTC', ',', (index) => `${iso(index).replace('T', ' ')}+00`],
    ['dates in UTC', '|', (index) => `"${iso(index + 120)}.000000+02:00"`],
  ])('finds the unit of times, the separator and the order of rows: %s, %s', async (unit, separator, time) => {
    const numbers = { time: '7', open: '3', high: '4', low: '5', close: '1', volume: '6' };
    for (const isDescending of [false, true]) {
      const text = named([0, 1, 2].map((index) => time(isDescending ? 2 - index : index)));
      const byName = await read(formatOfColumns(columns), lines(...text).replaceAll(',', separator));
      expect(byName).toMatchObject({ unit, covered: [range(0, 2)] });
      expect(byName.placed.map(({ problem }) => problem)).toEqual(Array(3).fill(undefined));
      const compared = await read(
        formatOfColumns({ ...columns, turnover: 'X' }),
        lines(...text).replaceAll(',', separator),
      );
      expect(compared.placed.map(({ problem }) => problem !== undefined)).toEqual([false, true, false]);
      expect(byName.rows[1]).toMatchObject({ time: minute(1), values: ['1.1', '2.0', '1', '1.5', '7'] });
      const plain = lines(...text.slice(1)).replaceAll(',', separator);
      const { rows, notes } = await read(formatOfColumns(numbers), plain.trimEnd());
      expect(rows).toEqual(byName.rows);
      const commas = read(formatOfColumns(numbers), '1,5;8,0;1,1;2,0;1,0;7,0;1714521600\n');
      await expect(commas).rejects.toThrow('line 1: its numbers have commas, here 1,1');
      const cut = 'the file ends without a line end: its last row, line 3, may be cut';
      expect([byName.notes, notes]).toEqual([[notes[1]], [cut, expect.stringMatching(/^its newest row/)]]);
    }
  });
});
