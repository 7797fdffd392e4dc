/**
 * Imports rates of a file, and rows that belong to no series. A differing stored rate is always kept: rates
 * have no revisions.
 */

import type { EpochMs } from '../../model/intervals.ts';
import type { StoredDataset } from '../../model/series.ts';
import { arrayOf, type Database, inTransaction, timestamps } from '../../store/db/database.ts';
import { quarantineRows, type RejectedRow } from '../../store/ledger/quarantine.ts';
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
    await client.query(
      `insert into tidemark.currencies (currency, symbol, currency_symbol, type) values ($1, $2, $3, $4)
       on conflict (currency) do nothing`,
      [id, symbol, currencySymbol, type],
    );
    const values = [
      id,
      arrayOf(timestamps(piece.rows.map(({ timeMs }) => timeMs))),
      arrayOf(piece.rows.map(({ rate }) => rate.rateUsd)),
    ];
    const stored = await client.query(
      `insert into tidemark.rate_points (currency_id, time, rate_usd)
       select c.id, i.time, i.rate
       from tidemark.currencies c, unnest($2::timestamptz[], $3::numeric[]) i (time, rate)
       where c.currency = $1
       on conflict do nothing`,
      values,
    );
    const compared = await client.query<{ rewritten: number; differences: FileDifference[] }>(
      `select count(*) filter (where p.rate_usd = i.rate and p.rate_usd::text <> i.rate::text)::int as rewritten,
              coalesce(jsonb_agg(jsonb_build_object('timeMs', (extract(epoch from i.time) * 1000)::bigint,
                  'stored', jsonb_build_object('rate_usd', p.rate_usd::text),
                  'inFile', jsonb_build_object('rate_usd', i.rate::text)) order by i.time)
                filter (where p.rate_usd <> i.rate), '[]') as differences
       from tidemark.currencies c, unnest($2::timestamptz[], $3::numeric[]) i (time, rate),
            tidemark.rate_points p
       where c.currency = $1 and p.currency_id = c.id and p.time = i.time`,
      values,
    );
    const { rewritten, differences } = compared.rows[0] ?? { rewritten: 0, differences: [] };
    const fresh = stored.rowCount ?? 0;
    const unchanged = piece.rows.length - fresh - differences.length;
    return { ...emptyPiece, fresh, unchanged, rewritten, differences };
  });
}

/** Quarantines rows of a file that belong to no series or to no time. */
export async function quarantineOutsideRows(
  database: Database,
  strays: { dataset: StoredDataset; rows: readonly RejectedRow[]; seenAtMs: EpochMs },
): Promise<void> {
  if (strays.rows.length === 0) return;
  await inTransaction(database, (client) => quarantineRows(client, strays));
}
