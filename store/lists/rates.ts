/** Commits a poll of the rates: one snapshot, stamped with the source's time. */

import type pg from 'pg';
import { type EpochMs, hourMs } from '../../model/intervals.ts';
import { isOutageLike } from '../../planning/polls.ts';
import type { Rate } from '../../v2/resources.ts';
import type { WindowAnswer } from '../commit/prepare-window.ts';
import { arrayOf, type Database, inTransaction, timestamp } from '../db/database.ts';
import { recordFetch } from '../ledger/ledger.ts';
import { quarantineRows } from '../ledger/quarantine.ts';
import { pollTime } from './polls.ts';

export interface RatesCommit {
  readonly answer: WindowAnswer<Rate>;
  readonly attempt: number;
  readonly nowMs: EpochMs;
}

/** Least time between two polls that mark a large part of the rates as gone. */
const confirmMs = hourMs;

/**
 * Stores a snapshot of the rates at the source's time (ours where the answer has none, or an invalid one),
 * with its ledger row, in one transaction. The same snapshot a second time, such as a cached copy, stores
 * nothing.
 *
 * @returns the number of stored rates.
 */
export async function commitRates(
  database: Database,
  commit: RatesCommit,
): Promise<{ fresh: number; timeMs: EpochMs }> {
  const { answer, nowMs } = commit;
  const timeMs = pollTime(answer.sourceTimeMs, nowMs);
  const rates = [...new Map(answer.rows.map((rate) => [rate.id, rate])).values()];
  return inTransaction(database, async (client) => {
    await client.query({
      name: 'store-currencies',
      text: `insert into tidemark.currencies as c (currency, symbol, currency_symbol, type)
             select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) i (currency, symbol, sign, type)
             where not exists (select from tidemark.currencies c where c.currency = i.currency and c.symbol = i.symbol
                               and c.currency_symbol is not distinct from i.sign and c.type = i.type)
             order by 1
             on conflict (currency) do update set symbol = excluded.symbol, type = excluded.type,
               currency_symbol = excluded.currency_symbol`,
      values: [
        rates.map((rate) => rate.id),
        rates.map((rate) => rate.symbol),
        rates.map((rate) => rate.currencySymbol),
        rates.map((rate) => rate.type),
      ],
    });
    const stored = await client.query({
      name: 'store-rates',
      text: `insert into tidemark.rate_points (currency_id, time, rate_usd)
             select c.id, $1, i.rate
             from unnest($2::text[], $3::numeric[]) i (currency, rate) join tidemark.currencies c using (currency)
             on conflict do nothing`,
      values: [timestamp(timeMs), rates.map((rate) => rate.id), arrayOf(rates.map((rate) => rate.rateUsd))],
    });
    const fresh = stored.rowCount ?? 0;
    // A cached copy has no news, and an unreadable rate may belong to any currency.
    if (fresh > 0 && answer.rejected.length === 0) {
      const ids = rates.map((rate) => rate.id);
      await markMissing(client, { ids, timeMs });
    }
    await quarantineRows(client, { dataset: 'rates', rows: answer.rejected, seenAtMs: nowMs });
    await recordFetch(client, {
      timeMs: nowMs,
      dataset: 'rates',
      lane: 'poll',
      attempt: commit.attempt,
      verdict: rates.length === 0 ? 'empty' : 'filled',
      status: answer.status,
      fresh,
      unchanged: rates.length - fresh,
      rejected: answer.rejected.length,
      bytes: answer.bytes,
      durationMs: answer.durationMs,
    });
    return { fresh, timeMs };
  });
}

/** Marks currencies that are not listed, and as gone those that the poll before did not list either. */
async function markMissing(client: pg.PoolClient, poll: { ids: readonly string[]; timeMs: EpochMs }): Promise<void> {
  await client.query(
    `update tidemark.currencies set missed_since = null, gone_since = null
     where currency = any ($1) and missed_since is not null`,
    [poll.ids],
  );
  const listed = await client.query<{ id: number; missing: boolean }>(
    'select id, currency <> all ($1) as missing from tidemark.currencies where gone_since is null',
    [poll.ids],
  );
  const missing = listed.rows.filter((row) => row.missing).map(({ id }) => id);
  if (missing.length === 0) return;
  const apartMs = isOutageLike(missing.length, listed.rows.length) ? confirmMs : 0;
  await client.query(
    `update tidemark.currencies
     set missed_since = coalesce(missed_since, $2),
         gone_since = case when missed_since <= $2::timestamptz - $3 * interval '1 millisecond' then missed_since end
     where id = any ($1) and (missed_since is null or missed_since <= $2::timestamptz - $3 * interval '1 millisecond')`,
    [missing, timestamp(poll.timeMs), apartMs],
  );
}
