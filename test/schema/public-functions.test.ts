import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { grantLogin } from '../../schema/login-roles.ts';
import { migrate } from '../../schema/migrate.ts';
import { readerRole } from '../../schema/roles.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { useStore } from '../store/open-store.ts';

/**
 * Volatile functions of the server that change no stored data: locks, sleeping, randomness, sequences without
 * a grant, notifications, and functions that check the rights of their caller.
 */
const harmless =
  /^(pg_(try_)?advisory_|pg_sleep|pg_notify|pg_(cancel|terminate)_backend|random|setseed|gen_random_uuid|clock_timestamp|timeofday|currval|lastval|nextval|setval|set_config|lo_(open|close|get|lseek|tell|export)|loread|pg_stat_|pg_log|pg_lock_status|txid_|pg_current_xact|pg_export_snapshot)/;

describeNeeding('timescale', 'read-only roles', () => {
  const store = useStore();
  const viewer = `looks_${randomBytes(4).toString('hex')}`;
  beforeAll(async () => {
    await grantLogin(store.database, { role: viewer, kind: 'viewer', password: null }, null);
  });
  afterAll(async () => {
    await store.database.pool.query(`drop owned by ${viewer}; drop role ${viewer}`);
  });

  it.each([viewer, readerRole])('%s cannot call a function that writes, in any schema', async (role) => {
    const { rows } = await store.database.pool.query<{ name: string; schema: string; definer: boolean }>(
      `select p.proname as name, n.nspname as schema, p.prosecdef as definer
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where has_schema_privilege($1, n.oid, 'usage') and has_function_privilege($1, p.oid, 'execute')
         and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
         and (p.provolatile = 'v' and n.nspname not in ('pg_catalog', 'information_schema') or p.prosecdef
              or n.nspname = 'pg_catalog' and p.proname ~ '^(lo_|lowrite|loread|pg_(read|write|file)|pg_ls)' and p.provolatile = 'v')`,
      [role],
    );
    // The three functions of Tidemark that count requests and keys are for the service alone.
    const own = rows.filter(({ definer }) => definer).map(({ schema, name }) => `${schema}.${name}`);
    const ofService = ['tidemark.admit_request', 'tidemark.ask_for_key', 'tidemark.key_of'];
    expect(own.sort()).toEqual([...(role === readerRole ? ofService : [])].sort());
    const others = rows.filter(({ definer }) => !definer).map(({ name }) => name);
    const suspicious = others.filter((name) =>
      /add_|alter_|attach|chunk_(rewrite|const)|clean|clone|columnstore|compress_chunk|convert|create|delete|detach|disable|drop|enable|freeze|hook|merge|move|policy_|post_|pre_|process|rebuild|recompress|refresh|remove|reorder|reset|restart|run_job|set_|split|start|stop|update|write|put|unlink|truncate|lo_creat|from_bytea/.test(
        name,
      ),
    );
    expect(suspicious.filter((name) => !harmless.test(name) && !name.startsWith('generate_'))).toEqual([]);
  });

  it('the queries of a viewer have a limit that only a superuser may change', async () => {
    const { rows } = await store.database.pool.query('select rolconfig from pg_roles where rolname = $1', [viewer]);
    expect(rows[0].rolconfig).toContain('temp_file_limit=10GB');
  });

  it('a function that an upgrade brings is revoked from public by the next migrate', async () => {
    const { pool } = store.database;
    await pool.query('grant execute on function public.delete_job(integer) to public');
    const mayDelete = `select has_function_privilege('${viewer}', 'public.delete_job(integer)', 'execute') as may`;
    expect((await pool.query(mayDelete)).rows).toEqual([{ may: true }]);
    await migrate({ url: store.url, direction: 'up', ifBusy: 'wait' });
    expect((await pool.query(mayDelete)).rows).toEqual([{ may: false }]);
  });
});
