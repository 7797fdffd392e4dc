/**
 * Roles that log in, each with what its part of Tidemark needs:
 *
 *   worker   fetches, plans and commits: it reads and changes rows, deletes no series, and changes no schema.
 *            Scheduler, workers, commands and the actions of the dashboard work as it.
 *   service  reads all data but keys, and may switch to the reader (roles.ts), whose functions look up keys and count
 *            requests.
 *   viewer   reads all data but keys: Grafana, a notebook, an analyst.
 *
 * The owner migrates, issues keys, and deletes series with their data. Rights belong to one database, roles and
 * passwords to the whole server.
 */

import pg from 'pg';
import { TidemarkError } from '../errors.ts';
import type { Database } from '../store/db/database.ts';
import { isPermissionDenied } from '../store/db/failure.ts';
import { inLockedTransaction } from '../store/db/locked-transaction.ts';
import { plannerSettings } from '../store/db/planner-settings.ts';
import { bool, listOf, nullable, oneOf, type RowOf, statement, text } from '../store/db/statement.ts';
import { timescaleSchema } from '../store/timescale/extension.ts';
import { apiObjects } from './api.ts';
import { roleSettings } from './role-settings.ts';
import { isAlreadyThere, readerRole } from './roles.ts';

export type LoginKind = 'worker' | 'service' | 'viewer';

/** Names of those that `migrate` creates. */
export const loginRoles = {
  worker: 'tidemark_worker',
  service: 'tidemark_service',
  viewer: 'tidemark_viewer',
} as const satisfies Readonly<Record<LoginKind, string>>;

/** Comments of the roles, by which they are known. A service is a viewer that may switch to the reader. */
const marks = {
  worker: 'fetches and stores for Tidemark, and may change no schema',
  reads: 'looks at what Tidemark stores, and may change nothing',
};
const markOf = (kind: LoginKind) => (kind === 'worker' ? marks.worker : marks.reads);

/** Tables of the schema `tidemark` of which no role here may read a row. */
const kept = ['api_keys', 'request_times'];
/** Written by the owner alone. */
const ofOwner = ['migrations'];
/** Functions of the owner. */
const workerFunctions = ['tidemark.move_chunk_to_columnstore(text)', 'tidemark.drop_chunks_before(text,timestamptz)'];

/** An idle connection or a forgotten query of a person ends. */
const readingSettings = {
  default_transaction_read_only: 'on',
  statement_timeout: '60s',
  idle_in_transaction_session_timeout: '60s',
};
const maxConnections = 20;
/** Sorts and joins of a query spill to disk up to here. Unlike the settings above, only a superuser may change it. */
const temporaryFiles = '10GB';

export interface LoginRole {
  readonly role: string;
  readonly kind: LoginKind;
  /** Null: unchanged; a new role then has none. */
  readonly password: string | null;
}

/**
 * Creates a role where there is none, and grants its rights in this database.
 *
 * @param queueSchema of the queue on PostgreSQL; null: the queue is on Redis.
 * @returns whether the role is new.
 * @throws TidemarkError BAD_ARGUMENT for a role that was created by something else, or as another kind;
 *   DATABASE_REFUSED for one of another owner's database of this server.
 */
export async function grantLogin(
  database: Database,
  { role: name, kind, password }: LoginRole,
  queueSchema: string | null,
): Promise<boolean> {
  const role = pg.escapeIdentifier(name);
  return locked(database, async (client) => {
    const isNew = await createLogin(client, name, kind);
    try {
      if (password !== null) await client.query(`alter role ${role} password ${pg.escapeLiteral(password)}`);
      await changeSettings(client, role, kind);
      if (kind === 'service') await client.query(`grant ${readerRole} to ${role}`);
    } catch (error) {
      if (isNew || !isPermissionDenied(error)) throw error;
      const message = `role ${JSON.stringify(name)} is on this server already, and this user may not change it`;
      const own = name === loginRoles[kind] ? Object.values(loginRoles) : [role];
      const granted = [...own, readerRole].join(', ');
      const remedy = `as a superuser: \`grant ${granted} to USER with admin option\`, who needs CREATEROLE too`;
      throw new TidemarkError('DATABASE_REFUSED', message, { remedy, cause: error });
    }
    // A worker and a page see whose lock they wait for, and whether TimescaleDB's scheduler is there.
    if (kind !== 'viewer') await ifAllowed(client, `grant pg_read_all_stats to ${role}`);
    await grantRights(client, { role: name, kind: kind === 'worker' ? 'worker' : 'reads' }, queueSchema);
    return isNew;
  });
}

/** Grants again, in this database, what its roles lack: an upgrade brings new tables and recreates views. */
export async function renewLogins(database: Database, queueSchema: string | null): Promise<void> {
  await locked(database, async (client) => {
    for (const login of await logins.on(client, {})) await grantRights(client, login, queueSchema);
  });
}

async function locked<Result>(database: Database, work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await database.pool.connect();
  try {
    return await inLockedTransaction(client, 'login roles', () => work(client));
  } finally {
    client.release();
  }
}

const logins = statement({
  name: 'login-roles',
  isPlannedAnew: true,
  text: `
    select rolname::text as role,
           case shobj_description(oid, 'pg_authid') when '${marks.worker}' then 'worker' else 'reads' end as kind
    from pg_roles
    where shobj_description(oid, 'pg_authid') in ('${marks.worker}', '${marks.reads}')
      -- Granted to itself: a role of another database of this server has nothing here. The ledger is not granted to the
      -- reader, which all databases share.
      and exists (select from pg_class c, aclexplode(c.relacl) a
                  where c.oid = 'tidemark.fetches'::regclass and a.grantee = pg_roles.oid
                    and a.privilege_type = 'SELECT')`,
  row: { role: text, kind: oneOf<'worker' | 'reads'>() },
});

async function createLogin(client: pg.ClientBase, name: string, kind: LoginKind): Promise<boolean> {
  const [there] = await markOfRole.on(client, { name });
  const role = pg.escapeIdentifier(name);
  if (there === undefined) {
    await client.query('savepoint creation');
    try {
      await client.query(`create role ${role} login`);
      await client.query(`comment on role ${role} is ${pg.escapeLiteral(markOf(kind))}`);
      return true;
    } catch (error) {
      // A migration of another database on this server has just created it.
      if (!isAlreadyThere(error)) throw error;
      await client.query('rollback to creation');
      return false;
    }
  }
  if (there.mark === markOf(kind)) return false;
  // Made by hand before a restore, which grants it its rights.
  if (there.mark === null && !there.logs && name === loginRoles[kind]) {
    await client.query(`alter role ${role} login`);
    await client.query(`comment on role ${role} is ${pg.escapeLiteral(markOf(kind))}`);
    return true;
  }
  const isOther = there.mark !== null && Object.values(marks).includes(there.mark);
  const why = isOther ? 'is of another kind' : 'was not created by Tidemark';
  const message = `role ${JSON.stringify(name)} exists and ${why}`;
  throw new TidemarkError('BAD_ARGUMENT', message, { remedy: 'choose another name' });
}

const markOfRole = statement({
  name: 'mark-of-role',
  text: `select shobj_description(oid, 'pg_authid') as mark, rolcanlogin as logs from pg_roles where rolname = $name`,
  parameters: { name: text },
  row: { mark: nullable(text), logs: bool },
});

async function changeSettings(client: pg.ClientBase, role: string, kind: LoginKind): Promise<void> {
  const settings = kind === 'worker' ? {} : readingSettings;
  const planner = Object.fromEntries(plannerSettings.map(({ name, value }) => [name, value]));
  for (const [name, value] of Object.entries({ ...settings, timezone: 'UTC', ...planner }))
    await client.query(`alter role ${role} set ${name} = ${pg.escapeLiteral(value)}`);
  if (kind === 'worker') {
    for (const { name, value } of roleSettings)
      if ((await client.query('select from pg_settings where name = $1', [name])).rowCount === 1)
        await client.query(`alter role ${role} set ${name} = ${pg.escapeLiteral(value)}`);
    return;
  }
  // The service limits its own connections.
  await client.query(`alter role ${role} connection limit ${kind === 'service' ? -1 : maxConnections}`);
  await ifAllowed(client, `alter role ${role} set temp_file_limit = '${temporaryFiles}'`);
}

/** What only a superuser may do is left out for any other role. */
async function ifAllowed(client: pg.ClientBase, change: string): Promise<void> {
  await client.query('savepoint allowed');
  await client.query(change).catch(async (error: unknown) => {
    await client.query('rollback to allowed');
    if (!isPermissionDenied(error)) throw error;
  });
}

/** A grant on a hypertable is one on each of its chunks, so only what is missing is granted. */
async function grantRights(
  client: pg.ClientBase,
  { role: name, kind }: RowOf<typeof logins.row>,
  queueSchema: string | null,
): Promise<void> {
  const role = pg.escapeIdentifier(name);
  const timescale = (await timescaleSchema(client)) !== null;
  const views = apiObjects(timescale).flatMap((object) => (/^public\.\w+$/.test(object.name) ? [object.name] : []));
  await client.query(`grant usage on schema public, tidemark to ${role}`);
  const writes = kind === 'worker';
  const lacking = await lackedRights.on(client, { role: name, views, kept, ofOwner, writes });
  for (const { relation, rights } of lacking) await client.query(`grant ${rights} on ${relation} to ${role}`);
  if (!writes) return;
  // Earlier versions granted it.
  await client.query(`revoke delete on tidemark.series from ${role}`);
  await client.query(`grant execute on function ${workerFunctions.join(', ')} to ${role}`);
  if (queueSchema === null) return;
  const schema = pg.escapeIdentifier(queueSchema);
  await client.query(`
    grant usage on schema ${schema} to ${role};
    grant select, insert, update, delete on all tables in schema ${schema} to ${role};
    grant usage on all sequences in schema ${schema} to ${role};
    grant execute on all functions in schema ${schema} to ${role}`);
}

const lackedRights = statement({
  name: 'lacked-rights',
  isPlannedAnew: true,
  text: `
    with wanted as (
      select c.oid, r.name as "right" from pg_class c, unnest('{select,insert,update,delete}'::text[]) r (name)
      where c.relnamespace = 'tidemark'::regnamespace and c.relkind in ('r', 'p', 'v') and c.relname <> all ($kept)
        and (r.name = 'select' or $writes and c.relkind <> 'v' and c.relname <> all ($ofOwner)
                                  and (c.relname, r.name) <> ('series', 'delete'))
      union all
      select name::regclass, 'select' from unnest($views) name
    )
    select oid::regclass::text as relation, string_agg("right", ', ') as rights
    from wanted where not has_table_privilege($role, oid, "right") group by oid order by oid`,
  parameters: { role: text, views: listOf(text), kept: listOf(text), ofOwner: listOf(text), writes: bool },
  row: { relation: text, rights: text },
});
