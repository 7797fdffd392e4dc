/** Polled rates to be exported, currency by currency. They have no coverage: the source gives only the present. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import { TidemarkError } from '../../errors.ts';
import { timestamp } from '../database.ts';
import { type ExportedPoint, type ExportSize, measured } from './points.ts';
import { pagesOf } from './snapshot.ts';

export interface RatesQuery {
  /** Null: all there are. */
  readonly currencies: readonly string[] | null;
  /** Null: from the first, to the last. */
  readonly fromMs: EpochMs | null;
  readonly toMs: EpochMs | null;
}

export interface ExportedCurrency {
  readonly currencyId: number;
  readonly currency: string;
  readonly symbol: string;
  readonly currencySymbol: string | null;
  readonly type: string;
  readonly points: number;
  readonly firstMs: EpochMs;
  readonly lastMs: EpochMs;
}

const within =
  "p.currency_id = $1 and p.time >= coalesce($2::timestamptz, '-infinity') and p.time < coalesce($3::timestamptz, 'infinity')";

/** Those that have a rate in the range. @throws TidemarkError UNKNOWN_SERIES when one that is named has none. */
export async function currenciesToExport(
  client: pg.PoolClient,
  query: RatesQuery,
): Promise<ExportedCurrency[]> {
  const result = await client.query<ExportedCurrency>(
    `select c.id as "currencyId", c.currency, c.symbol, c.currency_symbol as "currencySymbol", c.type,
            p.points, p.first as "firstMs", p.last as "lastMs"
     from tidemark.currencies c
     join (select currency_id, count(*)::int as points, min(time) as first, max(time) as last from tidemark.rate_points
           where time >= coalesce($2::timestamptz, '-infinity') and time < coalesce($3::timestamptz, 'infinity')
           group by currency_id) p on p.currency_id = c.id
     where $1::text[] is null or c.currency = any ($1)
     order by c.currency`,
    [query.currencies, momentOf(query.fromMs), momentOf(query.toMs)],
  );
  const found = new Set(result.rows.map(({ currency }) => currency));
  const missing = query.currencies?.find((currency) => !found.has(currency));
  if (missing !== undefined) {
    throw new TidemarkError('UNKNOWN_SERIES', `no rate of ${missing} is stored in that range`, {
      remedy: '`select currency, symbol from latest_rates` lists the currencies',
    });
  }
  return result.rows;
}

/** Pages of the rates of a currency, ascending. */
export function exportedRates(
  client: pg.PoolClient,
  { currencyId }: ExportedCurrency,
  query: RatesQuery,
): AsyncGenerator<ExportedPoint[]> {
  return pagesOf<ExportedPoint>(client, {
    text: `select (extract(epoch from p.time) * 1000)::bigint, p.rate_usd from tidemark.rate_points p
           where ${within} order by p.time`,
    values: [currencyId, momentOf(query.fromMs), momentOf(query.toMs)],
  });
}

/** How many points the export of a currency has, and how many digits. */
export function sizeOfRates(
  client: pg.PoolClient,
  { currencyId }: ExportedCurrency,
  query: RatesQuery,
): Promise<ExportSize> {
  return measured(client, ['p.rate_usd'], {
    text: `tidemark.rate_points p where ${within}`,
    values: [currencyId, momentOf(query.fromMs), momentOf(query.toMs)],
  });
}

function momentOf(timeMs: EpochMs | null): string | null {
  return timeMs === null ? null : timestamp(timeMs);
}
