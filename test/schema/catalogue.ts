/** The catalogue of a database as text: what its users and its upgrades see of tables, views and functions. */

import type { Database } from '../../store/db/database.ts';

/**
 * Sorted lines that agree on every version of PostgreSQL: relations, columns, constraints, indexes, functions,
 * triggers, comments and grants of the schemas `tidemark` and `public`, without those of extensions.
 */
export async function readCatalogue({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(catalogue);
  return rows
    .map(({ line }) => line.replaceAll('\n', '\\n').replaceAll('timestamp with time zone', 'timestamptz'))
    .sort();
}

const catalogue = `
  with own as (
    select 'pg_class'::regclass as catalog, c.oid, format('%s.%s', n.nspname, c.relname) as name,
           case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end as detail,
           c.relacl as acl, c.relowner as owner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('tidemark', 'public') and c.relkind in ('r', 'v', 'S', 'm', 'p')
    union all
    select 'pg_proc'::regclass, p.oid,
           format('%s.%s(%s)', n.nspname, p.proname, array_to_string(p.proargtypes::regtype[], ', ')),
           concat_ws(' ', case p.prokind when 'a' then 'aggregate' else 'function' end,
             '(' || pg_get_function_arguments(p.oid) || ')', 'returns', pg_get_function_result(p.oid), l.lanname,
             case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
             case when p.proisstrict then 'strict' end, case when p.prosecdef then 'security definer' end,
             case p.proparallel when 's' then 'parallel safe' end, p.proconfig),
           p.proacl, p.proowner
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
    where n.nspname in ('tidemark', 'public')
  ), objects as (
    select * from own
    where not exists (select from pg_depend d where d.classid = catalog and d.objid = own.oid and d.deptype = 'e')
  ), relations as (
    select * from objects where catalog = 'pg_class'::regclass and detail <> 'sequence'
  )
  select format('%s: %s', name, detail) as line from objects
  union all
  select format('%s -- %s', name, obj_description(oid, catalog::name)) from objects
  where obj_description(oid, catalog::name) is not null
  union all
  select format('%s.%s: %s%s%s%s', name, a.attname, format_type(a.atttypid, a.atttypmod),
                case when a.attnotnull then ' not null' end, case a.attidentity when '' then '' else ' identity' end,
                case a.attgenerated when '' then ' default ' else ' generated ' end || pg_get_expr(d.adbin, d.adrelid))
         || coalesce(' -- ' || col_description(o.oid, a.attnum), '')
  from relations o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  union all
  select format('%s constraint: %s', name, pg_get_constraintdef(c.oid))
  from relations o join pg_constraint c on c.conrelid = o.oid where c.contype <> 'n'
  union all
  select format('%s index: %s', name, pg_get_indexdef(i.indexrelid))
  from relations o join pg_index i on i.indrelid = o.oid
  union all
  select format('%s trigger: %s', name, pg_get_triggerdef(t.oid))
  from relations o join pg_trigger t on t.tgrelid = o.oid where not t.tgisinternal
  union all
  select format('%s grant: %s to %s%s', name, string_agg(lower(a.privilege_type), ', ' order by a.privilege_type),
                coalesce(nullif(a.grantee, 0)::regrole::text, 'public'),
                case when a.is_grantable then ' with grant option' end)
  from objects o, aclexplode(o.acl) a where a.grantee <> o.owner group by name, a.grantee, a.is_grantable
  union all
  select format('%s.%s grant: %s to %s', name, c.attname, lower(a.privilege_type), a.grantee::regrole)
  from relations o join pg_attribute c on c.attrelid = o.oid, aclexplode(c.attacl) a`;
