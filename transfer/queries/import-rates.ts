/**
 * Imports rates of a file, and rows that belong to no series. A differing stored rate is always kept: rates
 * have no revisions.
 */

import type { EpochMs } from '../../model/intervals.ts';
import type { StoredDataset } from '../../model/stored-datasets.ts';
import type { RejectedRow } from '../../planning/answer.ts';
import { type Database, inTransaction } from '../../store/db/database.ts';
import { int4, int8, jsonb, nullable, numeric, rowsOf, statement, text, time } from '../../store/db/statement.ts';
import { quarantineRows } from '../../store/ledger/quarantine.ts';
import type { Rate } from '../../v2/resources.ts';
import { emptyPiece, type FileDifference, type PieceResult } from './import-points.ts';

export interface RatesPiece {
  /** Rates of one currency, each time once. */
  readonly rows: ReadonlyArray<{ readonly timeMs: EpochMs; readonly rate: Rate }>;
  readonly refused: readonly RejectedRow[];
  readonly nowMs: EpochMs;
}

/** Stores a piece in one transaction. Stored details of a currency, such as its symbol, stay. */
export async function importRates(database: Database, piece: RatesPiece): Promise<PieceResult> {
  return inTransaction(database, async (client) => {
    await quarantineRows(client, { dataset: 'rates', rows: piece.refused, seenAtMs: piece.nowMs });
    const [first] = piece.rows;
    if (first === undefined) return emptyPiece;
    const { id, symbol, currencySymbol, type } = first.rate;
    await insertCurrency.on(client, { id, symbol, currencySymbol, type });
    const values = { id, rates: piece.rows.map(({ timeMs, rate }) => ({ time: timeMs, rate: rate.rateUsd })) };
    const { fresh } = await insertRates.one(client, values);
    const { rewritten, differences } = await compareRates.one(client, values);
    const unchanged = piece.rows.length - fresh - differences.length;
    return { ...emptyPiece, fresh, unchanged, rewritten, differences };
  });
}

const insertCurrency = statement({
  name: 'insert-currency',
  text: `insert into tidemark.currencies (currency, symbol, currency_symbol, type)
         values ($id, $symbol, $currencySymbol, $type) on conflict (currency) do nothing`,
  parameters: { id: text, symbol: text, currencySymbol: nullable(text), type: text },
});

const ofFile = { id: text, rates: rowsOf({ time, rate: numeric }) };

const insertRates = statement({
  name: 'import-rates',
  isPlannedAnew: true,
  text: `
    with made as (
      insert into tidemark.rate_points (currency_id, time, rate_usd)
      select c.id, time, rate from tidemark.currencies c, $rates where c.currency = $id
      on conflict do nothing returning 1
    ) select count(*) as fresh from made`,
  parameters: ofFile,
  row: { fresh: int8 },
});

const compareRates = statement({
  name: 'compare-rates',
  isPlannedAnew: true,
  text: `
    select count(*) filter (where p.rate_usd = i.rate and p.rate_usd::text <> i.rate::text)::int as rewritten,
           coalesce(jsonb_agg(jsonb_build_object('timeMs', (extract(epoch from i.time) * 1000)::bigint,
               'stored', jsonb_build_object('rate_usd', p.rate_usd::text),
               'inFile', jsonb_build_object('rate_usd', i.rate::text)) order by i.time)
             filter (where p.rate_usd <> i.rate), '[]') as differences
    from tidemark.currencies c, (select * from $rates) i, tidemark.rate_points p
    where c.currency = $id and p.currency_id = c.id and p.time = i.time`,
  parameters: ofFile,
  row: { rewritten: int4, differences: jsonb<readonly FileDifference[]>() },
});

/** Quarantines rows of a file that belong to no series or to no time. */
export async function quarantineOutsideRows(
  database: Database,
  strays: { dataset: StoredDataset; rows: readonly RejectedRow[]; seenAtMs: EpochMs },
): Promise<void> {
  if (strays.rows.length === 0) return;
  await inTransaction(database, (client) => quarantineRows(client, strays));
}
