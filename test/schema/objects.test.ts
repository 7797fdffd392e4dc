import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { intervalMs } from '../../model/intervals.ts';
import { apiObjects } from '../../schema/api.ts';
import { applyApi, dropApi } from '../../schema/apply.ts';
import { openOwnStore, useStore } from '../store/open-store.ts';
import { market } from './api/candles.ts';
import { ask, perpetuals, rowsIn, storeLine } from './api/price-line.ts';

/** Functions of no extension. */
const present = `
  select n.nspname || '.' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')'
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('public', 'tidemark')
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  order by 1`;

it('every function is dropped and created again, and none hides another in the search path', async () => {
  const own = await openOwnStore();
  const rows = rowsIn(own);
  const client = new pg.Client({ connectionString: own.url });
  await client.connect();
  onTestFinished(() => client.end());
  const made = await rows(present);
  await client.query('begin');
  expect(made).toHaveLength(apiObjects(false).filter(({ name }) => name.includes('(')).length);
  expect(await dropApi(client)).toBe(true);
  await client.query('commit; begin');
  expect(await rows(present)).toEqual([]);
  expect(await applyApi(client)).toBe(true);
  await client.query('commit');
  expect(await rows(present)).toEqual(made);
  // A role named tidemark finds the schema tidemark before public.
  const clashes = await rows(
    `select c.relname from pg_class c join pg_class other using (relname)
     where c.relnamespace = 'tidemark'::regnamespace and other.relnamespace = 'public'::regnamespace
     union select p.proname from pg_proc p join pg_proc other using (proname)
     where p.pronamespace = 'tidemark'::regnamespace and other.pronamespace = 'public'::regnamespace`,
  );
  expect(clashes).toEqual([]);
});

it('no line of api/*.sql is longer than 120 characters', () => {
  const names = readdirSync('schema/api', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sql'),
  );
  expect(names.length).toBeGreaterThan(10);
  const lines = names.flatMap((name) => readFileSync(`schema/api/${name}`, 'utf8').split('\n'));
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

const store = useStore();
beforeAll(async () => {
  const asset = { dataset: 'asset_history', assetId: 'a', interval: 'd1' } as const;
  const startMs = Date.UTC(2024, 0, 1);
  const perpetual = { ...market('a', 'd1'), quoteId: 'tether:tether' };
  for (const key of [market('a', 'd1'), perpetual, asset, ...perpetuals]) {
    const endMs = startMs + 3 * intervalMs[key.interval];
    await storeLine(store.database, { key, startMs, endMs, prices: ['1', '2', '3'] });
  }
  await store.database.pool.query(
    `insert into tidemark.currencies (currency, symbol, type) values ('euro', 'EUR', 'fiat'), ('tether', 'USDT', 'crypto')`,
  );
});

/** A role until the end of the test. @returns the rows of a query that it asks. */
async function roleWith(name: string, grants: string) {
  const role = `${name}_${new URL(store.url).pathname.slice(-8)}`;
  await store.database.pool.query(`create role ${role}; ${grants.replaceAll('ROLE', role)}`);
  onTestFinished(async () => {
    await store.database.pool.query(`drop owned by ${role}; drop role ${role}`);
  });
  return async (sql: string) => (await ask(store.url, sql, 'UTC', role)).rows;
}

it('a role with rights on the views only can query them', async () => {
  const asked = await roleWith('viewer', 'grant select on all tables in schema public to ROLE');
  const views = apiObjects(false).flatMap(({ name }) => /^public\.(\w+)$/.exec(name)?.[1] ?? []);
  expect(views.length).toBeGreaterThan(5);
  for (const name of views) await asked(`select * from ${name}`);
  expect(await asked(`select points from candles where interval = 'w1'`)).toEqual(['3', '3']);
});

it('a read-only role can call every function', async () => {
  const asked = await roleWith(
    'reader',
    'grant usage on schema tidemark to ROLE; grant select on all tables in schema tidemark, public to ROLE',
  );
  const names = `'x', 'a', 'tether'`;
  const calls: Record<string, string> = {
    ohlcv: `${names}, 'w1', '2024-01-01'`,
    candles: names,
    ohlcv_by: `${names}, '3 days'`,
    ohlcv_in: `${names}, 'euro'`,
    vwap: names,
    rolling: `'a', '2 days', 'd1'`,
    volume_bars: `${names}, 2, 'd1'`,
    dollar_bars: `${names}, 2, 'd1'`,
    prices_in: `'a', 'euro'`,
    correlation: `'x a/tether', 'a'`,
    correlations: `array['x a/tether', 'a']`,
    correlation_matrix: `array['x a/tether', 'a']`,
    returns_panel: `array['x a/tether', 'a']`,
    returns_panel_wide: `array['x a/tether', 'a']`,
    asof: `'x a/tether', 'a'`,
    prices_asof: `array['x a/tether', 'a'], array['2024-01-02 12:00Z']::timestamptz[], 'd1'`,
    aligned: `array['x a/tether', 'a']`,
    aligned_wide: `array['x a/tether', 'a']`,
    rolling_correlation: `'x a/tether', 'a'`,
    candles_as_known_at: `${names}, 'd1', now()`,
    history_as_known_at: `'a', 'd1', now()`,
    seasonality_by_hour: `'a', 'd1'`,
    funding: `'x', 'a', 'tether:tether'`,
    funding_paid: `'x', 'a', 'tether:tether'`,
    funding_panel: `array['x a/tether:tether']`,
    funding_panel_wide: `array['x a/tether:tether']`,
    open_interest_value: `'x', 'a', 'tether:tether'`,
    basis: `'x', 'a', 'tether:tether', 'tether', 'd1'`,
    chart_interval: `'a', 'auto', '2024-01-01', '2024-01-04'`,
    ...Object.fromEntries(perpetuals.map(({ knownAt }) => [knownAt, `'x', 'a', 'tether:tether', 'h1', now()`])),
  };
  const functions = new Set(apiObjects(false).flatMap(({ name }) => /^public\.(\w+)\(text/.exec(name)?.[1] ?? []));
  expect(functions.size).toBeGreaterThan(18);
  for (const name of functions)
    expect(await asked(`select * from ${name}(${calls[name] ?? `'a'`})`), name).not.toEqual([]);
  expect(await asked(`select base from universe_at('2024-01-04Z', days => 3)`)).toEqual(['a', 'a']);
  expect(await asked('select * from coverage')).toHaveLength(3 + perpetuals.length);
  for (const view of ['gaps', 'revisions']) expect(await asked(`select * from ${view}`)).toEqual([]);
  await expect(asked('delete from tidemark.candle_points')).rejects.toThrow(/permission denied/);
});

it('docs/sql.md names the arguments of every function, in their order', async () => {
  const known = await rowsIn(store)(
    `select case n.nspname when 'tidemark' then 'tidemark.' else '' end || p.proname || '(' || array_to_string(p.proargnames[:p.pronargs], ', ') || ')'
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('public', 'tidemark') and p.proargnames is not null
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
  );
  const written = readFileSync('docs/sql.md', 'utf8').matchAll(/^### (.*\(.*)$/gm);
  const headings = [...written].flatMap(([, heading = '']) =>
    [...heading.matchAll(/[\w.]+\([^)]*\)/g)].map(([text]) => text),
  );
  expect(headings.length).toBeGreaterThan(25);
  const plain = (text: string) => text.replaceAll(/\[\]| => [\w']+/g, '');
  expect(headings.map(plain).filter((text) => !known.includes(text) && !text.includes('...'))).toEqual([]);
});
