-- The list of what can be queried, from the comments in the catalog. A comment that begins with "Internal: " belongs to
-- an object that serves others only. An example follows on a line of its own.

--: view tidemark.help
create or replace view tidemark.help as
  with objects as (
    select n.nspname as schema, c.relname as name,
           case when c.relkind = 'v' then 'view' else 'table' end as kind, null as arguments,
           (select string_agg(a.attname, ', ' order by a.attnum) from pg_catalog.pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as returns,
           coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '') as comment
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('v', 'r', 'p') and not exists (
      select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    union all
    select n.nspname, p.proname, case when p.prokind = 'a' then 'aggregate' else 'function' end,
           pg_catalog.pg_get_function_arguments(p.oid), pg_catalog.pg_get_function_result(p.oid),
           coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), '')
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      -- Functions with the rights of their owner are for service and workers.
    where not p.prosecdef and not exists (
      select from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  )
  select schema, name, kind, arguments, returns, split_part(comment, E'\nExample: ', 1) as description,
         coalesce(nullif(split_part(comment, E'\nExample: ', 2), ''),
                  case when kind in ('view', 'table') then format('select * from %I.%I limit 10', schema, name) end)
           as example
  from objects
  where schema in ('public', 'tidemark') and comment <> '' and not starts_with(comment, 'Internal: ')
  order by schema, kind desc, name, arguments;
comment on view tidemark.help is
  'Every view, function and table, with what it is and an example; the columns have comments, which psql shows '
  'with \d+.';
