/**
 * Creates the views and functions, after the migrations and in their transaction. `tidemark.settings` has their fingerprint,
 * which says whether they are current, and their names, which tell the next version what it may drop.
 */

import { createHash } from 'node:crypto';
import pg from 'pg';
import { rollupLevels } from '../model/rollup-levels.ts';
import { isHypertable, timescaleVersion } from '../store/timescale/extension.ts';
import { rollupsBehind, rollupViews } from '../store/upkeep/rollup-definitions.ts';
import { actionViews } from './api/actions.ts';
import { averages, vwap } from './api/averages.ts';
import { buckets } from './api/buckets.ts';
import { charts } from './api/charts.ts';
import { currencies } from './api/currencies.ts';
import { gapReasons } from './api/gap-reasons.ts';
import { help } from './api/help.ts';
import { joins } from './api/joins.ts';
import { figures, lines } from './api/lines.ts';
import { names, refusals } from './api/names.ts';
import { ohlcv } from './api/ohlcv.ts';
import { completeness, ranges } from './api/ranges.ts';
import { correlation, returns, seasonality } from './api/returns.ts';
import { revisions } from './api/revisions.ts';
import { serviceFunctions } from './api/service.ts';
import { silences } from './api/silences.ts';
import { snapshots } from './api/snapshots.ts';
import { sourceViews } from './api/sources.ts';
import { statements } from './api/statements.ts';
import { detachCandles, views } from './api/views.ts';
import { commentColumns, commentTexts } from './comments.ts';
import { type DerivedObject, replaceObjects, viewsInTheWay } from './replace.ts';

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
  'tidemark.ranges_behind()',
  'tidemark.ranges_unmaterialised(timestamptz)',
] as const;

/**
 * Brings the derived objects up to date, within the caller's transaction. Fast where they are current.
 *
 * @returns whether anything was created.
 * @throws TidemarkError VIEW_IN_THE_WAY when an object of a user depends on one that has to be dropped. The caller rolls back.
 */
export async function applyDerived(client: pg.ClientBase): Promise<boolean> {
  const objects = derivedObjects(await isHypertable(client, 'candle_points'));
  const names = objects.map(({ name }) => name);
  const wanted = fingerprint(objects);
  const settings = await client.query<{ name: string; value: string }>(
    'select name, value from tidemark.settings where name = any ($1)',
    [derivedSettings],
  );
  const present = new Map(settings.rows.map((row) => [row.name, row.value]));
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
 * Drops every derived object, within the caller's transaction.
 *
 * @returns whether there was any.
 * @throws TidemarkError VIEW_IN_THE_WAY when a user's own view depends on one of them. The caller rolls back.
 */
export function dropDerived(client: pg.ClientBase): Promise<boolean> {
  return explained(async () => {
    let found = false;
    // Their names are the same on both.
    for (const object of [...derivedObjects(false)].reverse()) {
      if ((await countMissing(client, [object])) > 0) continue;
      await client.query(object.drop);
      found = true;
    }
    if ((await countMissing(client, [{ name: 'tidemark.settings' }])) > 0) return found;
    await client.query('delete from tidemark.settings where name = any ($1)', [derivedSettings]);
    return found;
  });
}

/** Whether the views and functions are those of this version, according to the last {@link applyDerived}. */
export async function areDerivedCurrent(pool: pg.Pool): Promise<boolean> {
  const result = await pool.query<{ value: string }>('select value from tidemark.settings where name = $1', [
    objectsSetting,
  ]);
  const fingerprints = [true, false].map((timescale) => fingerprint(derivedObjects(timescale)));
  return fingerprints.includes(result.rows[0]?.value ?? '');
}

/** Counts the objects that the database lacks. */
async function countMissing(client: pg.ClientBase, objects: readonly { readonly name: string }[]): Promise<number> {
  const result = await client.query<{ missing: number }>(
    `select count(*)::int as missing from unnest($1::text[]) name
     where case when name like '%(%' then to_regprocedure(name)::oid else to_regclass(name)::oid end is null`,
    [objects.map(({ name }) => name)],
  );
  return result.rows[0]?.missing ?? 0;
}

/**
 * Drops the continuous aggregates of earlier versions: a view cannot replace them. On plain PostgreSQL they were views.
 *
 * @returns the statements that restore the grants on them.
 */
async function dropAggregates(client: pg.ClientBase): Promise<string[]> {
  if ((await timescaleVersion(client)) === null) return [];
  const found = await client.query<{ name: string }>(
    `select 'tidemark.' || view_name as name from timescaledb_information.continuous_aggregates
     where view_schema = 'tidemark'`,
  );
  const aggregates = new Set(found.rows.map(({ name }) => name));
  if (aggregates.size === 0) return [];
  const names = rollupLevels.map(({ name }) => name).reverse();
  const grants = await client.query<{ statement: string }>(
    `select format('grant %s on %s to %s', string_agg(distinct a.privilege_type, ', '), c.oid::regclass,
                   case a.grantee when 0 then 'public' else a.grantee::regrole::text end) as statement
     from pg_class c, aclexplode(c.relacl) a
     where c.oid = any (select to_regclass(name) from unnest($1::text[]) name) and a.grantee <> c.relowner
       and a.privilege_type = 'SELECT'
     group by c.oid, a.grantee`,
    [names],
  );
  await client.query(detachCandles);
  for (const name of names)
    await client.query(`drop ${aggregates.has(name) ? 'materialized view' : 'view'} if exists ${name}`);
  return grants.rows.map(({ statement }) => statement);
}

function fingerprint(objects: readonly DerivedObject[]): string {
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

/** In the order of creation. @param timescale whether the points are a hypertable. */
export function derivedObjects(timescale: boolean): DerivedObject[] {
  const texts = [
    ...[
      rollupsBehind,
      rollupViews(timescale),
      views,
      names,
      refusals,
      lines,
      ranges,
      statements(timescale),
      figures,
      ohlcv,
      returns,
    ],
    ...[
      averages,
      vwap,
      correlation,
      charts,
      currencies,
      joins,
      buckets,
      seasonality,
      gapReasons,
      completeness,
      silences,
      revisions,
      snapshots,
      sourceViews,
      actionViews,
      serviceFunctions,
      help,
    ],
  ];
  return texts.flatMap(objectsIn);
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
  if (before.replaceAll(/^--.*$/gm, '').trim() !== '') throw new Error(`not the making of an object: ${before}`);
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
