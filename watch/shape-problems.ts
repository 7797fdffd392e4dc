/** What zod finds wrong with a watch list's shape, as lines with their places. */

import type { z } from 'zod';
import type { Problem } from './problem.ts';
import type { Located } from './yaml.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

export function problemsOf(error: z.ZodError, yaml: Extract<Located, { kind: 'value' }>): Problem[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, [], yaml));
}

function problemsOfIssue(issue: Issue, above: Path, yaml: Extract<Located, { kind: 'value' }>): Problem[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union') {
    // Of one or many: what came is nearer to the one that it got further into.
    const [nearest = []] = [...issue.errors].sort((a, b) => furthest(b) - furthest(a));
    return nearest.flatMap((inner) => problemsOfIssue(inner, path, yaml));
  }
  if (issue.code === 'unrecognized_keys') {
    const messages = issue.message.split('\n');
    return issue.keys.map((key, index) => ({
      ...yaml.keyPlace([...path, key]),
      message: messages[index] ?? issue.message,
    }));
  }
  return [{ ...yaml.place(path), message: `${nameOf(path)} ${issue.message}` }];
}

function furthest(issues: readonly Issue[]): number {
  return Math.max(...issues.map((issue) => issue.path.length + (issue.code === 'invalid_type' ? 0 : 0.5)));
}

/** What the message is about: the key, or for one of several entries what they are listed under. */
function nameOf(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return 'it';
  if (typeof last === 'string') return last;
  const list = String(path.at(-2));
  return ['candles', 'history', 'asset-markets'].includes(list) ? `an entry of ${list}` : list;
}
