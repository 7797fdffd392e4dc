/** What `tidemark.yaml` says of sources: their entries, and the aliases of their codes. */

import type { ZodType } from 'zod';
import { TidemarkError } from '../errors.ts';
import type { Alias } from '../store/series/aliases.ts';
import { aliasesOf, readWatchListFile } from './read.ts';
import { aliasesShape, problemsOf, type SourceEntry, sourcesShape } from './shape.ts';
import type { Problem } from './watch-list.ts';
import { readYaml } from './yaml.ts';

/** The entries of `sources`, by name. @throws TidemarkError BAD_WATCH_LIST */
export async function readSourceEntries(file: string): Promise<Readonly<Record<string, SourceEntry>>> {
  return (await readPart(file, 'sources', sourcesShape)) ?? {};
}

/** Whether the file names a source. Nothing else of it is read: the scheduler says what is wrong with it. */
export async function namesSource(file: string): Promise<boolean> {
  const found = await readWatchListFile(file);
  return found.kind === 'text' && /^[^#\n]*\bsources?["']?\s*:/m.test(found.text);
}

/** The `aliases`; null: the file has none. @throws TidemarkError BAD_WATCH_LIST */
export async function readAliasEntries(file: string): Promise<readonly Alias[] | null> {
  const aliases = await readPart(file, 'aliases', aliasesShape);
  return aliases === null ? null : aliasesOf(aliases);
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
