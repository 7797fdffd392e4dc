/**
 * Imports one file. {@link checkFile} compares its digest with the sidecar, so that nothing of another file is stored;
 * {@link importFile} then reads, validates and stores its rows in one pass.
 */

import { TidemarkError } from '../errors.ts';
import type { TimeUnit } from '../files/candle-formats.ts';
import { unpackedName } from '../files/content.ts';
import { openRows } from '../files/formats.ts';
import { type FileFormat, type FileRow, fileFormats, type Layout, type Names, type ReadRow } from '../files/layout.ts';
import { type FilePage, isPoints, lengthOf, type PointPage, type RowFile, rowsOf } from '../files/point-pages.ts';
import { assertDescribed, assertIsFile, readSidecar, sidecarPath, stampOf } from '../files/sidecar.ts';
import { counted, formatCount } from '../model/format.ts';
import type { RejectedRow } from '../planning/answer.ts';
import type { ShowPoints } from '../planning/progress.ts';
import { explainDatabaseError } from '../store/db/failure.ts';
import { assertReadable } from './first-rows.ts';
import { rateOf, type StatedSeries, seriesOfRow, statedSeries, type TimedRate } from './import-rows.ts';
import { type ImportContext, SeriesImport } from './import-series.ts';
import type { ImportTally } from './import-tally.ts';
import { importRates, quarantineOutsideRows } from './queries/import-rates.ts';

export interface ImportOptions {
  readonly format?: FileFormat;
  readonly sidecar?: string;
  /** Imports the file without its sidecar. */
  readonly pointsOnly?: boolean;
  readonly overwrite?: boolean;
  readonly follow?: boolean;
}

/** What the check of a file needs: no database. */
export interface FileCheck extends ImportOptions, Pick<ImportContext, 'clock' | 'path'> {
  readonly tally: ImportTally;
  /** Called between pieces. @throws to stop the import. */
  readonly beforePiece: () => void;
}

export interface FileImport extends FileCheck, Omit<ImportContext, 'onStored'> {
  readonly showProgress: ShowPoints;
}

/** A file whose digest is the sidecar's. Nothing of it is stored yet. */
export interface CheckedFile {
  readonly file: RowFile;
  /** Null: there is no sidecar. */
  readonly stated: { readonly series: readonly StatedSeries[]; readonly rows: number } | null;
  /** Identifies the version of the file that was checked. */
  readonly stamp: string;
  /** The market that a candle file of another program states; null: none. */
  readonly market: string | null;
  /** Of the times of such a file. */
  readonly unit?: TimeUnit;
}

/** @throws TidemarkError FILE_NOT_USABLE, BAD_ARGUMENT */
export async function checkFile(options: FileCheck): Promise<CheckedFile> {
  const { path, pointsOnly = false, follow = false } = options;
  await assertIsFile(path);
  const stamp = await stampOf(path);
  // That of a file that was compressed later describes the file within.
  const sidecarFile = options.sidecar ?? sidecarPath(unpackedName(path));
  const sidecar = pointsOnly ? null : await readSidecar(sidecarFile);
  if (sidecar === null && !pointsOnly) {
    throw new TidemarkError('FILE_NOT_USABLE', `${path} has no sidecar ${sidecarFile}, which states its coverage`, {
      remedy: 'name it with --sidecar, or import with --points-only: no coverage is claimed then',
    });
  }
  if (sidecar !== null) await assertDescribed(path, sidecar.file, options.beforePiece);
  const format = options.format ?? sidecar?.file.format ?? formatOf(path);
  const file = await openRows(path, format, sidecar?.dataset ?? null);
  if (sidecar === null) {
    await assertReadable(path, file);
    return { file, stated: null, stamp, market: null };
  }
  if (file.layout.dataset !== sidecar.dataset) {
    throw new TidemarkError(
      'FILE_NOT_USABLE',
      `${path} has ${file.layout.dataset}, and its sidecar ${sidecar.dataset}`,
      { remedy: 'name the sidecar that `export` wrote for it with --sidecar' },
    );
  }
  return {
    file,
    stated: { series: statedSeries(sidecar, sidecarFile, follow), rows: sidecar.file.rows },
    stamp,
    market: null,
  };
}

/**
 * Stores the file piece by piece. Hours may pass between the check and the import of many files, so each page checks
 * that the file was not replaced.
 *
 * @throws TidemarkError INTERRUPTED between two pieces, and errors of the database, both with the rows that are stored;
 * FILE_NOT_USABLE when it is not the file that was checked, or has other rows than its sidecar states.
 */
export async function importFile(options: FileImport, { file, stated, stamp }: CheckedFile): Promise<void> {
  const { path, showProgress, beforePiece } = options;
  const assertUnchanged = async () => {
    beforePiece();
    if ((await stampOf(path)) === stamp) return;
    throw new TidemarkError('FILE_NOT_USABLE', `${path} was changed or replaced after it was checked`, {
      remedy: 'run the same command again; what was imported before is stored',
    });
  };
  const progress = showProgress('import', stated?.rows ?? file.rows ?? null);
  const sink =
    file.layout.dataset === 'rates' ? rateSink(options) : seriesSink(options, file.layout, stated?.series ?? null);
  let rows = 0;
  try {
    await assertUnchanged();
    for await (const page of file.pages()) {
      await assertUnchanged();
      await sink.take(page);
      rows += lengthOf(page);
      progress.update(rows);
    }
    await assertUnchanged();
    await sink.end();
  } catch (error) {
    await sink.settle();
    throw cutOff(error, options);
  } finally {
    progress.stop();
  }
  if (stated === null || stated.rows === rows) return;
  throw new TidemarkError(
    'FILE_NOT_USABLE',
    `${path} has ${counted(rows, 'row')}, and its sidecar states ${formatCount(stated.rows)}`,
    { remedy: 'export it again, or import it with --points-only: no coverage is claimed then' },
  );
}

/** Says what is stored of an import that could not go on. */
function cutOff(thrown: unknown, { path, tally }: FileImport): unknown {
  const error = explainDatabaseError(thrown);
  if (!(error instanceof TidemarkError) || !/^(?:INTERRUPTED|DATABASE_)/.test(error.code)) return error;
  const isStopped = error.code === 'INTERRUPTED';
  const where = isStopped ? error.message : `${error.message}, within ${path}`;
  const stored = `${counted(tally.stored, 'row')} of this call ${tally.stored === 1 ? 'is' : 'are'} stored`;
  const again = 'run the same command again: it completes them';
  return new TidemarkError(error.code, `${where}; ${stored}`, {
    cause: error,
    remedy: isStopped ? again : `${error.remedy}, then ${again}`,
  });
}

/** @throws TidemarkError BAD_ARGUMENT */
function formatOf(path: string): FileFormat {
  const name = unpackedName(path).toLowerCase();
  const format = fileFormats.find((known) => name.endsWith(`.${known}`));
  if (format !== undefined) return format;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `${path} does not end in ${fileFormats.map((known) => `.${known}`).join(', ')}`,
    { remedy: 'name the format with --format' },
  );
}

interface Sink {
  take(page: FilePage): Promise<void>;
  end(): Promise<void>;
  /** Waits for what is being stored. */
  settle(): Promise<void>;
}

/** The rows of a series are adjacent. With a sidecar, rows of a series that ended before are rejected. */
function seriesSink(options: FileImport, layout: Layout, stated: readonly StatedSeries[] | null): Sink {
  const { clock, database, tally } = options;
  const context: ImportContext = { ...options, onStored: (piece) => tally.add(piece) };
  const expected = new Map(stated?.map((one) => [JSON.stringify(one.names), one]));
  let current: { names: Names; series: SeriesImport } | null = null;

  async function endCurrent(): Promise<void> {
    await current?.series.end();
    current = null;
  }
  async function seriesOf(names: Names): Promise<SeriesImport | string> {
    if (current?.names.every((name, place) => name === names[place])) return current.series;
    const series = seriesOfRow(layout, names);
    if (typeof series === 'string') return series;
    const key = JSON.stringify(names);
    const known = expected.get(key);
    if (stated !== null && known === undefined) return 'the sidecar does not name this series here';
    await endCurrent();
    expected.delete(key);
    current = { names, series: new SeriesImport(context, series, known?.stated ?? null) };
    return current.series;
  }
  async function takePoints(page: PointPage): Promise<readonly RejectedRow[]> {
    const series = await seriesOf(page.names);
    if (typeof series === 'string')
      return rowsOf(page).flatMap((row) => ('raw' in row ? row : refusedAt(row, JSON.stringify(row), series)));
    await series.addPage(page);
    return [];
  }
  async function takeRows(rows: readonly ReadRow[]): Promise<readonly RejectedRow[]> {
    const outside: RejectedRow[] = [];
    for (const row of rows) {
      const series = 'raw' in row ? row.reason : await seriesOf(row.names);
      if ('raw' in row) outside.push(row);
      else if (typeof series === 'string') outside.push(refusedAt(row, JSON.stringify(row), series));
      else await series.add(row);
    }
    return outside;
  }
  return {
    async take(page) {
      const outside = isPoints(page) ? await takePoints(page) : await takeRows(page);
      await quarantineOutsideRows(database, { dataset: layout.dataset, rows: outside, seenAtMs: clock.now() });
      tally.refuse(null, outside);
    },
    async end() {
      await endCurrent();
      // A series without points has only coverage.
      for (const one of expected.values()) await new SeriesImport(context, one.series, one.stated).end();
    },
    settle: async () => current?.series.settle(),
  };
}

/** The rejection of a row, with the place where it stands. */
function refusedAt({ place }: FileRow, raw: string, reason: string): RejectedRow {
  return { raw, reason: `${place}: ${reason}` };
}

function rateSink({ clock, database, tally }: FileImport): Sink {
  async function store(rows: readonly TimedRate[], refused: readonly RejectedRow[]): Promise<void> {
    const result = await importRates(database, { rows, refused, nowMs: clock.now() });
    tally.add({ ...result, name: rows[0]?.rate.id ?? 'rates', refused });
  }
  return {
    async take(page) {
      const byCurrency = new Map<string, Map<number, TimedRate>>();
      const refused: RejectedRow[] = [];
      for (const row of rowsOf(page)) {
        if ('raw' in row) {
          refused.push(row);
          continue;
        }
        const read = rateOf(row);
        if (read.row === null) {
          refused.push(refusedAt(row, read.raw(), read.refusal?.reason ?? 'not a rate'));
          continue;
        }
        const { timeMs, rate } = read.row;
        const rates = byCurrency.get(rate.id) ?? new Map<number, TimedRate>();
        byCurrency.set(rate.id, rates);
        if (timeMs > clock.now()) refused.push(refusedAt(row, read.raw(), 'time: lies in the future'));
        else if (rates.has(timeMs)) refused.push(refusedAt(row, read.raw(), 'given twice'));
        else rates.set(timeMs, read.row);
      }
      for (const rates of byCurrency.values()) if (rates.size > 0) await store([...rates.values()], []);
      if (refused.length > 0) await store([], refused);
    },
    end: async () => {},
    settle: async () => {},
  };
}
