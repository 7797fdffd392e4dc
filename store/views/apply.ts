/**
 * Creates the views, functions and rollups, after the migrations and in one transaction:
 *
 *   current     A fingerprint in `tidemark.settings` matches the definitions: nothing to do.
 *   replaced    The rollups are current: views and functions are replaced in place.
 *   recreated   The rollups differ, or the extension is new. Rollups cannot be replaced: the objects that depend on
 *               them are detached, then the rollups are dropped and created.
 */

import { createHash } from 'node:crypto';
import pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import { inLockedTransaction } from '../db/locked-transaction.ts';
import { behind } from '../rollups/behind.ts';
import { rollupDefinitions } from '../rollups/definitions.ts';
import { isHypertable, timescaleVersion } from '../timescale/extension.ts';
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

const rollupsSetting = 'derived: rollups';
const objectsSetting = 'derived: views and functions';
/** Names in `tidemark.settings` that hold the fingerprints. */
export const derivedSettings = Object.freeze([rollupsSetting, objectsSetting]);

/**
 * Brings the derived objects up to date. Fast where they are current.
 *
 * @returns whether anything was created.
 * @throws TidemarkError VIEW_IN_THE_WAY when a user's own view depends on one that has to be dropped.
 */
export function applyDerived(client: pg.Client): Promise<boolean> {
  return inDerivedTransaction(client, async () => {
    const timescale = await isHypertable(client, 'candle_points');
    const rollups = rollupDefinitions(timescale);
    const objects = derivedObjects(timescale);
    const wanted = {
      rollups: fingerprint(rollups.flatMap(({ create, policy }) => [create, policy ?? ''])),
      objects: fingerprint(objects.map(({ create }) => create)),
    };
    const settings = await client.query<{ name: string; value: string }>(
      'select name, value from tidemark.settings where name = any ($1)',
      [derivedSettings],
    );
    const present = new Map(settings.rows.map((row) => [row.name, row.value]));
    const missingRollups = await countMissing(client, rollups);
    const missingObjects = await countMissing(client, objects);
    const areRollupsCurrent = missingRollups === 0 && present.get(rollupsSetting) === wanted.rollups;
    if (areRollupsCurrent && missingObjects === 0 && present.get(objectsSetting) === wanted.objects)
      return false;

    if (!areRollupsCurrent) {
      for (const object of [...objects].reverse()) {
        if (object.detach !== undefined) await client.query(object.detach);
      }
      const grants = await rollupGrants(client);
      await dropRollups(client);
      for (const { create, policy } of rollups) {
        await client.query(create);
        if (policy !== null) await client.query(policy);
      }
      for (const grant of grants) await client.query(grant);
    }
    // The views call functions of this schema as the current role. The grant opens no table.
    await client.query('grant usage on schema tidemark to public');
    for (const object of objects) await client.query(object.create);
    await client.query(
      `insert into tidemark.settings (name, value) values ($1, $2), ($3, $4)
       on conflict (name) do update set value = excluded.value`,
      [rollupsSetting, wanted.rollups, objectsSetting, wanted.objects],
    );
    return true;
  });
}

/**
 * Drops every derived object.
 *
 * @returns whether there was any.
 * @throws TidemarkError VIEW_IN_THE_WAY when a user's own view depends on one of them.
 */
export function dropDerived(client: pg.Client): Promise<boolean> {
  return inDerivedTransaction(client, async () => {
    let found = false;
    // Their names are the same on both.
    for (const object of [...derivedObjects(false)].reverse()) {
      if ((await countMissing(client, [object])) > 0) continue;
      await client.query(object.drop);
      found = true;
    }
    await dropRollups(client);
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
  const fingerprints = [true, false].map((timescale) =>
    fingerprint(derivedObjects(timescale).map(({ create }) => create)),
  );
  return fingerprints.includes(result.rows[0]?.value ?? '');
}

/** Counts the objects that the database lacks. */
async function countMissing(
  client: pg.Client,
  objects: readonly { readonly name: string }[],
): Promise<number> {
  const result = await client.query<{ missing: number }>(
    `select count(*)::int as missing from unnest($1::text[]) name
     where case when name like '%(%' then to_regprocedure(name)::oid else to_regclass(name)::oid end is null`,
    [objects.map(({ name }) => name)],
  );
  return result.rows[0]?.missing ?? 0;
}

/** The statements that restore the present grants on the rollups. */
async function rollupGrants(client: pg.Client): Promise<string[]> {
  const result = await client.query<{ statement: string }>(
    `select format('grant %s on %s to %s', string_agg(distinct a.privilege_type, ', '), c.oid::regclass,
                   case a.grantee when 0 then 'public' else a.grantee::regrole::text end) as statement
     from pg_class c, aclexplode(c.relacl) a
     where c.relnamespace = 'tidemark'::regnamespace and c.relname = any ($1) and a.grantee <> c.relowner
       and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER')
     group by c.oid, a.grantee`,
    [rollupDefinitions(false).map(({ name }) => name.replace(/^tidemark\./, ''))],
  );
  return result.rows.map(({ statement }) => statement);
}

/** Drops views of a plain database, or continuous aggregates. */
async function dropRollups(client: pg.Client): Promise<void> {
  const aggregates =
    (await timescaleVersion(client)) !== null
      ? `exists (select from timescaledb_information.continuous_aggregates
               where view_schema = 'tidemark' and view_name = c.relname)`
      : 'false';
  const present = await client.query<{ name: string; aggregate: boolean }>(
    `select 'tidemark.' || c.relname as name, ${aggregates} as aggregate from pg_class c
     where c.relnamespace = 'tidemark'::regnamespace and c.relname like 'rollup\\_%' and c.relkind = 'v'`,
  );
  const kinds = new Map(present.rows.map((row) => [row.name, row.aggregate]));
  for (const { name } of rollupDefinitions(false).reverse()) {
    const aggregate = kinds.get(name);
    if (aggregate === undefined) continue;
    await client.query(`drop ${aggregate ? 'materialized view' : 'view'} ${name}`);
  }
}

function fingerprint(texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('hex');
}

/**
 * Runs `work` in a locked transaction.
 *
 * @throws TidemarkError VIEW_IN_THE_WAY that names the user's view which depends on a derived one.
 */
async function inDerivedTransaction<Result>(client: pg.Client, work: () => Promise<Result>): Promise<Result> {
  try {
    return await inLockedTransaction(client, 'derived objects', work);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '2BP01') throw error;
    const [, dependent = 'an object', object = 'a derived view'] =
      /^(.+?) depends on (.+)$/m.exec(error.detail ?? '') ?? [];
    const message = `${dependent} depends on ${object}, which has to be recreated`;
    throw new TidemarkError('VIEW_IN_THE_WAY', message, { cause: error });
  }
}

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
