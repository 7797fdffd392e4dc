/**
 * Makes the derived objects, after the migrations and in one transaction:
 *
 *   current    A fingerprint in `tidemark.settings` says which definitions the database has. The same: nothing to do.
 *   replaced   The rollups are as they should be: views and functions are replaced where they stand.
 *   made anew  The rollups differ, or the extension has come since. They cannot be replaced: what is made of them
 *              lets go of them first, then they are dropped and made.
 */

import { createHash } from 'node:crypto';
import pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import { derivedObjects } from './objects.ts';
import { rollupDefinitions } from './rollups.ts';

/** Of the advisory lock that keeps two from making them at once. */
const lockKey = 7_241_865_325_823_965n;
const rollupsSetting = 'derived: rollups';
const objectsSetting = 'derived: views and functions';
/** Names in `tidemark.settings` by which a database says what it has of them. */
export const derivedSettings = Object.freeze([rollupsSetting, objectsSetting]);

/**
 * Brings the derived objects up to date. Does nothing, quickly, where they are.
 *
 * @returns whether anything was made.
 * @throws TidemarkError VIEW_IN_THE_WAY when a user's own view stands on one that has to go.
 */
export function applyDerived(client: pg.Client): Promise<boolean> {
  return inLockedTransaction(client, async () => {
    const timescale = await isHypertable(client);
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
    const missingRollups = await missing(client, rollups);
    const missingObjects = await missing(client, objects);
    const rollupsStand = missingRollups === 0 && present.get(rollupsSetting) === wanted.rollups;
    if (rollupsStand && missingObjects === 0 && present.get(objectsSetting) === wanted.objects) return false;

    if (!rollupsStand) {
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
    // The views call functions there, as whoever asks. It opens no table.
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
 * @throws TidemarkError VIEW_IN_THE_WAY when a user's own view stands on one of them.
 */
export function dropDerived(client: pg.Client): Promise<boolean> {
  return inLockedTransaction(client, async () => {
    let found = false;
    // Their names are the same on both.
    for (const object of [...derivedObjects(false)].reverse()) {
      if ((await missing(client, [object])) > 0) continue;
      await client.query(object.drop);
      found = true;
    }
    await dropRollups(client);
    if ((await missing(client, [{ name: 'tidemark.settings' }])) > 0) return found;
    await client.query('delete from tidemark.settings where name = any ($1)', [derivedSettings]);
    return found;
  });
}

/** Whether the views and functions are the ones of this version, as far as the last {@link applyDerived} knows. */
export async function areDerivedCurrent(pool: pg.Pool): Promise<boolean> {
  const result = await pool.query<{ value: string }>('select value from tidemark.settings where name = $1', [
    objectsSetting,
  ]);
  const fingerprints = [true, false].map((timescale) =>
    fingerprint(derivedObjects(timescale).map(({ create }) => create)),
  );
  return fingerprints.includes(result.rows[0]?.value ?? '');
}

/** How many of them the database lacks. */
async function missing(client: pg.Client, objects: readonly { readonly name: string }[]): Promise<number> {
  const result = await client.query<{ missing: number }>(
    `select count(*)::int as missing from unnest($1::text[]) name
     where case when name like '%(%' then to_regprocedure(name)::oid else to_regclass(name)::oid end is null`,
    [objects.map(({ name }) => name)],
  );
  return result.rows[0]?.missing ?? 0;
}

async function isHypertable(client: pg.Client): Promise<boolean> {
  if (!(await hasExtension(client))) return false;
  const result = await client.query(
    `select from timescaledb_information.hypertables
     where hypertable_schema = 'tidemark' and hypertable_name = 'candle_points'`,
  );
  return result.rowCount === 1;
}

async function hasExtension(client: pg.Client): Promise<boolean> {
  const result = await client.query(`select from pg_extension where extname = 'timescaledb'`);
  return result.rowCount === 1;
}

/** The statements that give others the rights again that they have on the rollups now. */
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

/** Whatever they are: views of a database that was plain, or continuous aggregates. */
async function dropRollups(client: pg.Client): Promise<void> {
  const aggregates = (await hasExtension(client))
    ? `exists (select from timescaledb_information.continuous_aggregates
               where view_schema = 'tidemark' and view_name = c.relname)`
    : 'false';
  const stand = await client.query<{ name: string; aggregate: boolean }>(
    `select 'tidemark.' || c.relname as name, ${aggregates} as aggregate from pg_class c
     where c.relnamespace = 'tidemark'::regnamespace and c.relname like 'rollup\\_%' and c.relkind = 'v'`,
  );
  const kinds = new Map(stand.rows.map((row) => [row.name, row.aggregate]));
  for (const { name } of rollupDefinitions(false).reverse()) {
    const aggregate = kinds.get(name);
    if (aggregate === undefined) continue;
    await client.query(`drop ${aggregate ? 'materialized view' : 'view'} ${name}`);
  }
}

function fingerprint(texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('hex');
}

async function inLockedTransaction<Result>(client: pg.Client, work: () => Promise<Result>): Promise<Result> {
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [lockKey]);
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw explained(error);
  }
}

/** One line that names the view, where somebody's own view stands on a derived one. */
function explained(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError) || error.code !== '2BP01') return error;
  const [, dependent = 'an object', object = 'a derived view'] =
    /^(.+?) depends on (.+)$/m.exec(error.detail ?? '') ?? [];
  return new TidemarkError('VIEW_IN_THE_WAY', `${dependent} stands on ${object}, which has to go`, {
    cause: error,
  });
}
