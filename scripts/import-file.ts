/** One file on its way into the store. */

import { TidemarkError } from '../errors.ts';
import { assertDescribed, assertIsFile, readSidecar, stampOf } from '../files/check-file.ts';
import { type FileFormat, fileFormats } from '../files/layout.ts';
import { openRows, type RowFile } from '../files/row-reader.ts';
import { sidecarPath } from '../files/sidecar.ts';
import { type CountedSeries, countRows } from './import-count.ts';
import type { ImportContext } from './import-series.ts';
import { rateSink, seriesSink } from './import-sinks.ts';
import { statedSeries } from './import-stated.ts';
import type { ImportTally } from './import-tally.ts';
import { showPointProgress } from './point-progress.ts';

export interface FileImport extends ImportContext {
  readonly path: string;
  readonly format: FileFormat | undefined;
  readonly sidecar: string | undefined;
  /** Whether the file is taken without its sidecar. */
  readonly pointsOnly: boolean;
  readonly follow: boolean;
  readonly quiet: boolean;
  readonly signal: AbortSignal;
  readonly tally: ImportTally;
  /** Called between pieces. @throws where no more is to be written. */
  readonly beforePiece: () => void;
}

/** A file that was looked at, with nothing stored of it yet. */
export interface CheckedFile {
  readonly file: RowFile;
  /** Null: there is no sidecar. */
  readonly counted: readonly CountedSeries[] | null;
  /** Null: nobody knows. */
  readonly rows: number | null;
  /** Of the file that was checked. */
  readonly stamp: string;
}

/** @throws TidemarkError FILE_NOT_USABLE, BAD_ARGUMENT */
export async function checkFile(options: FileImport): Promise<CheckedFile> {
  const { path, pointsOnly, follow } = options;
  await assertIsFile(path);
  const stamp = await stampOf(path);
  const besides = options.sidecar ?? sidecarPath(path);
  const sidecar = pointsOnly ? null : await readSidecar(besides);
  if (sidecar === null && !pointsOnly) {
    throw new TidemarkError(
      'FILE_NOT_USABLE',
      `${path} has no sidecar ${besides}, which states its coverage`,
      {
        remedy: 'name it with --sidecar, or import with --points-only: no coverage is claimed then',
      },
    );
  }
  if (sidecar !== null) await assertDescribed(path, sidecar.file);
  const format = options.format ?? sidecar?.file.format ?? formatOf(path);
  const file = await openRows(path, format, sidecar?.dataset ?? null);
  if (sidecar !== null && file.layout.dataset !== sidecar.dataset) {
    throw new TidemarkError(
      'FILE_NOT_USABLE',
      `${path} has ${file.layout.dataset}, and its sidecar ${sidecar.dataset}`,
    );
  }
  if (sidecar === null) return { file, counted: null, rows: null, stamp };
  const stated = statedSeries(sidecar, besides, follow);
  const progress = showPointProgress('check', { of: sidecar.file.rows, quiet: options.quiet });
  try {
    const counted = await countRows(path, { file, sidecar, stated }, (rows) => {
      options.beforePiece();
      progress.update(rows);
    });
    return { file, counted, rows: sidecar.file.rows, stamp };
  } finally {
    progress.stop();
  }
}

/**
 * Stores it, piece by piece. What was found out about a file does not hold for another one: with many files, hours may
 * lie between, in which the next export was laid in its place.
 *
 * @throws TidemarkError INTERRUPTED between two, FILE_NOT_USABLE when it is not the file that was checked.
 */
export async function importFile(options: FileImport, checked: CheckedFile): Promise<void> {
  const { file, counted, rows } = checked;
  await assertUnchanged(options.path, checked.stamp);
  const progress = showPointProgress('import', { of: rows, quiet: options.quiet });
  let done = 0;
  const sink =
    file.layout.dataset === 'rates' ? rateSink(options) : seriesSink(options, file.layout, counted);
  try {
    for await (const page of file.pages()) {
      options.beforePiece();
      await assertUnchanged(options.path, checked.stamp);
      await sink.take(page);
      done += page.length;
      progress.update(done);
    }
    options.beforePiece();
    await assertUnchanged(options.path, checked.stamp);
    await sink.end();
  } finally {
    progress.stop();
  }
}

/** @throws TidemarkError FILE_NOT_USABLE */
async function assertUnchanged(path: string, stamp: string): Promise<void> {
  if ((await stampOf(path)) === stamp) return;
  throw new TidemarkError('FILE_NOT_USABLE', `${path} was changed or replaced after it was checked`, {
    remedy: 'run the same command again; what was imported before is stored',
  });
}

/** @throws TidemarkError BAD_ARGUMENT */
function formatOf(path: string): FileFormat {
  const format = fileFormats.find((known) => path.toLowerCase().endsWith(`.${known}`));
  if (format !== undefined) return format;
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `${path} does not end in ${fileFormats.map((known) => `.${known}`).join(', ')}`,
    {
      remedy: 'say what it is with --format',
    },
  );
}
