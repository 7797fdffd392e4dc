/** The entries of `sources` in `tidemark.yaml`. */

import { TidemarkError } from '../errors.ts';
import { readWatchListFile } from './read.ts';
import { problemsOf, type SourceEntry, sourcesShape } from './shape.ts';
import type { Problem } from './watch-list.ts';
import { readYaml } from './yaml.ts';

/**
 * The entries by name. A file without `sources` is not checked: a watch list under repair stops no command.
 *
 * @throws TidemarkError BAD_WATCH_LIST
 */
export async function readSourceEntries(file: string): Promise<Readonly<Record<string, SourceEntry>>> {
  const found = await readWatchListFile(file);
  if (found.kind === 'absent') return {};
  if (found.kind === 'unreadable') throw new TidemarkError('BAD_WATCH_LIST', `${file} ${found.why}`);
  if (!/^["']?sources["']?\s*:/m.test(found.text)) return {};
  const yaml = readYaml(found.text);
  if (yaml.kind === 'problems') throw refusal(file, yaml.problems);
  const { sources } = yaml.value as { readonly sources?: unknown };
  const parsed = sourcesShape.safeParse(sources);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({ ...issue, path: ['sources', ...issue.path] }));
  throw refusal(file, problemsOf({ issues }, yaml));
}

function refusal(file: string, [first]: readonly Problem[]): TidemarkError {
  return new TidemarkError(
    'BAD_WATCH_LIST',
    `${file}:${first?.line ?? 1}: ${first?.message ?? 'not usable'}`,
  );
}
