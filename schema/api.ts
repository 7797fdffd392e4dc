/**
 * The API: every view and function, in the order of creation. `api/*.sql` hold them, each object after a line that
 * names it, such as `--: function tidemark.edit_distance(text, text)`, and with its comment; a long name continues on a
 * line after
 * `--:   `. `derived.ts` generates the others.
 *
 * `api/analysis/*.sql` come last. Nothing needs them, nor do they need each other: a file that is removed is left out.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { candleFunctions, constants, derivedViews, gapReasons, knownAtFunctions, rejectedRanges } from './derived.ts';

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
  return [...coreObjects(timescale), ...[...analyses().values()].flat()];
}

/** The functions of analysis, by their file. */
export function analyses(): ReadonlyMap<string, ApiObject[]> {
  const names = readdirSync(join(folder, 'analysis')).filter((name) => name.endsWith('.sql'));
  return new Map(names.sort().map((name) => [name, readObjects(read(`analysis/${name.slice(0, -'.sql'.length)}`))]));
}

function coreObjects(timescale: boolean): ApiObject[] {
  const subjects = [
    ...['names', 'lines', 'ranges', 'figures', 'candles', 'charts', 'currencies', 'joins'],
    ...['buckets', 'derivatives', 'coverage', 'quality', 'revisions', 'sources', 'service', 'upkeep', 'help'],
  ].map(read);
  const functions = [candleFunctions, knownAtFunctions];
  const texts = [
    constants,
    gapReasons,
    rejectedRanges,
    read('views'),
    derivedViews(timescale),
    ...subjects,
    ...functions,
  ];
  const objects = texts.flatMap(readObjects);
  return objects.map((object) => (object.name.includes('(') ? object : withBodies(object, objects)));
}

const shared = ['closed_series', 'deferred_parts', 'gap_pieces', 'rejected_ranges'].map((name) => `tidemark.${name}`);

/**
 * Writes the body of a shared function in place of a call in a view. PostgreSQL would do the same, but it checks the
 * rights on tables of a function for the reader of the view, and those on tables of the view for its owner.
 */
function withBodies(view: ApiObject, objects: readonly ApiObject[]): ApiObject {
  const call = new RegExp(`(${shared.join('|')})\\(((?:[^()]|\\([^()]*\\))*)\\)`, 'g');
  const expand = (sql: string): string =>
    sql.replaceAll(call, (_, name: string, given: string) => {
      const body = objects.find((one) => one.name.startsWith(`${name}(`))?.create.split('$$')[1] ?? '';
      const values = given.split(/,(?![^(]*\))/).map((value) => value.trim());
      return `(${expand(body.replaceAll(/\$(\d)/g, (_, place: string) => values[Number(place) - 1] ?? ''))})`;
    });
  return Object.freeze({ ...view, create: expand(view.create) });
}

function readObjects(text: string): ApiObject[] {
  const [, ...objects] = text.split(/^--: (?=\w)/m);
  return objects.map((object) => {
    const [heading = '', kind = '', named = ''] = /^(\w+) (.*(?:\n--: .*)*)\n/.exec(object) ?? [];
    const name = named.replaceAll(/\n--: +/g, '').replaceAll(', ', ',');
    return Object.freeze({ name, create: object.slice(heading.length), drop: `drop ${kind} ${name}` });
  });
}
