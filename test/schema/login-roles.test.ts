/** The roles that log in: what each may do, over the whole catalogue, and that a worker can do all its work. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { grantLogin, type LoginKind, renewLogins } from '../../schema/login-roles.ts';
import { readerRole } from '../../schema/roles.ts';
import { trackSeries } from '../../store/series/series.ts';
import { applyRetention } from '../../store/upkeep/drop-old.ts';
import { moveDueChunks } from '../../store/upkeep/jobs.ts';
import { writeRetention } from '../../store/upkeep/retention.ts';
import { clockAt } from '../parts/test-clock.ts';
import { commitPoints, storedPoints } from '../store/committing.ts';
import { connect, onEachDatabase, openOwnStore, useStore } from '../store/open-store.ts';
import { market } from './api/candles.ts';

const kinds: readonly LoginKind[] = ['worker', 'service', 'viewer'];
const ofService = ['tidemark.admit_request', 'tidemark.ask_for_key', 'tidemark.key_of'];
const ofWorker = ['tidemark.drop_chunks_before', 'tidemark.move_chunk_to_columnstore'];
const ofOwner = ['tidemark.of_timescale'];
/** Of the queue on PostgreSQL, in every test's database. */
const queueSchema = 'tidemark_queue';

onEachDatabase('login roles', (on) => {
  const store = useStore(on);
  const suffix = randomBytes(4).toString('hex');
  const nameOf = (kind: LoginKind) => `${kind}_${suffix}`;
  const rows = async <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await store.database.pool.query(sql, values)).rows as Row[];

  beforeAll(async () => {
    for (const kind of kinds)
      expect(await grantLogin(store.database, { role: nameOf(kind), kind, password: 'secret' }, queueSchema)).toBe(
        true,
      );
  });
  afterAll(async () => {
    for (const kind of kinds) await rows(`drop owned by ${nameOf(kind)}; drop role ${nameOf(kind)}`);
  });

  it.each(kinds)('a %s has exactly its rights on tables and views', async (kind) => {
    const found = await rows<{ schema: string; name: string; kind: string; rights: string }>(
      `select n.nspname as schema, c.relname as name, c.relkind as kind,
              (select string_agg(r, ' ' order by place)
               from unnest('{select,insert,update,delete,truncate,references,trigger}'::text[])
                 with ordinality u (r, place) where has_table_privilege($1, c.oid, r)) as rights
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^(pg_|_?timescaledb_)'
         and n.nspname <> 'information_schema'
         -- Views of the extension itself.
         and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')`,
      [nameOf(kind)],
    );
    expect(found.length).toBeGreaterThan(60);
    const wrong = found.filter(({ schema, name, kind: relkind, rights }) => {
      if (schema === 'public') return rights !== 'select';
      if (schema === queueSchema) return rights !== (kind === 'worker' ? 'select insert update delete' : null);
      if (['api_keys', 'request_times'].includes(name)) return rights !== null;
      const writes = kind === 'worker' && relkind === 'r' && name !== 'migrations';
      // A series is deleted with its data, by the owner alone.
      if (writes && name === 'series') return rights !== 'select insert update';
      return rights !== (writes ? 'select insert update delete' : 'select');
    });
    expect(wrong).toEqual([]);
  });

  it.each(kinds)('a %s may call exactly its functions of the owner', async (kind) => {
    const found = await rows<{ name: string }>(
      `select n.nspname || '.' || p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname in ('tidemark', 'public') and has_function_privilege($1, p.oid, 'execute')
         and (p.prosecdef or n.nspname || '.' || p.proname = any ($2))`,
      [nameOf(kind), [...ofService, ...ofWorker, ...ofOwner]],
    );
    const expected = { worker: ofWorker, service: ofService, viewer: [] }[kind];
    expect(found.map(({ name }) => name).sort()).toEqual(expected);
  });

  it.each(kinds)('a %s creates nothing, and has no other power', async (kind) => {
    const [role] = await rows(
      `select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as power,
              has_database_privilege(oid, current_database(), 'create') as schemas,
              (select coalesce(string_agg(nspname, ' '), '') from pg_namespace n
               where has_schema_privilege(r.oid, n.oid, 'create') and nspname !~ '^pg_(toast_)?temp_') as creates,
              array(select m.roleid::regrole::text from pg_auth_members m where m.member = r.oid order by 1) as member
       from pg_roles r where rolname = $1`,
      [nameOf(kind)],
    );
    const member = { worker: ['pg_read_all_stats'], service: ['pg_read_all_stats', readerRole], viewer: [] }[kind];
    expect(role).toEqual({ power: false, schemas: false, creates: '', member });
  });

  it('a worker commits, reads, revises, and applies retention, and touches no chunk of others', async () => {
    const url = new URL(store.url);
    url.username = nameOf('worker');
    url.password = 'secret';
    const database = connect(url.href, 4);
    onTestFinished(() => database.close());
    const nowMs = Date.UTC(2026, 0, 1);
    const series = market('a', 'h1');
    const begin = Date.UTC(2025, 0, 1);
    const { seriesId } = await trackSeries(database, series, begin, null);
    const of = { seriesId, series };
    const window = { startMs: begin, endMs: begin + 30 * dayMs };
    await commitPoints(database, { seriesId, series, window });
    const stored = await storedPoints(database, of);
    expect(stored.size).toBeGreaterThan(600);

    // Where a policy works, a worker moves no chunk.
    if (on === 'main') await rows(`select remove_compression_policy('tidemark.candle_points', true)`);
    const moved: string[] = [];
    const failed: unknown[] = [];
    await moveDueChunks(database, {
      ...{ clock: clockAt(() => nowMs), nowMs, afterDays: 14, signal: new AbortController().signal },
      onMoved: ({ chunk }) => void moved.push(chunk),
      onFailed: ({ error }) => void failed.push(error),
    });
    expect(failed).toEqual([]);
    expect(moved.length > 0).toBe(on === 'main');
    expect(await storedPoints(database, of)).toEqual(stored);
    await expect(database.pool.query(`select tidemark.move_chunk_to_columnstore('tidemark.settings')`)).rejects.toThrow(
      'is no chunk of Tidemark',
    );
    await expect(database.pool.query(`select tidemark.move_chunk_to_columnstore('pg_authid')`)).rejects.toThrow(
      'is no chunk of Tidemark',
    );
    await expect(database.pool.query(`select tidemark.drop_chunks_before('nothing', now())`)).rejects.toThrow(
      on === 'main' ? 'does not exist' : 'TimescaleDB has 0 functions',
    );

    await writeRetention(database.pool, 'candles', '1d');
    const [dropped] = await applyRetention(database, { clock: clockAt(() => nowMs), nowMs });
    expect(dropped?.points).toBe(stored.size);
    expect(await storedPoints(database, of)).toEqual(new Map());
  });

  it('migrate grants again what a recreated view has lost, in this database', async () => {
    const may = `select has_table_privilege($1, 'public.candles', 'select') as reads`;
    for (const kind of kinds) await rows(`revoke all on public.candles from ${nameOf(kind)}`);
    await rows(`revoke insert on tidemark.settings from ${nameOf('worker')}`);
    // As earlier versions had it.
    await rows(`grant delete on tidemark.series to ${nameOf('worker')}`);
    await renewLogins(store.database, queueSchema);
    for (const kind of kinds) expect(await rows(may, [nameOf(kind)])).toEqual([{ reads: true }]);
    const writes = `select has_table_privilege($1, 'tidemark.settings', 'insert') as may`;
    expect(await rows(writes, [nameOf('worker')])).toEqual([{ may: true }]);
    expect(await rows(writes, [nameOf('viewer')])).toEqual([{ may: false }]);
    const deletes = `select has_table_privilege($1, 'tidemark.series', 'delete') as may`;
    expect(await rows(deletes, [nameOf('worker')])).toEqual([{ may: false }]);
  });

  it('gets nothing in another database of the server, also a service, which may switch to the reader that both share', async () => {
    const { database: other } = await openOwnStore(on);
    await renewLogins(other, queueSchema);
    const granted = await other.pool.query(
      `select grantee::regrole::text as role from pg_class, aclexplode(relacl) where grantee::regrole::text like $1`,
      [`%_${suffix}`],
    );
    expect(granted.rows).toEqual([]);
  });

  it('a user who may not change a role that is there is told what to grant', async () => {
    const other = `other_${suffix}`;
    await rows(`create role ${other} login password 'secret'`);
    onTestFinished(async () => {
      await rows(`drop role ${other}`);
    });
    const url = new URL(store.url);
    Object.assign(url, { username: other, password: 'secret' });
    const database = connect(url.href, 1);
    onTestFinished(() => database.close());
    const denied = grantLogin(database, { role: nameOf('worker'), kind: 'worker', password: 'other' }, null);
    await expect(denied).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
      message: expect.stringContaining('is on this server already, and this user may not change it'),
      remedy: expect.stringContaining(`${nameOf('worker')}`),
    });
  });

  it('a role stays of its kind', async () => {
    const asViewer = { role: nameOf('worker'), kind: 'viewer', password: null } as const;
    await expect(grantLogin(store.database, asViewer, null)).rejects.toThrow('is of another kind');
    const again = { role: nameOf('worker'), kind: 'worker', password: 'other' } as const;
    expect(await grantLogin(store.database, again, null)).toBe(false);
  });
});
