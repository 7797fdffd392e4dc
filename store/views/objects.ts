/** The derived objects besides the rollups: views and functions. */

import { behind } from '../rollups/behind.ts';
import { averages, vwap } from './averages.ts';
import { currencies } from './currencies.ts';
import { figures, lines } from './lines.ts';
import { names, refusals } from './names.ts';
import { ohlcv } from './ohlcv.ts';
import { completeness, ranges } from './ranges.ts';
import { correlation, returns, seasonality } from './returns.ts';
import { revisions } from './revisions.ts';
import { snapshots } from './snapshots.ts';
import { statements } from './statements.ts';
import { detachCandles, views } from './views.ts';

/** In the order of creation. @param timescale whether the points are a hypertable. */
export function derivedObjects(timescale: boolean): DerivedObject[] {
  const texts = [
    ...[behind, views(timescale), names, refusals, lines, ranges, statements, figures, ohlcv, returns],
    ...[averages, vwap, correlation, currencies, seasonality, completeness, revisions, snapshots],
  ];
  return texts
    .flatMap(objectsIn)
    .map((object) => (object.name === 'public.candles' ? { ...object, detach: detachCandles } : object));
}

/** A view or function that is derived from the tables. It holds no state, and can be recreated. */
export interface DerivedObject {
  /**
   * With its schema; a function's with its argument types in parentheses, as `to_regprocedure` takes them.
   */
  readonly name: string;
  /** Creates or replaces it: `create or replace`. */
  readonly create: string;
  readonly drop: string;
  /** Detaches it from the rollups that exist, so that they can be dropped. */
  readonly detach?: string;
}

/**
 * Splits an SQL text into derived objects: it may create several functions, aggregates and views, in order.
 * Their names, with a function's argument types, are read from the text.
 *
 * @throws Error for a text that does not begin with `create or replace`.
 */
export function objectsIn(sql: string): DerivedObject[] {
  const statements = sql.split(/^(?=create or replace (?:function|aggregate|view) )/m);
  const [before = '', ...creates] = statements;
  if (before.replaceAll(/^--.*$/gm, '').trim() !== '')
    throw new Error(`not the making of an object: ${before}`);
  return creates.map((create) => {
    const [, kind = '', name = ''] = /^create or replace (\w+) ([\w.]+)/.exec(create) ?? [];
    const signature = kind === 'view' ? name : `${name}(${argumentTypes(create).join(',')})`;
    return Object.freeze({ name: signature, create, drop: `drop ${kind} ${signature}` });
  });
}

/**
 * The types of the input arguments, from the first list in parentheses. Types and defaults contain no comma.
 */
function argumentTypes(create: string): string[] {
  const list = create.slice(create.indexOf('(') + 1, create.indexOf(')'));
  return list
    .split(',')
    .map((argument) => argument.trim())
    .filter((argument) => argument !== '' && !argument.startsWith('out '))
    .map((argument) => argument.replace(/ default .*$/s, '').replace(/^\S+\s+/, ''));
}
