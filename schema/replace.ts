/**
 * Replaces the views and functions of an earlier version. PostgreSQL replaces an object in place, and what depends on
 * it stays, unless its columns, its result or its kind differ. Such an object is dropped and created again, together
 * with Tidemark's own objects that depend on it, and keeps its grants. An object of a user that depends on it is never
 * dropped.
 */

import type pg from 'pg';
import { codeOf, TidemarkError } from '../errors.ts';
import { listOf, nullable, type RowOf, statement, text } from '../store/db/statement.ts';
import type { ApiObject } from './api.ts';

/** Another result or names of arguments, other columns, another kind. */
const notInPlace: readonly unknown[] = ['42P13', '42P16', '42809'];

type Found = RowOf<typeof found>;

/** The identity of an object in the catalog. @param name an SQL expression of its name. */
const identity = (name: string) =>
  `case when ${name} like '%(%' then 'pg_proc'::regclass else 'pg_class'::regclass end::oid as classid,
   case when ${name} like '%(%' then to_regprocedure(${name})::oid else to_regclass(${name})::oid end as objid`;

/**
 * Creates or replaces the objects in their order, and drops those that this version no longer has, within the caller's
 * transaction.
 *
 * @param earlier names of the objects that an earlier version created.
 * @throws TidemarkError VIEW_IN_THE_WAY that names every object of a user that would have to go. The caller rolls back.
 */
export async function replaceObjects(
  client: pg.ClientBase,
  objects: readonly ApiObject[],
  earlier: readonly string[],
): Promise<void> {
  const names = objects.map(({ name }) => name);
  const obsolete = new Set(earlier.filter((name) => !names.includes(name)));
  /** Names of Tidemark's objects in the database. */
  const own = new Set(earlier);
  const inTheWay = new Set<string>();
  const grants = new Map<string, readonly string[]>();
  const isRemoved = new Map<string, boolean>();

  /** Drops an object and what depends on it. @returns whether none of it is a user's. */
  async function remove(found: Found): Promise<boolean> {
    const key = `${found.classid} ${found.objid}`;
    const known = isRemoved.get(key);
    if (known !== undefined) return known;
    isRemoved.set(key, true);
    let isFree = found.name !== null;
    if (!isFree) inTheWay.add(found.description);
    for (const dependent of await dependents.on(client, { own: [...own], ...found }))
      isFree = (await remove(dependent)) && isFree;
    isRemoved.set(key, isFree);
    if (isFree && found.name !== null) {
      grants.set(
        found.name,
        (await grantsOn.on(client, found)).map(({ statement: grant }) => grant),
      );
      await client.query(`drop ${found.name.includes('(') ? 'routine' : 'view'} ${found.name}`);
    }
    return isFree;
  }

  async function removeNamed(name: string): Promise<boolean> {
    const [found] = await named.on(client, { own: [...own], name });
    return found === undefined || (await remove(found));
  }

  /** @returns the error; null: it is done. */
  async function create(object: ApiObject): Promise<unknown> {
    await client.query('savepoint object');
    try {
      await client.query(object.create);
      await client.query('release object');
      own.add(object.name);
      return null;
    } catch (error) {
      await client.query('rollback to object');
      return error;
    }
  }

  for (const object of objects) {
    // Beside the new function, calls of one with other arguments would be ambiguous.
    for (const name of obsolete) if (name.split('(')[0] === object.name.split('(')[0]) await removeNamed(name);
    let failure = await create(object);
    if (notInPlace.includes(codeOf(failure))) failure = (await removeNamed(object.name)) ? await create(object) : null;
    // An object may need one that could not be replaced.
    if (failure !== null && inTheWay.size === 0) throw failure;
  }
  for (const name of obsolete) await removeNamed(name);
  if (inTheWay.size > 0) throw viewsInTheWay([...inTheWay]);
  for (const name of names) for (const grant of grants.get(name) ?? []) await client.query(grant);
}

/** @param descriptions such as `view mine`. */
export function viewsInTheWay(descriptions: readonly string[], cause?: unknown): TidemarkError {
  const what = descriptions.join(', ');
  const message = `views and functions of Tidemark have to be dropped, and this is in the way: ${what}`;
  return new TidemarkError('VIEW_IN_THE_WAY', message, { cause });
}

/** The name is null of an object that is not Tidemark's. A description is such as `view mine`. */
const found = { classid: text, objid: text, description: text, name: nullable(text) };

/** Objects with the names that they have as Tidemark's. @param from a subquery with their identities. */
const objects = (from: string) => `
  select f.classid::text, f.objid::text, pg_describe_object(f.classid, f.objid, 0) as description, n.name
  from ${from} f
  left join (select name, ${identity('name')} from unnest($own) name) n using (classid, objid)
  where f.objid is not null`;

const named = statement({
  name: 'api-object',
  isPlannedAnew: true,
  text: objects(`(select ${identity('$name')})`),
  parameters: { own: listOf(text), name: text },
  row: found,
});

/** What depends on an object, on its row type or on its rule, one step away. */
const dependents = statement({
  name: 'api-dependents',
  isPlannedAnew: true,
  text: objects(`(
    select * from (
      select distinct case when r.oid is null then d.classid else 'pg_class'::regclass::oid end as classid,
             coalesce(r.ev_class, d.objid) as objid
      from pg_depend d left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
      where d.deptype in ('n', 'a') and (d.refclassid = $classid::oid and d.refobjid = $objid::oid
        or d.refclassid = 'pg_type'::regclass and d.refobjid in (
          select unnest(array[t.oid, t.typarray]) from pg_type t
          where $classid::oid = 'pg_class'::regclass and t.typrelid = $objid::oid))
    ) d where (classid, objid) <> ($classid::oid, $objid::oid)
  )`),
  parameters: { own: listOf(text), classid: text, objid: text },
  row: found,
});

/** Statements that restore the grants on an object after it was created again. */
const grantsOn = statement({
  name: 'api-grants',
  isPlannedAnew: true,
  text: `with object as (
       select 'table' as kind, relacl as acl, relowner as owner from pg_class
       where $classid::oid = 'pg_class'::regclass and oid = $objid::oid
       union all
       select 'routine', proacl, proowner from pg_proc where $classid::oid = 'pg_proc'::regclass and oid = $objid::oid
     )
     select format('revoke all on %s %s from public', kind, $name::text) as statement from object where acl is not null
     union all
     select format('grant %s on %s %s to %s%s', a.privilege_type, kind, $name::text,
                   case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
                   case when a.is_grantable then ' with grant option' else '' end)
     from object, aclexplode(acl) a where a.grantee <> owner`,
  parameters: { classid: text, objid: text, name: nullable(text) },
  row: { statement: text },
});
