/** Parts of `tidemark.yaml` that count by themselves: sources, the aliases of their codes, who is told. */

import type { ZodType } from 'zod';
import { TidemarkError } from '../errors.ts';
import { byDataset, datasets } from '../model/datasets/index.ts';
import { type Interval, intervalMs } from '../model/intervals.ts';
import type { LongestRanges, RangeLimits } from '../model/sources.ts';
import { parseDuration } from '../model/time-text.ts';
import type { Alias } from '../store/series/aliases.ts';
import { readWatchListFile } from './file.ts';
import { aliasesOf, notifyEntriesOf } from './read.ts';
import { aliasesShape, notifyShape, problemsOf, type SourceEntry, sourcesShape } from './shape.ts';
import type { NotifyEntry, Problem } from './watch-list.ts';
import { readYaml } from './yaml.ts';

/** The entries of `sources`, by name. @throws TidemarkError BAD_WATCH_LIST */
export async function readSourceEntries(file: string): Promise<Readonly<Record<string, SourceEntry>>> {
  return (await readPart(file, 'sources', sourcesShape)) ?? {};
}

/** The longest ranges of requests to the default source, in whole periods. @throws TidemarkError BAD_WATCH_LIST */
export async function readDefaultRanges(file: string): Promise<RangeLimits> {
  const ranges = (await readSourceEntries(file)).default?.ranges ?? {};
  return byDataset((_, name) => wholePeriods(ranges[datasets[name].word]));
}

function wholePeriods(ranges: { readonly [interval in Interval]?: string | undefined } = {}): LongestRanges {
  const lengths = Object.entries<string | undefined>(ranges).map(([interval, length = '']) => {
    const periodMs = intervalMs[interval as Interval];
    return [interval, Math.floor((parseDuration(length) ?? 0) / periodMs) * periodMs];
  });
  return Object.fromEntries(lengths);
}

/** The `aliases`; null: the file has none. @throws TidemarkError BAD_WATCH_LIST */
export async function readAliasEntries(file: string): Promise<readonly Alias[] | null> {
  const aliases = await readPart(file, 'aliases', aliasesShape);
  return aliases === null ? null : aliasesOf(aliases);
}

/** Who is told. @throws TidemarkError BAD_WATCH_LIST */
export async function readNotifyEntries(file: string): Promise<readonly NotifyEntry[]> {
  return notifyEntriesOf((await readPart(file, 'notify', notifyShape)) ?? []);
}

/** A file without the key is not checked, and nothing beside it is: a watch list under repair stops no command. */
async function readPart<Value>(file: string, key: string, shape: ZodType<Value>): Promise<Value | null> {
  const found = await readWatchListFile(file);
  if (found.kind === 'absent') return null;
  if (found.kind === 'unreadable') throw new TidemarkError('BAD_WATCH_LIST', `${file} ${found.why}`);
  if (!new RegExp(`^["']?${key}["']?\\s*:`, 'm').test(found.text)) return null;
  const yaml = readYaml(found.text);
  if (yaml.kind === 'problems') throw refusal(file, yaml.problems);
  const parsed = shape.safeParse((yaml.value as Readonly<Record<string, unknown>>)[key]);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ ...issue, path: [key, ...issue.path] }));
  throw refusal(file, problemsOf({ issues }, yaml));
}

function refusal(file: string, [first]: readonly Problem[]): TidemarkError {
  return new TidemarkError('BAD_WATCH_LIST', `${file}:${first?.line ?? 1}: ${first?.message ?? 'not usable'}`);
}
