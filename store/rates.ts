/** A poll of the rates: one snapshot, stamped with the source's time. */

import { dayMs, type EpochMs } from '../contract/intervals.ts';
import type { Rate } from '../contract/resources.ts';
import { arrayOf, type Database, inTransaction, timestamp } from './database.ts';
import { recordFetch } from './ledger.ts';
import { quarantineRows } from './quarantine.ts';
import type { WindowAnswer } from './windows.ts';

export interface RatesCommit {
  readonly answer: WindowAnswer<Rate>;
  readonly attempt: number;
  readonly nowMs: EpochMs;
}

/** Clocks differ by minutes. A time further ahead is none: it would be the newest for ever, or none that a database holds. */
const farthestAheadMs = dayMs;

/**
 * Stores a snapshot of the rates at the source's time (ours where the answer has none, or an impossible one), with its
 * ledger row, in one transaction. The same snapshot twice, as a cached copy, stores nothing.
 *
 * @returns how many rates were stored.
 */
export async function commitRates(
  database: Database,
  commit: RatesCommit,
): Promise<{ fresh: number; timeMs: EpochMs }> {
  const { answer, nowMs } = commit;
  const sourceTimeMs = answer.sourceTimeMs ?? nowMs;
  const timeMs = sourceTimeMs > nowMs + farthestAheadMs ? nowMs : sourceTimeMs;
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
    await quarantineRows(client, {
      dataset: 'rates',
      seriesId: null,
      window: null,
      rows: answer.rejected,
      seenAtMs: nowMs,
    });
    await recordFetch(client, {
      timeMs: nowMs,
      dataset: 'rates',
      seriesId: null,
      range: null,
      lane: 'poll',
      attempt: commit.attempt,
      verdict: rates.length === 0 ? 'empty' : 'filled',
      status: answer.status,
      fresh,
      changed: 0,
      unchanged: rates.length - fresh,
      rejected: answer.rejected.length,
      bytes: answer.bytes,
      durationMs: answer.durationMs,
      error: null,
    });
    return { fresh, timeMs };
  });
}
