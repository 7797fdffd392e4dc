/**
 * Upgrades of stores that earlier versions made: test/fixtures/stores/ has a dump of each, and says how to make one.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { assertMigrated, migrate } from '../../schema/migrate.ts';
import type { Database } from '../../store/db/database.ts';
import { execute } from '../parts/test-database.ts';
import { openEmptyDatabase, openOwnStore } from '../store/open-store.ts';
import { readCatalogue } from './catalogue.ts';

const folder = 'test/fixtures/stores';
const dumps = readdirSync(folder).filter((name) => name.endsWith('.sql.gz'));
const up = ({ url }: Database) => migrate({ url, direction: 'up', ifBusy: 'wait' });

async function restored(dump: string): Promise<Database> {
  const database = await openEmptyDatabase();
  await execute(database.url, gunzipSync(readFileSync(join(folder, dump))).toString());
  return database;
}

async function texts({ pool }: Database, sql: string): Promise<string[]> {
  const { rows } = await pool.query<{ text: string }>(sql);
  return rows.map(({ text }) => text).sort();
}

/** Statements that give each row of every table that has some as text, with the columns that the table has now. */
async function rowsOfTables(database: Database): Promise<string[]> {
  const statements = await texts(
    database,
    // The default source was null until 0017.
    `select format('select %L || row(%s)::text as text from tidemark.%I %s', c.relname || ' ',
                   string_agg(case when a.attname = 'source' then 'coalesce(source, ''default'')'
                                   else quote_ident(a.attname) end, ', ' order by a.attnum), c.relname,
                   case c.relname when 'settings' then 'where name not like ''derived:%''' else '' end) as text
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'tidemark'::regnamespace and c.relkind = 'r' and c.relname <> 'migrations'
     group by c.relname`,
  );
  const found = await Promise.all(statements.map((statement) => texts(database, statement)));
  return statements.filter((_, index) => found[index]?.length !== 0);
}

async function rows(database: Database, statements: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const statement of statements) found.push(...(await texts(database, statement)));
  return found;
}

/** The dumps have no comments of migrations. */
const withoutComments = async (database: Database) =>
  (await readCatalogue(database)).map((line) => line.replace(/ -- .*/, '')).filter((line) => line.includes(': '));

it('there is a dump of the first version, of later ones and of this schema', () => {
  const newest = readdirSync('migrations').sort().at(-1)?.slice(0, 4) ?? '';
  expect(dumps.length).toBeGreaterThan(5);
  expect([dumps[0], dumps.at(-1)]).toEqual(['0009-first.sql.gz', expect.stringMatching(`^${newest}-`)]);
});

it.each(dumps)('%s: every row stays, and the schema is that of a new store', async (dump) => {
  const database = await restored(dump);
  const statements = await rowsOfTables(database);
  const before = await rows(database, statements);
  expect(before.length).toBeGreaterThan(100);
  await up(database);
  await assertMigrated(database.pool);
  expect(await rows(database, statements)).toEqual(before);
  expect(await withoutComments(database)).toEqual(await withoutComments((await openOwnStore()).database));
  expect(await up(database)).toEqual([]);
});

it('gives each deferred window of an older store its reason', async () => {
  const database = await restored('0015-newest-covered.sql.gz');
  const beyond = 'kraken keeps the newest 720 periods (12 h of m1); older ones cannot be requested there';
  const old = [
    ['empty', 'empty', 'the source answered without points', 'awaiting'],
    ['empty', null, null, 'awaiting'],
    ['empty', 'probe', 'the source has no daily point before 2024-01-01', 'awaiting_days'],
    ['empty', 'silent', 'the source answered with points beside the window only', 'silent'],
    ['empty', 'unusual', 'no point for far longer than usual', 'unusual'],
    ['failed', 'truncated', 'the answer lacks points that are stored beside the window', 'truncated'],
    ['stale', 'stale', 'the answer is older than the window', 'stale'],
    ['failed', 'incomplete', 'no row of the answer was readable, or none belonged to the window', 'unusable_file'],
    ['failed', 'incomplete', 'the answer has rows of this period that differ', 'disputed'],
    ['failed', 'incomplete', 'the source says that it does not have this itself', 'lacks'],
    ['failed', 'incomplete', 'GET /x: the archive has no such file', 'lacks'],
    ['failed', 'incomplete', beyond, 'beyond_depth'],
    ['failed', 'unreadable', 'no row of the answer was readable, or none belonged to the window', 'unreadable'],
    ['failed', 'store', beyond, 'not_stored'],
    ['failed', 'server_error', 'HTTP 500', 'failed'],
    ['failed', null, null, 'failed'],
  ] as const;
  for (const [place, [verdict, kind, message]] of old.entries())
    await database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, kind, message, first_at, retry_at)
       values (1, tstzrange(to_timestamp($1), to_timestamp($1 + 1)), $2, $3, $4, now(), now())`,
      [place, verdict, kind, message],
    );
  const asked = [
    'GET /x: connect ECONNREFUSED 127.0.0.1:1',
    'GET /x: the proxy at p:1 cannot be reached (getaddrinfo ENOTFOUND p)',
    'GET /x: other side closed',
  ];
  for (const error of asked)
    await database.pool.query(
      `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, duration_ms, error)
       values (now(), 'rates', 'poll', 1, 'unreachable', 1, $1)`,
      [error],
    );
  await up(database);
  const { rows: found } = await database.pool.query(
    'select reason, kind, message from tidemark.pending_windows order by range',
  );
  expect(found).toEqual(
    old.map(([, kind, message, reason]) => ({ reason, kind: reason === 'failed' ? kind : null, message })),
  );
  expect(await texts(database, 'select error as text from tidemark.fetches where not sent')).toEqual(asked.slice(0, 2));
  // Roles that may read the tables list gaps without a new grant.
  const may = `select has_table_privilege('pg_monitor', 'tidemark.gap_reasons', 'select')::text as text`;
  expect(await texts(database, may)).toEqual(['true']);
});

it('names the default source of an older store, where it was null', async () => {
  const database = await restored('0016-reasons.sql.gz');
  await database.pool.query(`
    insert into tidemark.settings values ('longest_range candles m1', '1'), ('longest_range@okx candles m1', '1'),
                                         ('source.refusal', '{}');
    insert into tidemark.series_sources values (2, 1, 'okx', 'X')`);
  await up(database);
  const given = `select concat_ws(' ', series_id, rank, source, symbol) as text from tidemark.series_sources`;
  expect(await texts(database, given)).toEqual(['1 1 default ', '2 1 okx X', '3 1 default ']);
  const asked = `select source as text from tidemark.fetches union select source from tidemark.pending_windows`;
  expect(await texts(database, asked)).toEqual(['default']);
  expect(await texts(database, `select name as text from tidemark.settings where name ~ '@'`)).toEqual([
    'longest_range@default candles m1',
    'longest_range@okx candles m1',
    'source.refusal@default',
  ]);
});

it("names a user's objects on what has to go before it changes anything, and keeps grants and views on the rest", async () => {
  const database = await restored('0011-sources.sql.gz');
  const { pool } = database;
  const role = `reader_${new URL(database.url).pathname.slice(-8)}`;
  const changed = 'tidemark.paired_returns(text,text,text,timestamptz,timestamptz)';
  await pool.query(`
    create role ${role};
    grant execute on function ${changed} to ${role} with grant option; revoke execute on function ${changed} from public;
    create view public.mine as select * from tidemark.paired_returns('bitcoin', 'bitcoin', 'd1', null, null);
    create view public.of_mine as select * from mine;
    create view public.kept as select * from candles;`);
  onTestFinished(async () => void (await pool.query(`drop owned by ${role}; drop role ${role}`)));
  const state = async () => [
    ...(await readCatalogue(database)),
    ...(await texts(database, `select name as text from tidemark.migrations`)),
  ];
  const before = await state();
  await expect(up(database)).rejects.toMatchObject({
    code: 'VIEW_IN_THE_WAY',
    message: expect.stringMatching(/in the way: view mine, view of_mine$/),
  });
  expect(await state()).toEqual(before);
  await pool.query('drop view of_mine, mine');
  await up(database);
  await pool.query('select from kept');
  const may = `select grantee::regrole || ' ' || is_grantable as text from pg_proc, aclexplode(proacl) where oid = '${changed}'::regprocedure`;
  const granted = await texts(database, may);
  expect(granted).toHaveLength(2);
  expect(granted).toEqual(expect.arrayContaining([`${role} true`, expect.stringMatching(/ false$/)]));
});
