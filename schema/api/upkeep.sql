-- Functions of the owner by which a worker, a role that owns no table, moves chunks to the columnstore and drops old
-- ones. TimescaleDB allows both to the owner of a table only. Each acts on chunks of this schema alone.

--: function tidemark.of_timescale(text)
create or replace function tidemark.of_timescale(name text) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  -- Another function of the name could be called in its place, with the rights of the owner.
  found text[] := array(
    select format('%I.%I', n.nspname, p.proname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
      join pg_proc p on p.pronamespace = e.extnamespace and p.proname = name
    where e.extname = 'timescaledb');
begin
  if cardinality(found) <> 1 then raise exception 'TimescaleDB has % functions %', cardinality(found), name; end if;
  return found[1];
end $$;
comment on function tidemark.of_timescale is 'Internal: a function of TimescaleDB with its schema.';
revoke all on function tidemark.of_timescale(text) from public;

--: function tidemark.move_chunk_to_columnstore(text)
create or replace function tidemark.move_chunk_to_columnstore(chunk text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  relation regclass := to_regclass(chunk);
  moved text;
begin
  -- It was merged into another one meanwhile.
  if relation is null then return null; end if;
  if not exists (
    select from pg_inherits i join pg_class c on c.oid = i.inhparent
    where i.inhrelid = relation and c.relnamespace = 'tidemark'::regnamespace
  ) then
    raise exception '% is no chunk of Tidemark', relation using errcode = 'insufficient_privilege';
  end if;
  execute format('select %s($1)::text', tidemark.of_timescale('compress_chunk')) into moved using relation;
  return moved;
end $$;
comment on function tidemark.move_chunk_to_columnstore is
  'Moves a chunk of this schema to the columnstore, as its policy would; null when it is gone.';
revoke all on function tidemark.move_chunk_to_columnstore(text) from public;

--: function tidemark.drop_chunks_before(text, timestamptz)
create or replace function tidemark.drop_chunks_before(table_name text, before timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute format('select %s($1, $2)', tidemark.of_timescale('drop_chunks'))
  using format('tidemark.%I', table_name)::regclass, before;
end $$;
comment on function tidemark.drop_chunks_before is
  'Drops the chunks of a table of this schema that end at or before a time.';
revoke all on function tidemark.drop_chunks_before(text, timestamptz) from public;
