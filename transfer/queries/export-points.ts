/** The points and rates of an export, as COPY gives them: no decimal passes through a JavaScript number. */

import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { TidemarkError } from '../../errors.ts';
import type { Digits } from '../../files/decimals/decimal-type.ts';
import { columnNames, datasets } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { normalize } from '../../model/ranges.ts';
import { nearest } from '../../planning/near-names.ts';
import { internals } from '../../store/db/pg-internals.ts';
import { int4, listOf, nullable, type RowOf, statement, text, time } from '../../store/db/statement.ts';
import { timeRanges, timestamp } from '../../store/db/values.ts';
import type { ExportedSeries } from './export-series.ts';

/** Points to export. */
export interface PointSelection {
  readonly columns: readonly string[];
  /** A table with a condition, as it follows `from`. COPY takes no parameters, so the values are in it. */
  readonly from: string;
}

/** The covered points of a series. Points outside its coverage, such as an open candle, are not final. */
export function selectPoints({
  seriesId,
  series,
  range,
  covered,
}: Pick<ExportedSeries, 'seriesId' | 'series' | 'range' | 'covered'>): PointSelection {
  const isWhole = isDeepStrictEqual(normalize(covered), [range]);
  return {
    columns: columnNames[series.dataset],
    from: `tidemark.${datasets[series.dataset].table}
           where series_id = ${seriesId}
             and time >= '${timestamp(range.startMs)}' and time < '${timestamp(range.endMs)}'
             ${isWhole ? '' : `and '${timeRanges(covered)}'::tstzmultirange @> time`}`,
  };
}

/** The rates of a currency, which have no coverage. */
export function selectRates({ currencyId }: ExportedCurrency, query: RatesQuery): PointSelection {
  const bounds = [
    ...(query.fromMs === null ? [] : [`and time >= '${timestamp(query.fromMs)}'`]),
    ...(query.toMs === null ? [] : [`and time < '${timestamp(query.toMs)}'`]),
  ];
  return { columns: ['rate_usd'], from: `tidemark.rate_points where currency_id = ${currencyId} ${bounds.join(' ')}` };
}

/**
 * The times and values of points, ascending, in pieces of any length. One at a time within a transaction. Whoever stops
 * before the end closes the connection.
 */
export async function* copyPoints(
  client: pg.PoolClient,
  { columns, from }: PointSelection,
  format: 'csv' | 'binary',
): AsyncGenerator<Buffer> {
  const rows = `select time, ${columns.join(', ')} from ${from} order by time`;
  const copied = client.query(copyTo(`copy (${rows}) to stdout (format ${format})`, { highWaterMark: pieceBytes }));
  let isOver = false;
  for (const ending of ['end', 'error'])
    copied.on(ending, () => {
      isOver = true;
    });
  try {
    yield* copied as AsyncIterable<Buffer>;
  } finally {
    // The server goes on sending: the connection is good for nothing else.
    if (!isOver) internals(client).connection.stream.destroy();
  }
}

/** What is read ahead. */
const pieceBytes = 1 << 16;

export interface ExportSize {
  readonly points: number;
  /** The maximum of each value column, if they are needed. */
  readonly digits: readonly Digits[];
}

/** Counts the points of an export, and their digits if they are needed: counting alone takes a tenth of the time. */
export async function measureExport(
  client: pg.PoolClient,
  { columns, from }: PointSelection,
  needsDigits: boolean,
): Promise<ExportSize> {
  const digits = columns.map(
    (column) => `coalesce(length(trunc(max(abs(${column})))::text), 1), coalesce(max(min_scale(${column})), 0)`,
  );
  const result = await client.query<number[]>({
    text: `select ${['count(*)::int', ...(needsDigits ? digits : [])].join(', ')} from ${from}`,
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
    const known = await currenciesWithRates.on(client, { ...query, currencies: null });
    const meant = nearest(
      missing,
      known.map(({ currency }) => currency),
    );
    throw new TidemarkError('UNKNOWN_SERIES', `no rate of ${missing} is stored in that range`, {
      remedy:
        meant === null
          ? '`select currency, symbol from latest_rates` lists the currencies'
          : `did you mean ${JSON.stringify(meant)}?`,
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
