import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../contract/intervals.ts';
import { type FileFormat, type FileRow, fileFormats, layouts } from '../../files/layout.ts';
import { openRows } from '../../files/row-reader.ts';
import { openRowWriter } from '../../files/row-writer.ts';
import { checkFile, type FileImport, importFile } from '../../scripts/import-file.ts';
import { ImportTally } from '../../scripts/import-tally.ts';
import type { Database } from '../../store/database.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { emptyDirectory, tidemark } from './command.ts';
import { contentOf, fill, hours, market, minutes, openStore, startMs } from './export-store.ts';

const window = { startMs, endMs: startMs + 3 * hourMs };
const minute = (index: number) => startMs + index * minuteMs;

interface SidecarText {
  dataset: string;
  file: { rows: number; bytes: number; sha256: string };
  series: Array<Record<string, unknown> & { points: number }>;
}
interface Forgery {
  readonly rows?: (rows: FileRow[]) => FileRow[];
  readonly sidecar?: (sidecar: SidecarText) => void;
}

/** Writes a file anew with other rows, and its sidecar as one about the new file. */
async function forge(path: string, format: FileFormat, { rows = (all) => all, sidecar }: Forgery) {
  const file = await openRows(path, format);
  const all: FileRow[] = [];
  for await (const page of file.pages()) for (const row of page) if (!('raw' in row)) all.push(row);
  const pieces: Uint8Array[] = [];
  const digits = file.layout.values.map(() => ({ beforePoint: 18, afterPoint: 20 }));
  const output = { write: async (bytes: Uint8Array) => void pieces.push(bytes) };
  const writer = await openRowWriter(format, { layout: file.layout, digits, output });
  for (const { names, time, values } of rows(all)) {
    await writer.write({ names, points: [{ timeMs: Number(time), values: values.map(String) }] });
  }
  await writer.end();
  const content = Buffer.concat(pieces);
  writeFileSync(path, content);
  const text: SidecarText = JSON.parse(readFileSync(`${path}.meta.json`, 'utf8'));
  text.file.sha256 = createHash('sha256').update(content).digest('hex');
  text.file.bytes = content.length;
  sidecar?.(text);
  writeFileSync(`${path}.meta.json`, JSON.stringify(text));
}

/** What `import` does with a file before it stores anything: it needs no database for that. */
function check(path: string) {
  return checkFile(importing(path, undefined as unknown as Database));
}

function importing(path: string, database: Database): FileImport {
  return {
    ...{ path, format: undefined, sidecar: undefined, pointsOnly: false, overwrite: false, follow: false },
    ...{ quiet: true, graceMs: 0, signal: AbortSignal.any([]), tally: new ImportTally() },
    database,
    beforePiece: () => {},
  };
}

function without<Item>(list: readonly Item[], ...places: number[]): Item[] {
  return list.filter((_, place) => !places.includes(place));
}

/** In the file lie 180 minutes, then 3 hours. */
const forgeries: Array<[string, Forgery, RegExp]> = [
  [
    'a row is missing',
    { rows: (rows) => without(rows, 7) },
    /has 179 rows of binance bitcoin\/tether m1, and its sidecar states 180$/,
  ],
  [
    'a row of the last series is missing',
    { rows: (rows) => rows.slice(0, -1) },
    /has 2 rows of binance bitcoin\/tether h1, and its sidecar states 3$/,
  ],
  [
    'all rows are missing',
    { rows: () => [] },
    /has 0 rows of binance bitcoin\/tether m1, and its sidecar states 180$/,
  ],
  [
    'the sidecar is about another series',
    {
      sidecar: ({ series }) => {
        for (const one of series) one.exchange = 'kraken';
      },
    },
    /has 0 rows of kraken bitcoin\/tether m1, and its sidecar states 180$/,
  ],
  [
    'a row stands for one of another series',
    {
      rows: (rows) => [
        ...without(rows, 179),
        ...rows.slice(-1).map((row) => ({ ...row, time: Number(row.time) + hourMs })),
      ],
    },
    /has 179 rows of binance bitcoin\/tether m1, and its sidecar states 180$/,
  ],
  [
    'rows of a series lie apart',
    { rows: (rows) => [...without(rows, 100), ...rows.slice(100, 101)] },
    /has 179 rows of binance bitcoin\/tether m1, and its sidecar states 180$/,
  ],
  [
    'a row is of no series that is stated',
    {
      rows: (rows) => [
        ...rows,
        ...rows.slice(0, 1).map((row) => ({ ...row, names: ['kraken', 'bitcoin', 'tether', 'm1'] })),
      ],
      sidecar: ({ file }) => {
        file.rows += 1;
      },
    },
    /has 1 row of no series that its sidecar states$/,
  ],
  [
    'fewer rows are stated in all',
    {
      sidecar: ({ file }) => {
        file.rows = 3;
      },
    },
    /has 183 rows, and its sidecar states 3$/,
  ],
  [
    'no rows are stated',
    {
      sidecar: ({ file, series }) => {
        file.rows = 0;
        for (const one of series) one.points = 0;
      },
    },
    /has 180 rows of binance bitcoin\/tether m1, and its sidecar states 0$/,
  ],
];

describeNeeding('timescale', 'rows that the sidecar does not count', () => {
  /** A file of two series. */
  async function exported(format: FileFormat, name: string): Promise<string> {
    const from = await openStore('main');
    await fill(from.database, { series: minutes, window });
    await fill(from.database, { series: hours, window });
    const path = join(emptyDirectory(), `${name}.${format}`);
    const words = ['export', 'candles', ...market, '--interval', 'm1,h1', '--out', path];
    expect(await tidemark(words, from.env)).toMatchObject({ exitCode: 0, stderr: '' });
    return path;
  }

  it('such a file is refused in one line, and nothing of it is stored', async () => {
    const to = await openStore('main');
    const path = await exported('csv', 'forged');
    await forge(path, 'csv', { rows: (rows) => without(rows, 7) });
    const ended = await tidemark(['import', path], to.env);
    expect(ended.stderr).toMatch(
      /^tidemark: FILE_NOT_USABLE: .+ has 179 rows of binance bitcoin\/tether m1, and its sidecar states 180; .+--points-only.+\n$/,
    );
    expect(ended).toMatchObject({ exitCode: 8, stdout: '' });
    expect((await contentOf(to.database)).series).toEqual({});
    // What the file has can be had, without the coverage that nobody knows.
    expect(await tidemark(['import', path, '--points-only'], to.env)).toMatchObject({ exitCode: 0 });
    expect((await contentOf(to.database)).series).toMatchObject({
      'binance bitcoin tether m1': { covered: [], pointCount: 179 },
      'binance bitcoin tether h1': { covered: [], pointCount: 3 },
    });
  });

  it.each(fileFormats)('%s: none of them passes the check', async (format) => {
    const path = await exported(format, 'forged');
    const file = readFileSync(path);
    const sidecar = readFileSync(`${path}.meta.json`);
    await expect(check(path)).resolves.toMatchObject({ rows: 183 });
    for (const [why, forgery, line] of forgeries) {
      writeFileSync(path, file);
      writeFileSync(`${path}.meta.json`, sidecar);
      await forge(path, format, forgery);
      await expect(check(path), why).rejects.toMatchObject({
        code: 'FILE_NOT_USABLE',
        message: expect.stringMatching(line),
        remedy: expect.stringContaining('--points-only'),
      });
    }
  });

  it.each(fileFormats)('%s: rates, which have no coverage, are counted too', async (format) => {
    const path = join(emptyDirectory(), `rates.${format}`);
    const euro = { names: ['euro', 'EUR', '€', 'fiat'], values: ['1.1'] };
    const rows = [0, 1].map((place) => ({ ...euro, time: startMs + place * minuteMs }));
    await writeRates(path, format, rows);
    await expect(check(path)).resolves.toMatchObject({ rows: 2 });
    await forge(path, format, { rows: (all) => all.slice(1) });
    await expect(check(path)).rejects.toMatchObject({
      code: 'FILE_NOT_USABLE',
      message: expect.stringMatching(/ has 1 row of euro, and its sidecar states 2$/),
    });
  });

  it.each(fileFormats)(
    '%s: a file that is replaced after the check is none that was checked',
    async (format) => {
      const to = await openStore('main');
      const path = await exported(format, 'replaced');
      const options = importing(path, to.database);
      const checked = await checkFile(options);
      await forge(path, format, { rows: (rows) => without(rows, 7) });
      await expect(importFile(options, checked)).rejects.toMatchObject({
        ...{ code: 'FILE_NOT_USABLE', message: `${path} was changed or replaced after it was checked` },
      });
      expect((await contentOf(to.database)).series).toEqual({});
      await forge(path, format, {
        sidecar: ({ file, series: [one] }) => {
          file.rows -= 1;
          if (one !== undefined) one.points -= 1;
        },
      });
      await importFile(options, await checkFile(options));
      expect((await contentOf(to.database)).series).toMatchObject({
        'binance bitcoin tether m1': { pointCount: 179 },
      });
    },
  );

  it('a series that is stated twice is refused', async () => {
    const path = await exported('csv', 'twice');
    await forge(path, 'csv', {
      sidecar: ({ series }) => {
        series.push(...series.map((one) => ({ ...one, points: 0 })));
      },
    });
    await expect(check(path)).rejects.toMatchObject({
      message: expect.stringMatching(/ states binance bitcoin\/tether m1 twice$/),
    });
  });

  it('of a series with a row that stands for another only what is there is covered, from its first row on', async () => {
    const to = await openStore('main');
    const path = join(emptyDirectory(), 'doubtful.csv');
    const all = 11_000;
    const day = { startMs, endMs: startMs + all * minuteMs };
    const from = await openStore('main');
    await fill(from.database, { series: minutes, window: day });
    await fill(from.database, { series: hours, window });
    const words = ['export', 'candles', ...market, '--interval', 'm1,h1', '--out', path];
    expect(await tidemark(words, from.env)).toMatchObject({ exitCode: 0 });
    // The number is right; two pieces after the row that is missing, one is there twice.
    await forge(path, 'csv', {
      rows: (rows) => [...without(rows.slice(0, all), 10), ...rows.slice(all - 1, all), ...rows.slice(all)],
    });
    const ended = await tidemark(['import', path], to.env);
    expect(ended.stderr).toMatch(/ROWS_REFUSED: 1 row .+: time: not after the row before it; /);
    expect(ended.exitCode).toBe(3);
    expect((await contentOf(to.database)).series).toMatchObject({
      'binance bitcoin tether m1': {
        pointCount: all - 1,
        covered: [
          { startMs, endMs: minute(10) },
          // What is there twice is refused, and its period is a gap too.
          { startMs: minute(11), endMs: minute(all - 1) },
        ],
      },
      'binance bitcoin tether h1': { pointCount: 3, covered: [window] },
    });
  });
});

async function writeRates(path: string, format: FileFormat, rows: readonly FileRow[]): Promise<void> {
  writeFileSync(path, '');
  const pieces: Uint8Array[] = [];
  const output = { write: async (bytes: Uint8Array) => void pieces.push(bytes) };
  const writer = await openRowWriter(format, {
    ...{ layout: layouts.rates, digits: [{ beforePoint: 1, afterPoint: 1 }], output },
  });
  for (const { names, time, values } of rows) {
    await writer.write({ names, points: [{ timeMs: Number(time), values: values.map(String) }] });
  }
  await writer.end();
  const content = Buffer.concat(pieces);
  writeFileSync(path, content);
  const moment = new Date(startMs).toISOString();
  writeFileSync(
    `${path}.meta.json`,
    JSON.stringify({
      ...{
        tidemark: 'export',
        version: 1,
        madeBy: 'test',
        exportedAt: moment,
        dataset: 'rates',
        columns: [],
      },
      file: {
        ...{ name: 'rates', format, rows: rows.length, bytes: content.length },
        sha256: createHash('sha256').update(content).digest('hex'),
      },
      series: [{ currency: 'euro', points: rows.length, first: moment, last: moment }],
    }),
  );
}
