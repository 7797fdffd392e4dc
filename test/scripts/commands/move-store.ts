/** A store with rows in every table that is moved, and every row of a store, to compare two. */

import { systemClock } from '../../../clock.ts';
import { datasetOf, marketDatasets } from '../../../model/datasets/index.ts';
import type { Database } from '../../../store/db/database.ts';
import { refreshRollups } from '../../../store/upkeep/refresh-rollups.ts';
import { skippedTables } from '../../../transfer/move/tables.ts';
import { fillAll } from './export-store.ts';

/** What no other helper brings about: one row at least of everything else, with values that are easily spoilt. */
const theRest = `
  insert into tidemark.lists (list, asset, every, untracked_at, retry_at)
    values ('assets', null, '90 minutes', null, null), ('asset_markets', 'bit,"coin"', '1 mon 2 days', now(), now());
  insert into tidemark.list_polls (list_id, begun_at, time, answered_at, pages, rows, changed, completed_at)
    select id, '2024-01-01T00:00:00.000001Z', '2024-01-01Z', '2024-01-01Z', 1, 2, 2, '2024-01-01T00:00:02Z' from tidemark.lists;
  insert into tidemark.list_polls (list_id, begun_at) select id, '2024-01-02Z' from tidemark.lists limit 1;
  insert into tidemark.poll_pages (poll_id, first_row, rows, listed) select max(id), 0, 2, '{1,2}' from tidemark.list_polls;
  insert into tidemark.listed_assets (asset, newest, gone_since) values ('a\\b', '2024-01-01Z', '2024-01-02Z'), ('𝔸\tb', '2024-01-01Z', null);
  insert into tidemark.listed_exchanges (exchange, newest) values ('', '2024-01-01Z');
  insert into tidemark.listed_markets (exchange, base, quote, newest) values ('x', 'y', E'z\\nz', '2024-01-01Z');
  insert into tidemark.listed_asset_markets (asset, exchange_name, base, quote, newest) values ('a', '\\N', 'b', 'c', '2024-01-01Z');
  insert into tidemark.asset_states (listed_id, time, gone, symbol, supply, price_usd)
    values (1, '2024-01-01Z', false, null, 21000000.000, 0.00000000000000000001), (1, '2024-01-02Z', true, null, null, null),
           (2, '2024-01-01Z', false, '\\N', 1e30, 'NaN');
  insert into tidemark.exchange_states (listed_id, time, name, socket) values (1, '2024-01-01Z', E'a\\tb\\r\\n', true);
  insert into tidemark.market_states (listed_id, time, price_usd) values (1, '2024-01-01Z', 1.10);
  insert into tidemark.asset_market_states (listed_id, time, price_usd) values (1, '2024-01-01Z', 1.1000);
  insert into tidemark.point_revisions (series_id, time, seen_at, before)
    select id, '2024-01-01Z', now(), '{"close": 1.1000000000000000000010}' from tidemark.series;
  insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw)
    values (now(), 'candles', (select min(id) from tidemark.series), '[2024-01-01,2024-01-02)', 'bad "row"', E'{"open":\\t"1"}\\n'), (now(), 'rates', null, null, 'bad', '');
  insert into tidemark.pending_windows (series_id, range, reason, first_at, retry_at)
    values ((select min(id) from tidemark.series), '[2024-01-03,2024-01-04)', 'failed', now(), now()),
           ((select max(id) from tidemark.series), '[2024-01-03,2024-01-04)', 'awaiting', now(), '2999-01-01Z');
  insert into tidemark.empty_answers select min(id), '[2024-01-03,2024-01-04)', now() from tidemark.series;
  insert into tidemark.differences
    select min(id), '2024-01-01Z', now(), 'changed', '{"close": "1.10"}', null from tidemark.series;
  insert into tidemark.asked_windows (run, series_id, range, answered_at) 
    select 'r', min(id), '[2024-01-03,2024-01-04)', now() from tidemark.series;
  insert into tidemark.api_keys (name, hash, issued_at) values ('Ann', '\\x00ff5c', now()), ('Bob', null, null);
  update tidemark.series_sources set source = 'binance', symbol = E'A\\tB', archive = true
    where series_id = (select min(id) from tidemark.series);
  insert into tidemark.source_ranges select min(id), 'binance', '{[2024-01-01,2024-01-02),[2024-01-03,2024-01-04)}' from tidemark.series;
  insert into tidemark.cross_differences select min(id), 'kraken', '2024-01-01Z', now(), 'changed', '{"open": 1.10}', null from tidemark.series;
  insert into tidemark.asset_aliases values ('', 'A', 'a'), ('binance', E'\\t', 'b');
  insert into tidemark.source_symbols values ('binance', 'AB', 'A', 'B', null, true, '2024-01-01Z');
  insert into tidemark.symbol_states values ('binance', 'AB', '2024-01-01Z', false, 'A', 'B', null, true, 0.10, 'A');
  insert into tidemark.actions (time, action, request, address, user_name, state) values (now(), 'pause', '{"a": "\\t"}', '127.0.0.1', null, 'running');
  insert into tidemark.backfills (asked_at, asked_by, kind, state, progress) values (now(), 'a@b', 'verify', 'running', '{"of": 2}');
  insert into tidemark.backfill_series select (select max(id) from tidemark.backfills), min(id), '[2024-01-01,2024-01-02)', null, '[2024-01-01,)' from tidemark.series;
  insert into tidemark.settings values ('retention.candles', '30y');
  -- Ids that were given out and are not there any more are not given out again.
  delete from tidemark.api_keys where name = 'Bob';`;

export async function fillEverything(database: Database): Promise<void> {
  await fillAll(database);
  await database.pool.query(theRest);
  for (const { table, columns } of marketDatasets.map(datasetOf).filter(({ name }) => name !== 'candles'))
    await database.pool.query(
      `insert into tidemark.${table} (series_id, time, ${columns.map(({ name }) => name).join(', ')})
       values (1, '2024-01-01Z', ${columns.map((_, place) => `-${place}.0000000000000000000010`).join(', ')})`,
    );
  await refreshRollups(database, { clock: systemClock, nowMs: Date.now() });
}

/** Every row of every table in the schema, as text, sorted; without what belongs to a database itself. */
export async function everyRow(database: Database): Promise<Record<string, string[]>> {
  const tables = await database.pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'tidemark'::regnamespace and relkind in ('r', 'p') and relname <> all ($1) order by 1`,
    [Object.keys(skippedTables)],
  );
  const found: Record<string, string[]> = {};
  for (const { name } of tables.rows) {
    const rows = await database.pool.query<{ row: string }>(
      `select t::text as row from tidemark.${name} t ${name === 'settings' ? `where name not like 'derived: %'` : ''}`,
    );
    found[name] = rows.rows.map(({ row }) => row).sort();
  }
  return found;
}

/** What each column that numbers its rows gives out next. */
export async function nextIds(database: Database): Promise<Record<string, string>> {
  const sequences = await database.pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'tidemark'::regnamespace and relkind = 'S' and relname not like 'migrations%' order by 1`,
  );
  const found: Record<string, string> = {};
  for (const { name } of sequences.rows) {
    const state = await database.pool.query<{ next: string }>(
      `select concat_ws(' ', last_value, is_called) as next from tidemark.${name}`,
    );
    found[name] = state.rows[0]?.next ?? '';
  }
  return found;
}
