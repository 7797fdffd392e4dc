import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { minuteMs } from '../../../model/intervals.ts';
import { rowsOfPiece } from '../../../transfer/import-series.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { describeRecordings, recordingFile } from '../../recordings.ts';
import { emptyDirectory, market, start, tidemark } from '../command.ts';
import { contentOf, holdAfter, sharedStore, startMs } from './export-store.ts';

const minute = (index: number) => startMs + index * minuteMs;
const range = (from: number, to: number) => ({ startMs: minute(from), endMs: minute(to) });
const lines = (all: readonly string[]) => `${all.join('\n')}\n`;
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

const kline = (index: number, values = '1.10000000,2.00000000,1.00000000,1.50000000') =>
  `${minute(index)},${values},36304.20000000,${minute(index + 1) - 1},54456.3,79,1.0,0.5,0`;
const site = 'https://www.CryptoDataDownload.com';
const header = 'unix,date,symbol,open,high,low,close,Volume BTC,Volume USDT,tradecount';
const shown = (index: number) => `${minute(index) / 1000},-,BTC/USDT,1.10,2.0,1.0,1.5,7.0000,11.2,9`;

const theStore = sharedStore();

/** The empty store, a directory, and an import of files in it. */
function emptyStore() {
  const store = theStore();
  const directory = emptyDirectory();
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const words = (format: string) => ['import', '--format', format, ...market, '--interval', 'm1'];
  const run = (format: string, ...more: string[]) => tidemark([...words(format), ...more], store.env);
  const content = async () => (await contentOf(store.database)).series['binance bitcoin tether m1'];
  const query = async (sql: string) => (await store.database.pool.query(sql)).rows;
  const points = () =>
    query(
      `select time, open::text, high::text, low::text, close::text, volume::text from candles where interval = 'm1' order by time`,
    );
  return { ...store, file, run, words, content, query, points };
}

it('binance: verifies FILE.CHECKSUM where there is one', async () => {
  const { file, run, content } = emptyStore();
  const text = lines([kline(0), kline(1)]);
  const path = file('BTCUSDT-1m-2024-01.csv', text);
  const sha256 = createHash('sha256').update(text).digest('hex');
  for (const [stated, what] of [
    [`${'0'.repeat(64)}  ${basename(path)}\n`, 'its SHA-256 differs; nothing was imported'],
    ['<html>', 'does not begin with a SHA-256; nothing was imported'],
  ] as const) {
    file(`${basename(path)}.CHECKSUM`, stated);
    const ended = await run('binance', path);
    expect(ended.stderr).toContain(what);
    expect(ended).toMatchObject({ exitCode: 8, stdout: '' });
  }
  expect(await content()).toBeUndefined();
  file(`${basename(path)}.CHECKSUM`, `${sha256}  ${basename(path)}\n`);
  expect(await run('binance', path, '--points-only')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await content()).toMatchObject({ pointCount: 2, covered: [], uncoveredPoints: [range(0, 2)] });
  expect(await run('binance', path)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await content()).toMatchObject({ pointCount: 2, covered: [range(0, 2)] });
});

it('quarantines impossible rows, and leaves their periods as gaps', async () => {
  const { file, run, content, query } = emptyStore();
  const rows = [kline(0), kline(1, '5,4,6,5'), kline(2), kline(3, '1,1,1,NaN'), kline(4)];
  // As after an outage.
  rows.push(kline(5).replace(`${minute(5)}`, `${minute(5) + 14_789}`), kline(6));
  const ended = await run('binance', file('BTCUSDT-1m-2024-01.csv', lines(rows)), '--json');
  expect(ended.exitCode).toBe(3);
  const { fresh, refusals } = JSON.parse(ended.stdout);
  expect([fresh, refusals.map(({ reason }: { reason: string }) => reason)]).toEqual([
    4,
    ['line 2: high is below low', 'line 4: close: not a decimal', 'line 6: does not start a period of m1'],
  ]);
  expect((await content())?.covered).toEqual([range(0, 1), range(2, 3), range(4, 5), range(6, 7)]);
  expect(await query('select count(*)::int as count from tidemark.quarantine')).toEqual([{ count: 3 }]);
});

it.each([
  ['among others', 'kraken', [0, 1, 3, 7]],
  ['at the end', 'kraken', [0, 1, 3, 4, 5]],
  ['alone', 'kraken', [3, 4]],
  ['as the newest row, which may be open', 'binance', [0, 1, 2]],
] as const)('takes the periods of rejected rows without a point for unknown, %s', async (_, format, given) => {
  const { file, run, query } = emptyStore();
  const kraken = (index: number, values = '1.1,2,1,1.5') => `${minute(index) / 1000},${values},7,9`;
  const traded: readonly number[] = [0, 1, 7];
  await run('kraken', file('XBTUSDT_1.csv', lines(traded.map((index) => kraken(index)))));
  const row = format === 'kraken' ? kraken : kline;
  // The last one is rejected as well, and has a stored point where it is the seventh.
  const isWrong = (index: number) => !traded.includes(index) || index === 7;
  const rows = given.map((index) => row(index, isWrong(index) ? '5,4,6,5' : undefined));
  expect(
    await run(format, file('x.csv', lines(rows)), ...(format === 'kraken' ? ['--points-only'] : [])),
  ).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('a period of theirs without a stored point is not known'),
  });
  expect(
    await query(`select time from prices('binance bitcoin/tether', 'm1') where coverage < 1 order by time`),
  ).toEqual(given.filter((index) => !traded.includes(index)).map((index) => ({ time: minute(index) })));
});

it('stores the newest row of a file without coverage, and never over a covered value', async () => {
  const { file, run, content, points } = emptyStore();
  const fetched = (count: number, more = 0) =>
    gzipSync(`[${upTo(count).map((at) => `[${minute(at)},1,2,1,1,${at === 0 ? 7 : 7 + more}]`)}]`);
  await run('ccxt-json', file('a.json.gz', fetched(3)));
  expect(await content()).toMatchObject({ pointCount: 3, covered: [range(0, 2)] });
  const before = await points();
  // Its newest row is another one, and is covered by the first file.
  const open = file('b.json.gz', fetched(2, 1));
  expect(await run('ccxt-json', open, '--overwrite')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await points()).toEqual(before);
});

it('refuses a file with its line before anything of any file is stored', async () => {
  const { file, run, content, query } = emptyStore();
  const wrong = lines([kline(44_640), kline(44_641).replace(',', ',,')]);
  const day = (name: string, index: number) => file(name, lines([kline(index), kline(index + 1)]));
  const good = day('BTCUSDT-1m-2024-01-01.csv', 0);
  const first = Math.floor((Date.now() - startMs) / minuteMs) + 100_000;
  const later = lines(upTo(10).map((index) => kline(first + index)));
  for (const [format, files, line] of [
    [
      'binance',
      [good, file('BTCUSDT-1m-2024-02.csv', wrong)],
      /\S+BTCUSDT-1m-2024-02\.csv: line 2: it has 13 columns, not 12: its layout changes at this line; nothing was imported; .+/,
    ],
    [
      'ccxt-json',
      [file('one.json', `[[${minute(0)},1,1,1,1,1]]`)],
      /\S+one\.json: its only row may have been open when the file was made; .+/,
    ],
    [
      'binance',
      [file('x.csv', later)],
      /\S+x\.csv: its row of 20\S+ \S+Z lies in the future; nothing was imported; .+/,
    ],
    [
      'binance',
      [good, day('ETHUSDT-1m-2024-01-02.csv', 1440)],
      /\S+\.csv is of ETHUSDT, and \S+\.csv of BTCUSDT; nothing was imported; import the files of each market in a call of their own/,
    ],
  ] as const) {
    const ended = await run(format, ...files);
    expect(ended.stderr).toMatch(new RegExp(`^tidemark: FILE_NOT_USABLE: ${line.source}\n$`));
    expect(ended).toMatchObject({ exitCode: 8, stdout: '' });
  }
  expect(await content()).toBeUndefined();
  expect(await query('select from tidemark.series')).toEqual([]);
  // A name that states no market stands beside any.
  expect((await run('binance', day('may.csv', 0), day('ETHUSDT-1m-2024-01-02.csv', 1440))).exitCode).toBe(0);
});

it('leaves no coverage when killed, and the same file again goes on', async () => {
  const { database, env, words, file, run, content } = emptyStore();
  const count = 3 * rowsOfPiece;
  const path = file(
    'x.csv',
    lines([
      site,
      header,
      ...upTo(count + 1)
        .toReversed()
        .map(shown),
    ]),
  );
  const letGo = await holdAfter(database, 1);
  const running = start([...words('cryptodatadownload'), path], env);
  await waitFor('a piece', async () => ((await content())?.pointCount ?? 0) >= rowsOfPiece);
  running.kill('SIGKILL');
  await running.ended;
  const known = await content();
  expect(known?.pointCount).toBeLessThan(count);
  expect(known).toMatchObject({ covered: [], uncoveredPoints: [range(0, known?.pointCount ?? 0)] });
  await letGo();
  expect(await run('cryptodatadownload', path)).toMatchObject({ exitCode: 0 });
  expect(await content()).toMatchObject({ pointCount: count + 1, covered: [range(0, count)] });
});

it('--dry-run says how --columns reads a file, and needs no database', async () => {
  const { env, file, content } = emptyStore();
  const rows = upTo(3).map((index) => `${minute(index) / 1000},1.5,1.10,${index === 1 ? 1.0 : 2},1.0,7`);
  const path = file('vendor.csv', lines(['stamp,c,o,h,l,v', ...rows]));
  const columns = 'time=stamp,open=o,high=h,low=l,close=c,volume=v';
  const words = ['import', path, ...market, '--interval', 'm1', '--columns'];
  const dry = await tidemark([...words, columns, '--dry-run'], {});
  expect(dry.exitCode).toBe(3);
  expect(dry.stdout).toMatch(
    /: 3 rows, .+ its times are seconds\n.+ open 1.10, high 2, low 1.0, close 1.5, volume 7\n.+ line 3: open is above/,
  );
  expect(await content()).toBeUndefined();
  expect((await tidemark([...words, columns], env)).exitCode).toBe(3);
  expect(await content()).toMatchObject({ pointCount: 2, covered: [range(0, 1)] });
  const wrong = await tidemark([...words, 'time=stamp,vol=v'], env);
  expect(wrong.stderr).toContain('--columns has no vol; name time=...');
});

describeRecordings('a recorded file of the Binance archive', () => {
  it('is stored to the last digit, and covered from its first row to its last', async () => {
    const { file, run, content, points } = emptyStore();
    const text = recordingFile('sources/binance-archive-klines-m1-ADABTC-20211127.csv');
    expect(await run('binance', file('ADABTC-1m-2021-11-27.csv', text))).toMatchObject({
      ...{ exitCode: 0, stderr: '' },
    });
    const rows = text.trimEnd().split('\n');
    expect(rows).toHaveLength(10);
    expect((await points()).map((row) => Object.values(row).join())).toEqual(
      rows.map((row) => row.split(',').slice(0, 6).join()),
    );
    const beginsMs = Number(rows[0]?.split(',')[0]);
    expect(await content()).toMatchObject({ covered: [{ startMs: beginsMs, endMs: beginsMs + 10 * minuteMs }] });
  });
});
