/**
 * The manifest of a lake: what each file holds, of which state of the store, and its checksum. It is written after the
 * files that it describes, so a file may be newer than the manifest says, and never older.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf, TidemarkError } from '../../errors.ts';
import { rangeText, timeText } from '../../files/layout.ts';
import { writeWholeFile } from '../../files/output.ts';
import { datasetNames, datasets } from '../../model/datasets/index.ts';
import type { Range } from '../../model/ranges.ts';
import { keyNames, keyOf, type SeriesKey, seriesName, seriesOfKey } from '../../model/series.ts';
import { version } from '../../version.ts';
import { lakePath, manifestName, seriesPath } from './paths.ts';

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
  series: z.array(seriesEntry),
});

/** What all files of a lake have in common. */
export interface LakeFormat {
  readonly decimals: Decimals;
  readonly doubles: boolean;
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
}

/**
 * @returns null when there is no lake yet.
 * @throws TidemarkError FILE_NOT_USABLE for a manifest that cannot be read, and for files of a lake without one.
 */
export async function readManifest(directory: string): Promise<Lake | null> {
  const path = join(directory, manifestName);
  try {
    const found = manifest.parse(JSON.parse(await readFile(path, 'utf8')));
    return {
      ...found,
      series: new Map(
        found.series.map((entry): [string, LakeSeries] => {
          const { series } = entry;
          const months = new Map(entry.months.map((one) => [one.month, one]));
          return [seriesPath(series), { series, coverage: entry.coverage, months }];
        }),
      ),
    };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw unusable(`${path} is not a manifest of a lake`, error);
    if ((await readdir(directory)).some((name) => name.startsWith('dataset=')))
      throw unusable(`${directory} has files of a lake, and no ${manifestName}`, error);
    return null;
  }
}

/** Written again from the store, files would lose what only they hold. */
function unusable(message: string, cause: unknown): TidemarkError {
  return new TidemarkError('FILE_NOT_USABLE', message, {
    cause,
    remedy:
      'restore the manifest from a copy, or name another directory: the files may hold points that retention has ' +
      'dropped from the database',
  });
}

/** Replaces the manifest. @throws TidemarkError FILE_NOT_WRITTEN */
export async function writeManifest(directory: string, lake: Lake, nowMs: number): Promise<void> {
  const head = {
    tidemark: 'lake',
    version: 1,
    madeBy: `tidemark ${version}`,
    writtenAt: timeText(nowMs),
    store: lake.store,
    decimals: lake.decimals,
    doubles: lake.doubles,
  };
  const entries = [...lake.series].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => entryLines(one));
  const text = `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "series": [${entries.join(',')}\n  ]\n}\n`;
  await writeWholeFile(join(directory, manifestName), Buffer.from(text));
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

/** The file of a month, if it has one. @throws TidemarkError FILE_NOT_USABLE for a path that a lake does not write. */
export function fileOf({ series }: LakeSeries, { month: name, path }: LakeMonth): string | null {
  if (path === undefined) return null;
  if (path === lakePath(series, name)) return path;
  throw new TidemarkError('FILE_NOT_USABLE', `the manifest names ${path} for ${seriesName(series)} ${name}`);
}
