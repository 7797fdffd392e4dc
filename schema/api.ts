/**
 * The API: every view and function, in the order of creation. `api/*.sql` hold them, each object after a line that names it,
 * such as `--: function tidemark.edit_distance(text, text)`, and with its comment; a long name continues on a line after
 * `--:   `. `derived.ts` generates the others.
 */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { completeness } from './completeness.ts';
import { constants, derivedViews, gapReasons } from './derived.ts';

/** A view or function. It holds no state, and can be recreated. */
export interface ApiObject {
  /** With its schema; a function's with its argument types in parentheses, as `to_regprocedure` takes them. */
  readonly name: string;
  /** Creates or replaces it, with its comment and grants. */
  readonly create: string;
  readonly drop: string;
}

const folder = join(dirname(fileURLToPath(import.meta.url)), 'api');
const read = (subject: string) => readFileSync(join(folder, `${subject}.sql`), 'utf8');

/** @param timescale whether the points are a hypertable. */
export function apiObjects(timescale: boolean): ApiObject[] {
  const subjects = 'names lines ranges figures candles returns averages charts currencies joins buckets'.split(' ');
  const later = 'silences revisions sources service help'.split(' ');
  const texts = [
    ...[constants, read('views'), derivedViews(timescale), ...subjects.map(read)],
    ...[gapReasons, completeness, ...later.map(read)],
  ];
  return texts.flatMap(readObjects);
}

function readObjects(text: string): ApiObject[] {
  const [, ...objects] = text.split(/^--: (?=\w)/m);
  return objects.map((object) => {
    const [heading = '', kind = '', named = ''] = /^(\w+) (.*(?:\n--: .*)*)\n/.exec(object) ?? [];
    const name = named.replaceAll(/\n--: +/g, '').replaceAll(', ', ',');
    return Object.freeze({ name, create: object.slice(heading.length), drop: `drop ${kind} ${name}` });
  });
}
