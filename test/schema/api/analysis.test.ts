/** The functions of schema/api/analysis: a file of them can be left out, and the rest works as before. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { analyses, apiObjects } from '../../../schema/api.ts';
import { openOwnStore } from '../../store/open-store.ts';

const files = analyses();
const own = new Set([...files.values()].flat().map(({ name }) => name));
const core = apiObjects(false).filter(({ name }) => !own.has(name));
const plainNames = new Set([...own].map((name) => name.replace(/^\w+\.(\w+).*$/, '$1')));

/** Statements that name a function of analysis, in a text without comments. */
const usesOf = (text: string, names: ReadonlySet<string>) =>
  [...text.replaceAll(/^comment on [^;]*;/gm, '').matchAll(/(?:^|[^\w.]|\b(?:public|tidemark)\.)(\w+)\(/g)].flatMap(
    ([, name = '']) => (names.has(name) ? [name] : []),
  );

it('no other view or function uses one of them', () => {
  expect(files.size).toBeGreaterThan(1);
  expect(usesOf('select * from public.returns(series)', plainNames)).toEqual(['returns']);
  for (const { name, create } of core) expect([name, usesOf(create, plainNames)]).toEqual([name, []]);
});

it('no statement of a program uses one of them', () => {
  const rooms = readdirSync('.', { withFileTypes: true }).filter(
    ({ name }) => !/^(\.|node_modules|dist|test|docs|bench)/.test(name),
  );
  const sources = rooms.flatMap((room) =>
    room.isDirectory()
      ? readdirSync(room.name, { recursive: true, encoding: 'utf8' }).map((name) => `${room.name}/${name}`)
      : [room.name],
  );
  const programs = sources.filter((name) => name.endsWith('.ts'));
  expect(programs.length).toBeGreaterThan(400);
  const called = new RegExp(`\\b(from|join|lateral|select|public\\.)\\s*(${[...plainNames].join('|')})\\(`);
  expect(programs.filter((name) => called.test(readFileSync(name, 'utf8')))).toEqual([]);
});

it('each file needs no other one', async () => {
  const { database } = await openOwnStore();
  const client = await database.pool.connect();
  try {
    for (const object of [...files.values()].flat().reverse()) await client.query(object.drop);
    for (const objects of files.values()) {
      await client.query('begin');
      for (const { create } of objects) await client.query(create);
      for (const { create } of objects) expect(usesOf(create, namesOutside(objects))).toEqual([]);
      await client.query('rollback');
    }
  } finally {
    client.release();
  }
});

/** Names of functions of the other files. */
function namesOutside(objects: readonly { readonly name: string }[]): ReadonlySet<string> {
  const inside = new Set(objects.map(({ name }) => name.replace(/^\w+\.(\w+).*$/, '$1')));
  return new Set([...plainNames].filter((name) => !inside.has(name)));
}
