/**
 * Closes functions that every role of the server may call in this database. TimescaleDB leaves its jobs, policies and
 * maintenance functions open to everybody, so a read-only role could add jobs until no background worker is left.
 *
 * The rule: only the owner calls a volatile function of the extension, or one that writes large objects,
 * unless it is listed here as reading. It is applied at each `migrate`, because an upgrade of the extension
 * brings new open functions.
 */

import type pg from 'pg';
import { inLockedTransaction } from '../store/db/locked-transaction.ts';
import { int4, statement, text } from '../store/db/statement.ts';

/** Declared volatile, although they only read or compute. */
const reading = words(`
  time_bucket_gapfill locf interpolate by_range by_hash generate_uuid generate_uuidv7 to_uuidv7
  approximate_row_count chunks_detailed_size hypertable_size hypertable_detailed_size hypertable_index_size
  hypertable_approximate_size hypertable_approximate_detailed_size relation_size relation_approximate_size
  hypertable_local_size chunks_local_size compressed_chunk_local_stats compressed_chunk_remote_stats
  get_approx_row_count show_tablespaces show_policies show_chunk chunk_status chunk_id_from_relid tsl_loaded
  cagg_watermark cagg_watermark_materialized cagg_get_bucket_function_info cagg_get_grouping_columns
  extension_state get_git_commit get_os_info get_partition_hash get_partition_for_key interval_to_usec
  time_to_internal subtract_integer_from_now range_value_to_pretty to_date to_interval to_timestamp
  to_timestamp_without_timezone to_unix_microseconds jsonb_get_matching_index_entry estimate_uncompressed_size
  get_orderby_defaults get_segmentby_defaults
`);

/** The server's own functions that write large objects: any role may create as many as the disk holds. */
const largeObjects = words(`
  lo_creat lo_create lo_from_bytea lo_put lowrite lo_truncate lo_truncate64 lo_unlink
`);

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Functions that write, as rows `p` of pg_proc. Trigger functions cannot be called. */
const writing = `
  select p.oid, p.proacl, p.proowner from pg_proc p
  where p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    and (p.pronamespace = 'pg_catalog'::regnamespace and p.proname = any ('{${largeObjects.join(',')}}')
         or p.provolatile = 'v' and p.proname <> all ('{${reading.join(',')}}') and exists (
              select from pg_depend d join pg_extension e on e.oid = d.refobjid and e.extname = 'timescaledb'
              where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
                and d.refclassid = 'pg_extension'::regclass))`;

/** Those that every role may call. */
const open = `
  select w.oid::regprocedure::text as routine from (${writing}) w
  where exists (select from aclexplode(coalesce(w.proacl, acldefault('f', w.proowner))) a where a.grantee = 0)`;

/** Revokes them from public. Their owner and the owner of the database keep them. */
export async function closePublicFunctions(client: pg.ClientBase): Promise<void> {
  await inLockedTransaction(client, 'public functions', async () => {
    const routines = (await openRoutines.on(client, {})).map(({ routine }) => routine).join(', ');
    if (routines === '') return;
    const [other] = await owner.on(client, {});
    if (other !== undefined) await client.query(`grant execute on routine ${routines} to ${other.name}`);
    await client.query(`revoke execute on routine ${routines} from public`);
  });
}

// A role that may not revoke a privilege gets one warning for each function, so nothing is tried then.
const openRoutines = statement({
  name: 'open-routines',
  isPlannedAnew: true,
  text: `select o.routine from (${open}) o join pg_proc p on p.oid = o.routine::regprocedure
         where pg_has_role(p.proowner, 'usage')`,
  row: { routine: text },
});

const owner = statement({
  name: 'owner-of-database',
  isPlannedAnew: true,
  text: `select quote_ident(r.rolname) as name from pg_database d join pg_roles r on r.oid = d.datdba
         where d.datname = current_database() and not r.rolsuper`,
  row: { name: text },
});

/** Grants them to public again, as TimescaleDB does: the database is no longer Tidemark's. */
export async function openPublicFunctions(client: pg.ClientBase): Promise<void> {
  const routines = (await writingRoutines.on(client, {})).map(({ routine }) => routine).join(', ');
  if (routines !== '') await client.query(`grant execute on routine ${routines} to public`);
}

const writingRoutines = statement({
  name: 'writing-routines',
  isPlannedAnew: true,
  text: `select w.oid::regprocedure::text as routine from (${writing}) w where pg_has_role(w.proowner, 'usage')`,
  row: { routine: text },
});

/** Counts the functions that every role may still call. Only a superuser can revoke them all. */
export async function countPublicFunctions(client: pg.ClientBase | pg.Pool): Promise<number> {
  return (await openFunctions.one(client, {})).functions;
}

const openFunctions = statement({
  name: 'open-functions',
  isPlannedAnew: true,
  text: `select count(*)::int as functions from (${open}) o`,
  row: { functions: int4 },
});
