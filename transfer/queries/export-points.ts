/** The points and rates of an export, as text: no decimal passes through a JavaScript number. */

import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import type { Digits } from '../../files/parquet-writer.ts';
import { columnNames, datasets } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { int4, listOf, nullable, type RowOf, statement, text, time } from '../../store/db/statement.ts';
import { timeRanges, timestamp, timestampOrNull } from '../../store/db/values.ts';
import { type ExportedSeries, readPages } from './export-series.ts';

export type ExportedPoint = [timeMs: EpochMs, ...values: Array<string | null>];

/** Points to export, as parts of a statement with `values` as its parameters. */
export interface PointSelection {
  readonly columns: readonly string[];
  /** A table with a condition, as it follows `from`. */
  readonly from: string;
  readonly values: unknown[];
}

/** The covered points of a series. Points outside its coverage, such as an open candle, are not final. */
export function selectPoints({
  seriesId,
  series,
  range,
  covered,
}: Pick<ExportedSeries, 'seriesId' | 'series' | 'range' | 'covered'>): PointSelection {
  return {
    columns: columnNames[series.dataset],
    from: `tidemark.${datasets[series.dataset].table}
           where series_id = $1 and time >= $2 and time < $3 and $4::tstzmultirange @> time`,
    values: [seriesId, timestamp(range.startMs), timestamp(range.endMs), timeRanges(covered)],
  };
}

/** The rates of a currency, which have no coverage. */
export function selectRates({ currencyId }: ExportedCurrency, query: RatesQuery): PointSelection {
  return {
    columns: ['rate_usd'],
    from: `tidemark.rate_points where currency_id = $1 and time >= coalesce($2::timestamptz, '-infinity')
             and time < coalesce($3::timestamptz, 'infinity')`,
    values: [currencyId, timestampOrNull(query.fromMs), timestampOrNull(query.toMs)],
  };
}

/** Pages of points, ascending. */
export function readExportPages(
  client: pg.PoolClient,
  { columns, from, values }: PointSelection,
): AsyncGenerator<ExportedPoint[]> {
  return readPages<ExportedPoint>(client, {
    text: `select (extract(epoch from time) * 1000)::bigint, ${columns.join(', ')} from ${from} order by time`,
    values,
  });
}

export interface ExportSize {
  readonly points: number;
  /** The maximum of each value column. */
  readonly digits: readonly Digits[];
}

/** Counts the points of an export and their digits. */
export async function measureExport(
  client: pg.PoolClient,
  { columns, from, values }: PointSelection,
): Promise<ExportSize> {
  const digits = columns.map(
    (column) => `coalesce(length(trunc(max(abs(${column})))::text), 1), coalesce(max(min_scale(${column})), 0)`,
  );
  const result = await client.query<number[]>({
    text: `select count(*)::int, ${digits.join(', ')} from ${from}`,
    values,
    rowMode: 'array',
  });
  const [points = 0, ...measures] = result.rows[0] ?? [];
  return {
    points,
    digits: columns.map((_, place) => ({
      beforePoint: measures[place * 2] ?? 1,
      afterPoint: measures[place * 2 + 1] ?? 0,
    })),
  };
}

export interface RatesQuery {
  /** Null: all. */
  readonly currencies: readonly string[] | null;
  /** Null: from the first rate, to the last. */
  readonly fromMs: EpochMs | null;
  readonly toMs: EpochMs | null;
}

export type ExportedCurrency = RowOf<(typeof currenciesWithRates)['row']>;

/** Currencies with a rate in the range. @throws TidemarkError UNKNOWN_SERIES when a named one has none. */
export async function readExportCurrencies(client: pg.PoolClient, query: RatesQuery): Promise<ExportedCurrency[]> {
  const rows = await currenciesWithRates.on(client, query);
  const found = new Set(rows.map(({ currency }) => currency));
  const missing = query.currencies?.find((currency) => !found.has(currency));
  if (missing !== undefined) {
    throw new TidemarkError('UNKNOWN_SERIES', `no rate of ${missing} is stored in that range`, {
      remedy: '`select currency, symbol from latest_rates` lists the currencies',
    });
  }
  return rows;
}

const currenciesWithRates = statement({
  name: 'exported-currencies',
  isPlannedAnew: true,
  text: `
    select c.id as "currencyId", c.currency, c.symbol, c.currency_symbol as "currencySymbol", c.type,
           p.points, p.first as "firstMs", p.last as "lastMs"
    from tidemark.currencies c
    join (select currency_id, count(*)::int as points, min(time) as first, max(time) as last from tidemark.rate_points
          where time >= coalesce($fromMs, '-infinity') and time < coalesce($toMs, 'infinity')
          group by currency_id) p on p.currency_id = c.id
    where $currencies is null or c.currency = any ($currencies)
    order by c.currency`,
  parameters: { currencies: nullable(listOf(text)), fromMs: nullable(time), toMs: nullable(time) },
  row: {
    ...{ currencyId: int4, currency: text, symbol: text, currencySymbol: nullable(text), type: text },
    ...{ points: int4, firstMs: time, lastMs: time },
  },
});
