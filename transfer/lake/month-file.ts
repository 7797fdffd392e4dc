/**
 * The Parquet files of months of a series, each in memory: at most 44,640 rows. One COPY reads months that follow each
 * other.
 */

import { webcrypto } from 'node:crypto';
import type { SchemaElement } from 'hyparquet';
import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import { timeAt, tupleReader } from '../../files/copied-tuples.ts';
import { ValueMisfit } from '../../files/decimals/decimal-type.ts';
import { decimalOf } from '../../files/decimals/text.ts';
import { openParquet } from '../../files/formats.ts';
import { layouts, type Point, timeText } from '../../files/layout.ts';
import { encode } from '../../files/parquet/encoder.ts';
import { openPages, type PagesWriter } from '../../files/parquet/pages.ts';
import { RowGroup } from '../../files/parquet/row-group.ts';
import { type Columns, parquetSchema } from '../../files/parquet/schema.ts';
import { rowsOf } from '../../files/point-pages.ts';
import type { DatasetName } from '../../model/datasets/index.ts';
import { dayMs, intervalMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { keyOf, type SeriesKey } from '../../model/series.ts';
import { copyPoints, selectPoints } from '../queries/export-points.ts';
import type { WantedMonth } from './changes.ts';
import { columnsOf } from './columns.ts';
import type { LakeFormat, LakeMonth } from './manifest.ts';
import type { SeriesState } from './series-states.ts';

export type MonthFile =
  | { readonly kind: 'empty' }
  /** A value that the type of the lake cannot hold exactly. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The present file has points that the store has dropped, and cannot be read. */
  | { readonly kind: 'lost'; readonly path: string }
  | FoundFile;
interface FoundFile extends Statistics {
  readonly kind: 'file';
  readonly rows: number;
  readonly sha256: string;
  readonly content: Buffer;
}
/** What a table states of a file. */
type Statistics = Pick<LakeMonth, 'extremes' | 'nulls'>;

export interface PreviousFile {
  readonly path: string;
  /** Null: there is none. */
  read(): Promise<Buffer | null>;
}

interface MonthsFormat extends LakeFormat {
  /** The present file of a month; null: there is none. What the store has dropped is taken from it. */
  readonly previousOf: (month: WantedMonth) => PreviousFile | null;
  readonly spare: SpareGroups;
}

/**
 * Reads the points of months and encodes them, in their order. Until the end the client answers nothing else.
 *
 * @param months ascending.
 */
export async function* readMonthFiles(
  client: pg.PoolClient,
  { seriesId, series }: SeriesState,
  months: readonly WantedMonth[],
  format: MonthsFormat,
): AsyncGenerator<{ month: WantedMonth; file: MonthFile }> {
  const width = 1 + layouts[series.dataset].values.length;
  for (const run of adjacent(months)) {
    const carried = await Promise.all(
      run.map((month) => readCarried(format.previousOf(month), series.dataset, month.carried)),
    );
    const files: Array<FileOfMonth | undefined> = [];
    const fileAt = (place: number) => (files[place] ??= new FileOfMonth(series, carried[place]?.points ?? [], format));
    let present = 0;
    const read = tupleReader(width, (bytes, at) => {
      const timeMs = timeAt(bytes, at + 4);
      while (timeMs >= (run[present]?.range.endMs ?? Number.POSITIVE_INFINITY)) present += 1;
      if (carried[present]?.lost === undefined) fileAt(present).take(bytes, at);
    });
    async function made(place: number, month: WantedMonth): Promise<{ month: WantedMonth; file: MonthFile }> {
      const { lost, points = [] } = carried[place] ?? {};
      if (lost !== undefined) return { month, file: { kind: 'lost', path: lost } };
      const file = files[place] ?? (points.length > 0 ? fileAt(place) : undefined);
      files[place] = undefined;
      return { month, file: file === undefined ? { kind: 'empty' } : await file.end() };
    }
    let next = 0;
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) continue;
    const range = { startMs: first.range.startMs, endMs: last.range.endMs };
    const selection = selectPoints({ seriesId, series, range, covered: run.flatMap(({ covered }) => covered) });
    for await (const piece of copyPoints(client, selection, 'binary')) {
      read(piece);
      for (; next < present; next += 1) yield await made(next, run[next] ?? first);
    }
    for (; next < run.length; next += 1) yield await made(next, run[next] ?? first);
  }
}

/** Splits months where one is missing between two. */
function adjacent(months: readonly WantedMonth[]): WantedMonth[][] {
  const runs: WantedMonth[][] = [];
  for (const month of months) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)?.range.endMs === month.range.startMs) run.push(month);
    else runs.push([month]);
  }
  return runs;
}

/** Kinds of series whose row groups are kept. */
const mostKinds = 2;

/** Row groups to fill again: as large as a month, they are not allocated for each. */
export class SpareGroups {
  readonly #groups = new Map<string, RowGroup[]>();

  take(series: SeriesKey, columns: Columns): RowGroup {
    const found = this.#groups.get(kindOf(series))?.pop();
    return found ?? new RowGroup(columns, Math.ceil(longestMonthMs / intervalMs[series.interval]));
  }

  give(series: SeriesKey, group: RowGroup): void {
    group.clear();
    const kind = kindOf(series);
    const kept = this.#groups.get(kind) ?? [];
    kept.push(group);
    this.#groups.set(kind, kept);
    const [oldest] = this.#groups.keys();
    if (this.#groups.size > mostKinds && oldest !== undefined) this.#groups.delete(oldest);
  }
}

const kindOf = ({ dataset, interval }: SeriesKey) => `${dataset} ${interval}`;

class FileOfMonth {
  readonly #series: SeriesKey;
  readonly #format: MonthsFormat;
  readonly #schema: SchemaElement[];
  readonly #group: RowGroup;
  /** Why a value does not fit; null: all do. */
  #misfit: string | null = null;

  constructor(series: SeriesKey, carried: readonly Point[], format: MonthsFormat) {
    const columns = columnsOf(series.dataset, format);
    this.#series = series;
    this.#format = format;
    this.#schema = parquetSchema(columns);
    this.#group = format.spare.take(series, columns);
    this.#group.begin(keyOf(series));
    for (const point of carried) this.#add(() => this.#group.takeText(point));
  }

  take(bytes: Buffer, at: number): void {
    this.#add(() => this.#group.take(bytes, at));
  }

  #add(take: () => void): void {
    if (this.#misfit !== null) return;
    try {
      take();
    } catch (error) {
      if (!(error instanceof ValueMisfit)) throw error;
      this.#misfit = error.message;
    }
  }

  async end(): Promise<MonthFile> {
    try {
      return this.#misfit === null ? await this.#encoded() : { kind: 'refused', reason: this.#misfit };
    } finally {
      this.#format.spare.give(this.#series, this.#group);
    }
  }

  async #encoded(): Promise<MonthFile> {
    const pieces: Uint8Array[] = [];
    const pages = openPages(this.#schema, { write: async (piece) => void pieces.push(piece) });
    await pages.add(await encode(this.#group.filled()));
    await pages.finish();
    const content = Buffer.concat(pieces);
    // In a thread of Node's.
    const sha256 = Buffer.from(await webcrypto.subtle.digest('SHA-256', content)).toString('hex');
    const statistics = this.#format.iceberg ? statisticsOf(pages, this.#schema.slice(1)) : {};
    return { kind: 'file', rows: this.#group.rows, content, sha256, ...statistics };
  }
}

/** A file of a month has one row group. */
function statisticsOf(pages: PagesWriter, elements: readonly SchemaElement[]): Statistics {
  const extremes: Record<string, [string, string]> = {};
  const nulls: Record<string, number> = {};
  const [found = []] = pages.statistics();
  for (const [place, { name, scale = 0 }] of elements.entries()) {
    const column = found[place];
    if (column === undefined) continue;
    if (column.nulls > 0) nulls[name] = column.nulls;
    const { least, greatest } = column;
    if (typeof least !== 'bigint' || typeof greatest !== 'bigint') continue;
    const textOf = (value: bigint) =>
      name === 'time' ? timeText(Number(value / 1000n)) : decimalOf(value, scale, null);
    extremes[name] = [textOf(least), textOf(greatest)];
  }
  return { extremes, ...(Object.keys(nulls).length === 0 ? {} : { nulls }) };
}

const longestMonthMs = 31 * dayMs;

/** Reads the points that only the present file has; `lost`: it cannot be read. */
async function readCarried(
  previous: PreviousFile | null,
  dataset: DatasetName,
  ranges: readonly Range[],
): Promise<{ points: Point[]; lost?: string }> {
  const points: Point[] = [];
  if (previous === null || ranges.length === 0) return { points };
  const { path } = previous;
  const content = await previous.read();
  if (content === null) return { points, lost: path };
  try {
    for await (const page of (await openParquet(path, content, dataset)).pages()) {
      for (const row of rowsOf(page)) {
        if (!('time' in row) || typeof row.time !== 'number') continue;
        const { time: timeMs } = row;
        if (ranges.some(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs))
          points.push({ timeMs, values: row.values });
      }
    }
    return { points };
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'FILE_NOT_USABLE') return { points: [], lost: path };
    throw error;
  }
}
