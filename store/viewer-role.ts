/**
 * Roles for people and programs that look: Grafana, a notebook, an analyst. Each may log in and read what is for people,
 * with what that is made of, and may change nothing. Keys of the service, and who asked for one, are not for them.
 *
 * Views and rollups that are made anew after an upgrade are granted by asking again.
 */

import pg from 'pg';
import { TidemarkError } from '../errors.ts';
import type { Database } from './database.ts';
import { inTransaction } from './database.ts';
import { derivedObjects } from './derived/objects.ts';
import { timescaleSchema } from './timescale/extension.ts';

/** How a role that was made here is told from one that was there before. */
const mark = 'looks at what Tidemark stores, and may change nothing';
/** Of the schema `tidemark`, what is nobody's business. */
const kept = ['api_keys', 'request_times'].map((name) => `tidemark.${name}`).join(', ');
const settings = {
  default_transaction_read_only: 'on',
  statement_timeout: '60s',
  idle_in_transaction_session_timeout: '60s',
  timezone: 'UTC',
};
const mostConnections = 20;

/**
 * Makes the role where there is none, and gives it its rights in this database.
 *
 * @param viewer.password null: as it was; a new role then has none.
 * @returns whether the role is new.
 * @throws TidemarkError BAD_ARGUMENT for a role that was made by something else: its rights are not ours to change.
 */
export async function grantViewer(
  database: Database,
  viewer: { readonly role: string; readonly password: string | null },
): Promise<boolean> {
  const timescale = (await timescaleSchema(database.pool)) !== null;
  const derived = derivedObjects(timescale).map(({ name }) => name);
  // The one view that is not made anew with the others comes with the tables.
  const views = ['public.rates', ...derived.filter((name) => /^public\.\w+$/.test(name))];
  const role = pg.escapeIdentifier(viewer.role);
  return inTransaction(database, async (client) => {
    const isNew = await makeRole(client, viewer.role);
    if (viewer.password !== null)
      await client.query(`alter role ${role} password ${pg.escapeLiteral(viewer.password)}`);
    for (const [name, value] of Object.entries(settings))
      await client.query(`alter role ${role} set ${name} = ${pg.escapeLiteral(value)}`);
    await client.query(`grant usage on schema public, tidemark to ${role}`);
    await client.query(`grant select on ${views.join(', ')} to ${role}`);
    await client.query(`grant select on all tables in schema tidemark to ${role}`);
    await client.query(`revoke all on ${kept} from ${role}`);
    return isNew;
  });
}

async function makeRole(client: pg.PoolClient, name: string): Promise<boolean> {
  const found = await client.query<{ mark: string | null }>(
    `select shobj_description(oid, 'pg_authid') as mark from pg_roles where rolname = $1`,
    [name],
  );
  const [there] = found.rows;
  const role = pg.escapeIdentifier(name);
  if (there === undefined) {
    await client.query(`create role ${role} login connection limit ${mostConnections}`);
    await client.query(`comment on role ${role} is ${pg.escapeLiteral(mark)}`);
    return true;
  }
  if (there.mark === mark) return false;
  throw new TidemarkError('BAD_ARGUMENT', `the server has a role ${JSON.stringify(name)} of another making`, {
    remedy: 'choose another name',
  });
}
