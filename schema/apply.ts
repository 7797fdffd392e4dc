/**
 * Creates the views and functions, after the migrations and in their transaction. `tidemark.settings` has their
 * fingerprint, which says whether they are current, and their names, which tell the next version what it may drop.
 */

import { createHash } from 'node:crypto';
import pg from 'pg';
import { rollupLevels } from '../model/rollup-levels.ts';
import { int4, listOf, statement, text } from '../store/db/statement.ts';
import { isHypertable, timescaleVersion } from '../store/timescale/extension.ts';
import { type ApiObject, apiObjects } from './api.ts';
import { commentColumns, commentTexts } from './comments.ts';
import { detachCandles } from './derived.ts';
import { replaceObjects, viewsInTheWay } from './replace.ts';

const objectsSetting = 'derived: views and functions';
const namesSetting = 'derived: names';
/** Of versions whose rollups were continuous aggregates. */
const aggregatesSetting = 'derived: rollups';
/** Names in `tidemark.settings` that describe the database itself. */
export const derivedSettings = Object.freeze([aggregatesSetting, objectsSetting, namesSetting]);

/** Objects of the versions that stored no names, which the first version that did no longer had. */
const unnamed = [
  'public.prices_in(text,text,text,timestamptz,timestamptz)',
  'tidemark.behind(text)',
  'tidemark.fresh_relation(text,integer,interval,timestamptz,timestamptz)',
  'tidemark.market_names()',
  'tidemark.own_names(text,text,text)',
  'tidemark.ranges_behind()',
  'tidemark.ranges_unmaterialised(timestamptz)',
  'tidemark.refuse_market(text,text,text,text)',
  'tidemark.tell_coverage(integer,tstzmultirange,tstzrange,timestamptz,timestamptz)',
] as const;

/**
 * Brings the API up to date, within the caller's transaction. Fast where they are current.
 *
 * @returns whether anything was created.
 * @throws TidemarkError VIEW_IN_THE_WAY when an object of a user depends on one that has to be dropped. The caller
 * rolls back.
 */
export async function applyApi(client: pg.ClientBase): Promise<boolean> {
  const objects = apiObjects(await isHypertable(client, 'candle_points'));
  const names = objects.map(({ name }) => name);
  const wanted = fingerprint(objects);
  const present = new Map((await settings.on(client, {})).map(({ name, value }) => [name, value]));
  if ((await countMissing(client, objects)) === 0 && present.get(objectsSetting) === wanted) return false;

  const grants = present.has(aggregatesSetting) ? await explained(() => dropAggregates(client)) : [];
  // The views call functions of this schema as the current role. The grant opens no table.
  await client.query('grant usage on schema tidemark to public');
  const stored = present.get(namesSetting);
  const earlier = present.has(objectsSetting) ? [...names, ...unnamed] : [];
  await replaceObjects(client, objects, stored === undefined ? earlier : stored.split('\n'));
  await commentColumns(client, names);
  for (const grant of grants) await client.query(grant);
  await client.query('delete from tidemark.settings where name = $1', [aggregatesSetting]);
  for (const [name, value] of [
    [objectsSetting, wanted],
    [namesSetting, names.join('\n')],
  ])
    await client.query(
      `insert into tidemark.settings (name, value) values ($1, $2)
       on conflict (name) do update set value = excluded.value`,
      [name, value],
    );
  return true;
}

/**
 * Drops the API, within the caller's transaction.
 *
 * @returns whether there was any.
 * @throws TidemarkError VIEW_IN_THE_WAY when a user's own view depends on one of them. The caller rolls back.
 */
export function dropApi(client: pg.ClientBase): Promise<boolean> {
  return explained(async () => {
    let found = false;
    // Their names are the same on both.
    for (const object of [...apiObjects(false)].reverse()) {
      if ((await countMissing(client, [object])) > 0) continue;
      await client.query(object.drop);
      found = true;
    }
    if ((await countMissing(client, [{ name: 'tidemark.settings' }])) > 0) return found;
    await client.query('delete from tidemark.settings where name = any ($1)', [derivedSettings]);
    return found;
  });
}

/** Whether the API is that of this version, according to the last {@link applyApi}. */
export async function isApiCurrent(pool: pg.Pool): Promise<boolean> {
  const stored = (await settings.on(pool, {})).find(({ name }) => name === objectsSetting);
  const fingerprints = [true, false].map((timescale) => fingerprint(apiObjects(timescale)));
  return fingerprints.includes(stored?.value ?? '');
}

const settings = statement({
  name: 'api-settings',
  isPlannedAnew: true,
  text: `select name, value from tidemark.settings where name like 'derived: %'`,
  row: { name: text, value: text },
});

/** Counts the objects that the database lacks. */
async function countMissing(client: pg.ClientBase, objects: readonly { readonly name: string }[]): Promise<number> {
  return (await missingObjects.one(client, { names: objects.map(({ name }) => name) })).missing;
}

const missingObjects = statement({
  name: 'missing-api-objects',
  isPlannedAnew: true,
  text: `select count(*)::int as missing from unnest($names) name
         where case when name like '%(%' then to_regprocedure(name)::oid else to_regclass(name)::oid end is null`,
  parameters: { names: listOf(text) },
  row: { missing: int4 },
});

/**
 * Drops the continuous aggregates of earlier versions: a view cannot replace them. On plain PostgreSQL they were views.
 *
 * @returns the statements that restore the grants on them.
 */
async function dropAggregates(client: pg.ClientBase): Promise<string[]> {
  if ((await timescaleVersion(client)) === null) return [];
  const aggregates = new Set((await continuousAggregates.on(client, {})).map(({ name }) => name));
  if (aggregates.size === 0) return [];
  const names = rollupLevels.map(({ name }) => name).reverse();
  const grants = await grantsOfReading.on(client, { names });
  await client.query(detachCandles);
  for (const name of names)
    await client.query(`drop ${aggregates.has(name) ? 'materialized view' : 'view'} if exists ${name}`);
  return grants.map(({ grant }) => grant);
}

const continuousAggregates = statement({
  name: 'continuous-aggregates',
  isPlannedAnew: true,
  text: `select 'tidemark.' || view_name as name from timescaledb_information.continuous_aggregates
         where view_schema = 'tidemark'`,
  row: { name: text },
});

const grantsOfReading = statement({
  name: 'grants-of-reading',
  isPlannedAnew: true,
  text: `
    select format('grant %s on %s to %s', string_agg(distinct a.privilege_type, ', '), c.oid::regclass,
                  case a.grantee when 0 then 'public' else a.grantee::regrole::text end) as grant
    from pg_class c, aclexplode(c.relacl) a
    where c.oid = any (select to_regclass(name) from unnest($names) name) and a.grantee <> c.relowner
      and a.privilege_type = 'SELECT'
    group by c.oid, a.grantee`,
  parameters: { names: listOf(text) },
  row: { grant: text },
});

function fingerprint(objects: readonly ApiObject[]): string {
  const texts = [...objects.map(({ create }) => create), commentTexts];
  return createHash('sha256').update(texts.join('\0')).digest('hex');
}

/** @throws TidemarkError VIEW_IN_THE_WAY that names a user's view on what `work` drops. */
async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '2BP01') throw error;
    const [, dependent = 'an object'] = /^(.+?) depends on /m.exec(error.detail ?? '') ?? [];
    throw viewsInTheWay([dependent], error);
  }
}
