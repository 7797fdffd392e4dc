/**
 * The manifest of a lake: what each file holds, of which state of the store, and its checksum. It is written after the
 * files that it describes, so a file may be newer than the manifest says, and never older.
 */

import { z } from 'zod';
import { TidemarkError } from '../../errors.ts';
import { rangeText, timeText } from '../../files/layout.ts';
import { datasetNames, datasets } from '../../model/datasets/index.ts';
import type { Range } from '../../model/ranges.ts';
import { keyNames, keyOf, type SeriesKey, seriesName, seriesOfKey } from '../../model/series.ts';
import { version } from '../../version.ts';
import { isOfLake, lakePath, manifestName, seriesPath, tableFilePath } from './paths.ts';
import { conditionRemedy, type LakeStorage } from './storage/storage.ts';

const time = z.iso.datetime().transform((text) => Date.parse(text));
const range = z.object({ from: time, to: time }).transform(({ from, to }): Range => ({ startMs: from, endMs: to }));
const count = z.int().min(0);

const month = z.object({
  /** Such as `2024-01`. */
  month: z.string().regex(/^\d{4,6}-\d{2}$/),
  /** What of the month was requested, answered and committed when the file was written. */
  coverage: z.array(range),
  /** Whether that is all of it. */
  complete: z.boolean(),
  /** Mark of the newest change of its points; null: none since the store keeps them. */
  changed: z.string().nullable(),
  rows: count,
  /** Values of its points that the source replaced. */
  revisions: count,
  /** Absent: there is no file, because no point lies in the coverage, or because of `refused`. */
  path: z.string().optional(),
  bytes: count.optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** In a table: the least and the greatest value by column, except of doubles; absent: there is none. */
  extremes: z.record(z.string(), z.tuple([z.string(), z.string()])).optional(),
  /** In a table: absent values by column; absent: none. */
  nulls: z.record(z.string(), count).optional(),
  /** In a table: the number of the commit that added the file; absent: not yet. */
  since: count.optional(),
  /** Why its points are in no file, or only those that an earlier file has and the store no longer. */
  refused: z.string().optional(),
  /** Retention has dropped its points before this time from the store; the file keeps them. */
  keptBefore: time.optional(),
});
export type LakeMonth = z.output<typeof month>;

const seriesEntry = z
  .object({
    dataset: z.enum(datasetNames),
    ...{ exchange: z.string().optional(), base: z.string().optional(), quote: z.string().optional() },
    ...{ asset: z.string().optional(), interval: z.string() },
    coverage: z.array(range),
    rows: count,
    revisions: count,
    months: z.array(month),
  })
  .transform(({ dataset, coverage, months, ...names }, context) => {
    const key = keyNames[datasets[dataset].of].map((name) => names[name]);
    const series = key.every((name) => name !== undefined) ? seriesOfKey(dataset, key) : null;
    if (series !== null) return { series, coverage, months };
    context.addIssue({ code: 'custom', message: `not a series of ${dataset}` });
    return z.NEVER;
  });

/** Fraction digits of every DECIMAL(38, n) of the lake; `text`: values are text. */
const decimals = z.union([z.int().min(0).max(38), z.literal('text')]);
export type Decimals = z.output<typeof decimals>;

const manifest = z.object({
  tidemark: z.literal('lake'),
  version: z.literal(1),
  /** The store that it is a copy of; absent: an earlier version wrote it. */
  store: z.string().optional(),
  decimals,
  doubles: z.boolean(),
  iceberg: z.boolean().default(false),
  /** Files that only earlier snapshots of a table have. */
  superseded: z.array(z.object({ path: z.string(), by: count.nullable() })).default([]),
  series: z.array(seriesEntry),
});

/** What all files of a lake have in common. */
export interface LakeFormat {
  readonly decimals: Decimals;
  readonly doubles: boolean;
  /** Whether its files are those of tables of Iceberg, one for each dataset. */
  readonly iceberg: boolean;
}

export interface LakeSeries {
  readonly series: SeriesKey;
  /** Coverage of the lake: that of its months, and confirmed empty ranges. */
  coverage: readonly Range[];
  /** By name. */
  readonly months: Map<string, LakeMonth>;
}

export interface Lake extends LakeFormat {
  /** The store that it is a copy of; undefined: not stated. */
  store?: string | undefined;
  /** By {@link seriesPath}. */
  readonly series: Map<string, LakeSeries>;
  /** Files that only earlier snapshots of a table have: the commit that left them out, null: the next one. */
  readonly superseded: Map<string, number | null>;
}

/**
 * @returns null when there is no lake yet.
 * @throws TidemarkError FILE_NOT_USABLE for a manifest that cannot be read, and for files of a lake without one.
 */
export async function readManifest(storage: LakeStorage): Promise<Lake | null> {
  const content = await storage.read(manifestName);
  if (content === null) {
    for await (const path of storage.list(''))
      if (isOfLake(path)) throw unusable(`${storage.name} has files of a lake, and no ${manifestName}`);
    return null;
  }
  try {
    const found = manifest.parse(JSON.parse(content.toString()));
    return {
      ...found,
      superseded: new Map(found.superseded.map(({ path, by }) => [path, by])),
      series: new Map(
        found.series.map((entry): [string, LakeSeries] => {
          const { series } = entry;
          const months = new Map(entry.months.map((one) => [one.month, one]));
          return [seriesPath(series), { series, coverage: entry.coverage, months }];
        }),
      ),
    };
  } catch (error) {
    throw unusable(`${storage.name}/${manifestName} is not a manifest of a lake`, error);
  }
}

/** Written again from the store, files would lose what only they hold. */
function unusable(message: string, cause?: unknown): TidemarkError {
  return new TidemarkError('FILE_NOT_USABLE', message, {
    cause,
    remedy:
      'restore the manifest from a copy, or name another directory: the files may hold points that retention has ' +
      'dropped from the database',
  });
}

/** Replaces the manifest. @throws TidemarkError FILE_NOT_WRITTEN */
export async function writeManifest(storage: LakeStorage, lake: Lake, nowMs: number): Promise<void> {
  await storage.write(manifestName, manifestBytes(lake, nowMs));
}

/**
 * Writes the first manifest of a lake, and tries whether the storage can commit: it must not replace a file that is
 * there.
 *
 * @throws TidemarkError FILE_NOT_WRITTEN when it does, and when another process has begun the lake.
 */
export async function createManifest(storage: LakeStorage, lake: Lake, nowMs: number): Promise<void> {
  const content = manifestBytes(lake, nowMs);
  if (!(await storage.create(manifestName, content)))
    throw new TidemarkError('FILE_NOT_WRITTEN', `another process has begun the lake in ${storage.name}`);
  if (!(await storage.create(manifestName, content))) return;
  await storage.remove(manifestName);
  throw new TidemarkError('FILE_NOT_WRITTEN', `${storage.name} replaces a file in spite of If-None-Match`, {
    remedy: conditionRemedy,
  });
}

function manifestBytes(lake: Lake, nowMs: number): Buffer {
  const head = {
    tidemark: 'lake',
    version: 1,
    madeBy: `tidemark ${version}`,
    writtenAt: timeText(nowMs),
    store: lake.store,
    decimals: lake.decimals,
    doubles: lake.doubles,
    ...(lake.iceberg ? { iceberg: true, superseded: [...lake.superseded].map(([path, by]) => ({ path, by })) } : {}),
  };
  const entries = [...lake.series].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => entryLines(one));
  const text = `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "series": [${entries.join(',')}\n  ]\n}\n`;
  return Buffer.from(text);
}

/** A series, with a line for each month. */
function entryLines({ series, coverage, months }: LakeSeries): string {
  const all = [...months.values()].sort((a, b) => (a.month < b.month ? -1 : 1));
  const sum = (of: 'rows' | 'revisions') => all.reduce((total, one) => total + one[of], 0);
  const names = keyNames[datasets[series.dataset].of].map((name, place) => [name, keyOf(series)[place]]);
  const head = {
    dataset: series.dataset,
    ...Object.fromEntries(names),
    coverage: coverage.map(rangeText),
    rows: sum('rows'),
    revisions: sum('revisions'),
  };
  const lines = all.map((one) => `      ${JSON.stringify(monthText(one))}`);
  return `\n    ${JSON.stringify(head).slice(0, -1)},"months":[\n${lines.join(',\n')}\n    ]}`;
}

function monthText({ keptBefore, ...one }: LakeMonth): z.input<typeof month> {
  return {
    ...one,
    coverage: one.coverage.map(rangeText),
    ...(keptBefore === undefined ? {} : { keptBefore: timeText(keptBefore) }),
  };
}

/** Every month of a lake, with its series. */
export const monthsOf = (lake: Lake) =>
  [...lake.series.values()].flatMap((of) => [...of.months.values()].map((month) => ({ of, month })));

/** Where a lake has the file of a month. */
export function pathIn({ iceberg }: LakeFormat, series: SeriesKey, month: string, sha256: string): string {
  return iceberg ? tableFilePath(series, month, sha256) : lakePath(series, month);
}

/** The file of a month, if it has one. @throws TidemarkError FILE_NOT_USABLE for a path that a lake does not write. */
export function fileOf(format: LakeFormat, { series }: LakeSeries, { month, path, sha256 }: LakeMonth): string | null {
  if (path === undefined) return null;
  if (path === pathIn(format, series, month, sha256 ?? '')) return path;
  throw new TidemarkError('FILE_NOT_USABLE', `the manifest names ${path} for ${seriesName(series)} ${month}`);
}
