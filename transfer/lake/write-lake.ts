/**
 * Writes a lake: a Parquet file for each month of each series, and the manifest.
 *
 *   planned    The coverage and the marks of changes in the store are compared with the manifest. No point is read.
 *   written    The points of a changed month are read in one snapshot with its coverage and its mark. The file is
 *              written beside its place, synced and renamed. A file with the same content is left alone.
 *   described  The manifest is replaced in the same way: at the end, and now and then during long work.
 *
 * A process that is killed leaves complete files, of which some are newer than the manifest says. The next run finds
 * these months changed, and writes them again.
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import type { Clock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { counted } from '../../model/format.ts';
import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import { clip, lengthMs, normalize, type Range } from '../../model/ranges.ts';
import type { ShowPoints } from '../../planning/progress.ts';
import type { Database } from '../../store/db/database.ts';
import { storeId } from '../../store/settings/settings.ts';
import { listRetentions } from '../../store/upkeep/retention.ts';
import { inSnapshot } from '../queries/export-series.ts';
import { type WantedMonth, wantedMonths } from './changes.ts';
import { commitTables } from './iceberg/commit.ts';
import { removeOrphans } from './iceberg/orphans.ts';
import { withLakeLock } from './lake-lock.ts';
import {
  createManifest,
  type Decimals,
  fileOf,
  type Lake,
  type LakeMonth,
  type LakeSeries,
  monthsOf,
  pathIn,
  readManifest,
  writeManifest,
} from './manifest.ts';
import { type MonthFile, type PreviousFile, readMonthFiles, SpareGroups } from './month-file.ts';
import { seriesPath } from './paths.ts';
import { countRevisions, readSeriesState, readSeriesStates, type SeriesState } from './series-states.ts';
import { openStorage } from './storage/open.ts';
import type { LakeStorage } from './storage/storage.ts';

export interface LakeOptions {
  /** Or `s3://bucket/prefix`. */
  readonly directory: string;
  /** Absent: as the lake has them; of a new lake {@link defaultDecimals}. */
  readonly decimals?: Decimals | undefined;
  /** Absent: as the lake has them; a new lake has none. */
  readonly doubles?: boolean | undefined;
  /** Whether it is one of tables of Iceberg; absent: as the lake is; a new lake is none. */
  readonly iceberg?: boolean | undefined;
  /** Compares every file with its checksum, and writes those again that differ. */
  readonly check?: boolean | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly showProgress: ShowPoints;
}

export type LakeOutcome = Awaited<ReturnType<LakeWriter['run']>>;

/** Fraction digits of a new lake: 18 digits are left before the point. */
const defaultDecimals = 20;

/** Months of one snapshot: short enough that it delays no vacuum, long enough that its cost does not count. */
const monthsOfPiece = 6;
/** One is encoded and stored while the other is read. */
const piecesAtOnce = 2;
/** Work that a killed process loses at most, besides its present month. */
const manifestEveryMs = 30_000;

/**
 * Writes what is new or has changed since the last time.
 *
 * @returns null when another process writes this lake.
 * @throws TidemarkError FILE_NOT_WRITTEN, FILE_NOT_USABLE, INTERRUPTED; BAD_ARGUMENT for another format than the lake
 * has, and for the lake of another database.
 */
export async function writeLake(database: Database, options: LakeOptions): Promise<LakeOutcome | null> {
  const storage = await openStorage(options.directory);
  return withLakeLock(database, storage.name, async () => {
    await storage.prepare();
    const found = await readManifest(storage);
    assertFormat(storage.name, found, options);
    const store = await storeId(database);
    assertStore(storage.name, found, store);
    const lake = found ?? {
      decimals: options.decimals ?? defaultDecimals,
      doubles: options.doubles ?? false,
      iceberg: options.iceberg ?? false,
      superseded: new Map<string, number | null>(),
      series: new Map<string, LakeSeries>(),
    };
    const isStated = lake.store !== undefined;
    if (found === null && lake.iceberg) await createManifest(storage, lake, options.clock.now());
    return new LakeWriter(database, { ...lake, store }, { ...options, storage }, !isStated).run();
  });
}

/** Another database would remove the files of its series, and take its points for theirs. */
function assertStore(name: string, lake: Lake | null, store: string): void {
  if (lake?.store === undefined || lake.store === store) return;
  throw new TidemarkError('BAD_ARGUMENT', `the lake in ${name} is that of another database`, {
    remedy: 'correct DATABASE_URL, or name another directory',
  });
}

function assertFormat(name: string, lake: Lake | null, { decimals, doubles, iceberg }: LakeOptions): void {
  if (lake === null) return;
  const differing =
    decimals !== undefined && decimals !== lake.decimals
      ? `has decimals ${lake.decimals}`
      : doubles !== undefined && doubles !== lake.doubles
        ? `has doubles ${lake.doubles}`
        : iceberg !== undefined && iceberg !== lake.iceberg
          ? `is ${lake.iceberg ? 'one' : 'none'} of tables of Iceberg`
          : null;
  if (differing === null) return;
  throw new TidemarkError('BAD_ARGUMENT', `the lake in ${name} ${differing}`, {
    remedy: 'name another directory: all files of a lake have the same columns',
  });
}

/** By month what it has to read: the most points that its coverage can have. */
interface PlannedSeries {
  readonly seriesId: number;
  readonly points: ReadonlyMap<string, number>;
}

/** Of each series the months that one snapshot shows. */
function piecesOf(planned: readonly PlannedSeries[]): PlannedSeries[] {
  return planned.flatMap(({ seriesId, points }) => {
    const months = [...points];
    return Array.from({ length: Math.ceil(months.length / monthsOfPiece) }, (_, place) => ({
      seriesId,
      points: new Map(months.slice(place * monthsOfPiece, (place + 1) * monthsOfPiece)),
    }));
  });
}

class LakeWriter {
  readonly #database: Database;
  readonly #lake: Lake & { readonly store: string };
  readonly #options: LakeOptions & { readonly storage: LakeStorage };
  readonly #spare = new SpareGroups();
  /** Whether the manifest differs from the stored one. */
  #isDirty: boolean;
  #savedMs: number;
  /** Files that were written, their rows and bytes, and files that were removed. */
  readonly #done = { written: 0, rows: 0, bytes: 0, removed: 0 };
  /** Files that are damaged or missing, and that the store cannot replace. */
  readonly #lost: string[] = [];

  constructor(
    database: Database,
    lake: Lake & { readonly store: string },
    options: LakeOptions & { readonly storage: LakeStorage },
    isDirty: boolean,
  ) {
    this.#database = database;
    this.#lake = lake;
    this.#options = options;
    this.#isDirty = isDirty;
    this.#savedMs = options.clock.monotonicMs();
  }

  async run() {
    // Of a new lake before its first file: files without a manifest are refused.
    await this.#save();
    const damaged = this.#options.check === true ? await this.#findDamaged() : new Set<string>();
    const dropped = await this.#droppedMs();
    const planned: PlannedSeries[] = [];
    for await (const state of readSeriesStates(this.#database)) {
      const droppedMs = dropped.get(state.series.dataset) ?? null;
      this.#forgetDamaged(state, droppedMs, damaged);
      const all = wantedMonths(state, this.#monthsOf(state), droppedMs);
      const months = all.filter(({ isChanged }) => isChanged);
      for (const month of all) if (!month.isChanged) this.#remember(state, month);
      this.#describe(state, all);
      const periodMs = intervalMs[state.series.interval];
      const points = new Map(months.map(({ name, covered }) => [name, Math.ceil(lengthMs(covered) / periodMs)]));
      if (months.length > 0) planned.push({ seriesId: state.seriesId, points });
    }
    try {
      await this.#write(planned, dropped);
    } finally {
      await this.#save();
    }
    if (this.#lake.iceberg) await this.#commit();
    if (this.#lost.length > 0) throw unrepeatable(this.#lost.map((path) => `${this.#options.storage.name}/${path}`));
    return this.#outcome();
  }

  async #write(planned: readonly PlannedSeries[], dropped: ReadonlyMap<string, EpochMs>): Promise<void> {
    const { signal, showProgress } = this.#options;
    const sumOf = (of: (series: PlannedSeries) => number) => planned.reduce((sum, series) => sum + of(series), 0);
    const files = sumOf(({ points }) => points.size);
    const progress = showProgress(
      'lake',
      sumOf(({ points }) => [...points.values()].reduce((sum, one) => sum + one, 0)),
    );
    let done = { files: 0, points: 0 };
    let failure: { readonly error: unknown } | null = null;
    const pieces = piecesOf(planned).values();
    const writeSome = async (): Promise<void> => {
      for (const { seriesId, points } of pieces) {
        if (failure !== null) return;
        try {
          await this.#writePiece(seriesId, points, dropped, (month) => {
            if (failure !== null) throw failure.error;
            if (signal.aborted) throw interrupted(done.files, files);
            done = { files: done.files + 1, points: done.points + (points.get(month.name) ?? 0) };
            progress.update(done.points);
          });
        } catch (error) {
          failure ??= { error };
        }
      }
    };
    try {
      // One connection has the lock.
      const connections = this.#database.pool.options.max - 1;
      await Promise.all(Array.from({ length: Math.min(piecesAtOnce, connections) }, writeSome));
    } finally {
      progress.stop();
    }
    throwIfAny(failure);
  }

  /** Writes months of a series from one snapshot. @param points by month. */
  async #writePiece(
    seriesId: number,
    points: ReadonlyMap<string, number>,
    dropped: ReadonlyMap<string, EpochMs>,
    onMonth: (month: WantedMonth) => void,
  ): Promise<void> {
    await inSnapshot(this.#database, async (client) => {
      const state = await readSeriesState(client, seriesId);
      const droppedMs = dropped.get(state.series.dataset) ?? null;
      const months = wantedMonths(state, this.#monthsOf(state), droppedMs).filter(({ name }) => points.has(name));
      await this.#writeMonths(client, state, months, onMonth);
      this.#describe(state, wantedMonths(state, this.#monthsOf(state), droppedMs));
    });
    if (this.#options.clock.monotonicMs() - this.#savedMs >= manifestEveryMs) await this.#save();
  }

  /** @param onMonth called for each month before its file is put in its place; throws to stop. */
  async #writeMonths(
    client: pg.PoolClient,
    state: SeriesState,
    months: readonly WantedMonth[],
    onMonth: (month: WantedMonth) => void,
  ): Promise<void> {
    const [first, last] = [months[0], months.at(-1)];
    if (first === undefined || last === undefined) return;
    const range = { startMs: first.range.startMs, endMs: last.range.endMs };
    const revisions = await countRevisions(client, state.seriesId, range);
    const previousOf = ({ name }: WantedMonth) => this.#previousOf(state, name);
    const format = { ...this.#lake, previousOf, spare: this.#spare };
    // Files are stored while the next month is read.
    const { parallel } = this.#options.storage;
    const storing: Array<Promise<void>> = [];
    try {
      for await (const { month, file } of readMonthFiles(client, state, months, format)) {
        onMonth(month);
        if (storing.length === parallel) await storing.shift();
        const stored = this.#store(state, month, file, revisions.get(month.name) ?? 0);
        // Whoever awaits it gets its error.
        stored.catch(() => {});
        storing.push(stored);
      }
    } finally {
      await Promise.all(storing);
    }
  }

  /** Puts a month's file in its place, and its entry in the manifest. */
  async #store(state: SeriesState, month: WantedMonth, file: MonthFile, revisions: number): Promise<void> {
    if (file.kind === 'lost') {
      if (!this.#lost.includes(file.path)) this.#lost.push(file.path);
      return;
    }
    const months = this.#monthsOf(state);
    const known = months.get(month.name);
    const isPresent = file.kind === 'file' && file.sha256 === known?.sha256;
    // What only the lake has stays where it is.
    const stays = known?.path !== undefined && file.kind === 'refused' && month.carried.length > 0;
    const left = stays || isPresent ? undefined : known?.path;
    const coverage = stays ? [...month.carried] : normalize([...month.covered, ...month.carried]);
    const entry = {
      month: month.name,
      coverage,
      complete: lengthMs(coverage) === month.range.endMs - month.range.startMs,
      changed: month.changed,
      ...(month.keptBeforeMs === null ? {} : { keptBefore: month.keptBeforeMs }),
      revisions,
    };
    if (coverage.length === 0) {
      this.#isDirty = true;
      months.delete(month.name);
    } else if (file.kind === 'file') {
      const { kind, content, ...described } = file;
      const path = pathIn(this.#lake, state.series, month.name, file.sha256);
      if (!isPresent) await this.#publish(path, content, file.rows);
      const since = isPresent && known.since !== undefined ? { since: known.since } : {};
      this.#enter(months, { ...entry, ...described, path, bytes: content.length, ...since });
    } else if (file.kind === 'empty') this.#enter(months, { ...entry, rows: 0 });
    else if (stays) this.#enter(months, { ...known, ...entry, refused: file.reason });
    else this.#enter(months, { ...entry, rows: 0, refused: file.reason });
    // After the entry no longer names it.
    if (left !== undefined) await this.#leave(left, file.kind === 'file');
  }

  #enter(months: Map<string, LakeMonth>, entry: LakeMonth): void {
    if (isDeepStrictEqual(months.get(entry.month), entry)) return;
    months.set(entry.month, entry);
    this.#isDirty = true;
  }

  async #publish(path: string, content: Buffer, rows: number): Promise<void> {
    await this.#options.storage.write(path, content);
    this.#lake.superseded.delete(path);
    this.#done.written += 1;
    this.#done.rows += rows;
    this.#done.bytes += content.length;
  }

  /** A file that is not that of its month any more. A table keeps it for its earlier snapshots. */
  async #leave(path: string, isReplaced: boolean): Promise<void> {
    if (this.#lake.iceberg) this.#lake.superseded.set(path, null);
    else if (!isReplaced) await this.#options.storage.remove(path);
    if (!isReplaced) this.#done.removed += 1;
    this.#isDirty = true;
  }

  #monthsOf({ series }: SeriesState): Map<string, LakeMonth> {
    const name = seriesPath(series);
    const known = this.#lake.series.get(name);
    if (known !== undefined) return known.months;
    const added: LakeSeries = { series, coverage: [], months: new Map() };
    this.#lake.series.set(name, added);
    return added.months;
  }

  #pathOf(state: SeriesState, month: string): string | null {
    const known = this.#lake.series.get(seriesPath(state.series));
    const entry = known?.months.get(month);
    return known === undefined || entry === undefined ? null : fileOf(this.#lake, known, entry);
  }

  #previousOf(state: SeriesState, month: string): PreviousFile | null {
    const path = this.#pathOf(state, month);
    return path === null ? null : { path, read: () => this.#options.storage.read(path) };
  }

  /** Notes that the store has dropped a part of an unchanged month. */
  #remember(state: SeriesState, { name, keptBeforeMs }: WantedMonth): void {
    const known = this.#monthsOf(state).get(name);
    if (known === undefined || keptBeforeMs === null || (known.keptBefore ?? 0) >= keptBeforeMs) return;
    this.#monthsOf(state).set(name, { ...known, keptBefore: keptBeforeMs });
    this.#isDirty = true;
  }

  /** States the coverage of a series: that of its months, and months that are confirmed to be empty. */
  #describe(state: SeriesState, months: readonly WantedMonth[]): void {
    const name = seriesPath(state.series);
    const known = this.#lake.series.get(name);
    if (known === undefined) return;
    const ranges: Range[] = [];
    for (const { name: month, range, covered, isChanged } of months) {
      const entry = known.months.get(month);
      if (entry !== undefined)
        ranges.push(...(entry.refused === undefined || entry.path !== undefined ? entry.coverage : []));
      else if (!isChanged) ranges.push(...clip([...covered], range));
    }
    const coverage = normalize(ranges);
    if (coverage.length === 0 && known.months.size === 0) this.#lake.series.delete(name);
    else if (JSON.stringify(coverage) !== JSON.stringify(known.coverage)) {
      known.coverage = coverage;
      this.#isDirty = true;
    }
  }

  /** By dataset: the time before which retention has dropped, or is about to drop, all points. */
  async #droppedMs(): Promise<Map<string, EpochMs>> {
    const { clock } = this.#options;
    const retentions = await listRetentions(this.#database, clock.now());
    return new Map(retentions.map(({ dataset, cutMs }) => [dataset, cutMs]));
  }

  /**
   * Removes the entries of damaged files, so that they are written again; those with points that only they have stay.
   */
  #forgetDamaged(state: SeriesState, droppedMs: EpochMs | null, damaged: ReadonlySet<string>): void {
    if (damaged.size === 0) return;
    const months = this.#monthsOf(state);
    for (const { name, carried } of wantedMonths(state, months, droppedMs)) {
      const path = this.#pathOf(state, name);
      if (path === null || !damaged.has(path)) continue;
      if (carried.length > 0) this.#lost.push(path);
      else {
        months.delete(name);
        this.#isDirty = true;
      }
    }
  }

  /** The files that are missing or differ from their checksum. */
  async #findDamaged(): Promise<Set<string>> {
    const { storage, signal, showProgress } = this.#options;
    const all = monthsOf(this.#lake).map(({ of, month }) => ({ month, path: fileOf(this.#lake, of, month) }));
    const damaged = new Set<string>();
    const progress = showProgress('check', all.length);
    try {
      for (const [at, { month, path }] of all.entries()) {
        if (signal.aborted) throw interrupted(0, 0);
        const content = path === null ? null : await storage.read(path);
        if (path !== null && (content === null || digestOf(content) !== month.sha256)) damaged.add(path);
        progress.update(at + 1);
      }
    } finally {
      progress.stop();
    }
    return damaged;
  }

  /** Makes all changes of the run visible in the tables. */
  async #commit(): Promise<void> {
    const { storage, clock } = this.#options;
    const committed = await commitTables(storage, this.#lake, clock.now());
    if (committed.hasChanged) this.#isDirty = true;
    await this.#save();
    for (const path of committed.expired) await storage.remove(path);
    if (this.#options.check === true) await removeOrphans(storage, this.#lake);
  }

  async #save(): Promise<void> {
    // Before the work, so that nobody else begins it.
    this.#savedMs = this.#options.clock.monotonicMs();
    if (!this.#isDirty) return;
    this.#isDirty = false;
    try {
      await writeManifest(this.#options.storage, this.#lake, this.#options.clock.now());
    } catch (error) {
      this.#isDirty = true;
      throw error;
    }
  }

  #outcome() {
    const months = monthsOf(this.#lake).map(({ of: { series }, month }) => ({ series, ...month }));
    return {
      ...this.#done,
      /** Files of the whole lake, and their rows. */
      files: months.filter(({ path }) => path !== undefined).length,
      allRows: months.reduce((sum, { rows }) => sum + rows, 0),
      /** Months whose points are left out, because the lake's type cannot hold a value of them. */
      refused: months.flatMap(({ series, month, refused }) =>
        refused === undefined ? [] : [{ series, month, reason: refused }],
      ),
    };
  }
}

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');

function throwIfAny(failure: { readonly error: unknown } | null): void {
  if (failure !== null) throw failure.error;
}

function unrepeatable([first, ...others]: readonly string[]): TidemarkError {
  const more = others.length === 0 ? '' : `, and ${counted(others.length, 'file')} more`;
  return new TidemarkError('FILE_NOT_USABLE', `${first} is missing or damaged${more}`, {
    remedy: 'restore it from a copy: retention has dropped some of its points from the database',
  });
}

function interrupted(done: number, total: number): TidemarkError {
  return new TidemarkError('INTERRUPTED', `stopped after ${done} of ${counted(total, 'file')}`, {
    remedy: 'run the same command again: it writes the rest',
  });
}
