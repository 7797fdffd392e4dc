/**
 * SQL texts as derived objects: a text may make several functions, aggregates and views, in order. Each one's name, a
 * function's with its arguments' types, is read from its text, so that it stands in one place.
 */

import type { DerivedObject } from './derived-object.ts';

/** @throws Error for a text that does not begin with `create or replace`. */
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

/** The types of what goes in, from the first list in parentheses. Types and defaults have no comma of their own. */
function argumentTypes(create: string): string[] {
  const list = create.slice(create.indexOf('(') + 1, create.indexOf(')'));
  return list
    .split(',')
    .map((argument) => argument.trim())
    .filter((argument) => argument !== '' && !argument.startsWith('out '))
    .map((argument) => argument.replace(/ default .*$/s, '').replace(/^\S+\s+/, ''));
}
