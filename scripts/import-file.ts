/** One file on its way into the store. */

import { type SeriesKey, seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { assertDescribed, readSidecar } from '../files/check-file.ts';
import { type FileFormat, type FileRow, fileFormats, type Layout, type Names } from '../files/layout.ts';
import { openRows, type ReadRow, type RowFile } from '../files/row-reader.ts';
import { sidecarPath } from '../files/sidecar.ts';
import { storeRates } from '../store/import/rates.ts';
import { quarantineStrays } from '../store/import/strays.ts';
import { type Refusal, rateOf, seriesNamed, type TimedRate } from './import-rows.ts';
import { type ImportContext, SeriesImport } from './import-series.ts';
import { type StatedSeries, statedSeries } from './import-stated.ts';
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
  readonly stated: readonly StatedSeries[] | null;
  /** Null: nobody knows. */
  readonly rows: number | null;
}

/** @throws TidemarkError FILE_NOT_USABLE, BAD_ARGUMENT */
export async function checkFile(options: FileImport): Promise<CheckedFile> {
  const { path, pointsOnly, follow } = options;
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
  const file = await openRows(path, format, sidecar?.file.rows === 0 ? sidecar.dataset : null);
  if (sidecar !== null && file.layout.dataset !== sidecar.dataset) {
    throw new TidemarkError(
      'FILE_NOT_USABLE',
      `${path} has ${file.layout.dataset}, and its sidecar ${sidecar.dataset}`,
    );
  }
  return {
    file,
    stated: sidecar === null ? null : statedSeries(sidecar, besides, follow),
    rows: sidecar?.file.rows ?? null,
  };
}

/** Stores it, piece by piece. @throws TidemarkError INTERRUPTED between two. */
export async function importFile(options: FileImport, { file, stated, rows }: CheckedFile): Promise<void> {
  const progress = showPointProgress('import', { of: rows, quiet: options.quiet });
  let done = 0;
  const sink = file.layout.dataset === 'rates' ? rateSink(options) : seriesSink(options, file.layout, stated);
  try {
    for await (const page of file.pages()) {
      options.beforePiece();
      await sink.take(page);
      done += page.length;
      progress.update(done);
    }
    options.beforePiece();
    await sink.end();
  } finally {
    progress.stop();
  }
}

interface Sink {
  take(page: readonly ReadRow[]): Promise<void>;
  end(): Promise<void>;
}

/** Rows of a series lie together; where they do not, those that come later are out of order, and refused. */
function seriesSink(options: FileImport, layout: Layout, stated: readonly StatedSeries[] | null): Sink {
  const { database, tally } = options;
  const waiting = new Map(stated?.map((one) => [seriesName(one.series), one]));
  let current: { names: Names; series: SeriesImport } | null = null;
  let strays: Refusal[] = [];

  async function endCurrent(): Promise<void> {
    if (current !== null) tally.add(await current.series.end());
    current = null;
  }
  async function seriesOf(row: FileRow): Promise<SeriesImport | string> {
    if (current !== null && isSame(current.names, row.names)) return current.series;
    const series = seriesNamed(layout, row.names);
    if (typeof series === 'string') return series;
    const key = seriesName(series);
    const known = waiting.get(key);
    if (stated !== null && known === undefined) return 'the sidecar does not name this series here';
    await endCurrent();
    waiting.delete(key);
    current = { names: row.names, series: new SeriesImport(options, series, known?.stated ?? null) };
    return current.series;
  }
  async function storeStrays(): Promise<void> {
    await quarantineStrays(database, { dataset: layout.dataset, rows: strays, seenAtMs: Date.now() });
    tally.refuse(null, strays);
    strays = [];
  }
  return {
    async take(page) {
      for (const row of page) {
        const series = 'raw' in row ? row.reason : await seriesOf(row);
        if (typeof series === 'string' || 'raw' in row) {
          strays.push(strayOf(row, String(series)));
          // Whose it was nobody can say: perhaps that of the series under way.
          current?.series.doubt();
          continue;
        }
        const stored = await series.add(row);
        if (stored !== null) tally.add(stored);
      }
      await storeStrays();
    },
    async end() {
      await endCurrent();
      // Those of which there is no point: all that is known of them is coverage.
      for (const { series, stated: about } of waiting.values()) {
        tally.add(await new SeriesImport(options, series as SeriesKey, about).end());
      }
    },
  };
}

function rateSink({ database, tally }: FileImport): Sink {
  async function store(rows: readonly TimedRate[], refused: readonly Refusal[]): Promise<void> {
    const result = await storeRates(database, { rows, refused, nowMs: Date.now() });
    tally.add({ ...result, name: rows[0]?.rate.id ?? 'rates', refused });
  }
  return {
    async take(page) {
      const byCurrency = new Map<string, Map<number, TimedRate>>();
      const refused: Refusal[] = [];
      for (const row of page) {
        if ('raw' in row) {
          refused.push(row);
          continue;
        }
        const read = rateOf(row);
        if (read.row === null) {
          refused.push(read.refusal);
          continue;
        }
        const rates = byCurrency.get(read.row.rate.id) ?? new Map<number, TimedRate>();
        byCurrency.set(read.row.rate.id, rates);
        if (read.row.timeMs > Date.now()) refused.push({ raw: read.raw, reason: 'time: lies in the future' });
        else if (rates.has(read.row.timeMs)) refused.push({ raw: read.raw, reason: 'given twice' });
        else rates.set(read.row.timeMs, read.row);
      }
      for (const rates of byCurrency.values()) if (rates.size > 0) await store([...rates.values()], []);
      if (refused.length > 0) await store([], refused);
    },
    end: async () => {},
  };
}

function strayOf(row: ReadRow, reason: string): Refusal {
  return 'raw' in row ? row : { raw: JSON.stringify(row), reason };
}

function isSame(a: Names, b: Names): boolean {
  return a.every((name, place) => name === b[place]);
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
