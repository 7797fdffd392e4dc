/** The SQL that `demo` shows with its results; the README shows the same. */

import { formatTime } from '../../model/format.ts';
import type { Database } from '../../store/db/database.ts';
import { table } from './table.ts';

export const demoQueries = [
  {
    title: 'The last ten daily candles of bitcoin/tether on binance, from its hourly ones',
    sql: `select date_trunc('day', time) as day,
       round((array_agg(open order by time))[1], 2) as open,
       round(max(high), 2) as high,
       round(min(low), 2) as low,
       round((array_agg(close order by time desc))[1], 2) as close,
       round(sum(volume), 4) as volume
from candles
where exchange = 'binance' and base = 'bitcoin' and quote = 'tether' and interval = 'h1'
  and time >= date_trunc('day', now()) - interval '9 days'
group by day
order by day;`,
  },
  {
    title: 'Volatility of bitcoin: annualised standard deviation of the last 30 daily log returns',
    sql: `with daily as (
  select time, price_usd, ln(price_usd / lag(price_usd) over (order by time)) as log_return
  from asset_history
  where asset = 'bitcoin' and interval = 'd1' and time >= now() - interval '33 days'
), last_30 as (
  select * from daily where log_return is not null order by time desc limit 30
)
select min(time) as since, max(time) as until, count(*) as days,
       round(stddev_samp(log_return) * sqrt(365::numeric) * 100, 2) as volatility_percent
from last_30;`,
  },
] as const;

/** Runs a query. @returns its result as a table. */
export async function runQuery(database: Database, sql: string): Promise<string> {
  const result = await database.pool.query<Record<string, unknown>>(sql);
  const columns = result.fields.map(({ name, dataTypeID }) => ({
    title: name,
    right: true,
    value: (row: Record<string, unknown>) => cell(row[name], dataTypeID),
  }));
  return table(columns, result.rows);
}

const timestampType = 1184;

function cell(value: unknown, dataTypeId: number): string {
  return dataTypeId === timestampType && typeof value === 'number' ? formatTime(value) : String(value ?? '');
}
