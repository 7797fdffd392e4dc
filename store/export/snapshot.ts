/** Reading for an export: coverage and points as of one moment, however long it takes. */

import type pg from 'pg';
import { type Database, inTransaction, takeAnyTime } from '../database.ts';
import { pointTables } from '../point-sql.ts';

/** What is exported from tables in chunks. */
const held = [pointTables.candles, pointTables.asset_history, 'rate_points']
  .map((table) => `tidemark.${table}`)
  .join(', ');

/**
 * Runs `work` in one transaction that sees the database as it is when it begins, and only reads. It may take as long as
 * the reader of its output takes, between two statements too.
 */
export function inSnapshot<Result>(
  database: Database,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  return inTransaction(database, async (client) => {
    await client.query('set transaction isolation level repeatable read, read only');
    await takeAnyTime(client, 'transaction');
    await client.query('set local idle_in_transaction_session_timeout = 0');
    // Before the first query, which the snapshot is taken for: rows that a policy of the columnstore moves to another chunk
    // later on, it would not see there.
    await client.query(`lock table ${held} in access share mode`);
    return work(client);
  });
}

/**
 * A page of a cursor: enough rows that a round trip costs little, and few enough that thousands of pages do not add up.
 */
const rowsOfPage = 5000;

/**
 * The rows of a query, page by page from a cursor of the server's: nothing is fetched before the page before it has
 * been used. One at a time within a transaction.
 */
export async function* pagesOf<Row extends unknown[]>(
  client: pg.PoolClient,
  query: { text: string; values: unknown[] },
): AsyncGenerator<Row[]> {
  await client.query(`declare export_rows no scroll cursor for ${query.text}`, query.values);
  for (;;) {
    const page = await client.query<Row>({
      text: `fetch forward ${rowsOfPage} from export_rows`,
      rowMode: 'array',
    });
    if (page.rows.length > 0) yield page.rows;
    if (page.rows.length < rowsOfPage) break;
  }
  await client.query('close export_rows');
}
