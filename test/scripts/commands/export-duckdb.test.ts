/** What DuckDB makes of exported files, as those read them who take them out. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dayMs, minuteMs } from '../../../contract/intervals.ts';
import type { FileFormat } from '../../../files/layout.ts';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { emptyDirectory, market, tidemark } from '../command.ts';
import { days, fill, fillAll, minutes, openStore, startMs } from './export-store.ts';

describeNeedingDuckdb('DuckDB reads what export wrote', () => {
  const reading = (path: string, format: FileFormat) =>
    format === 'parquet' ? `read_parquet('${path}')` : `read_csv('${path}', all_varchar = true)`;

  it.each(['csv', 'parquet'] as const)('%s: every row and every digit of candles', async (format) => {
    const store = await openStore('main');
    await fillAll(store.database);
    const path = join(emptyDirectory(), `x.${format}`);
    const day = ['--from', '2024-01-01', '--to', '2024-01-02'];
    const words = ['export', 'candles', ...market, '--interval', 'm1,h1', ...day, '--out', path];
    expect(await tidemark(words, store.env)).toMatchObject({ exitCode: 0 });
    const scale = (column: string) => (column === 'volume' ? 20 : 19);
    const columns = ['open', 'high', 'low', 'close', 'volume'];
    const inDuckdb = await askDuckdb(
      `select exchange || ' ' || base || '/' || quote || ' ' || interval as name,
              epoch_ms(time::timestamptz)::varchar as at,
              ${columns.map((column) => `${column}::decimal(38, ${scale(column)})::varchar as ${column}`).join(', ')}
       from ${reading(path, format)} order by interval, time::timestamptz`,
    );
    const stored = await store.database.pool.query(
      `select exchange || ' ' || base || '/' || quote || ' ' || interval as name,
              (extract(epoch from time) * 1000)::bigint::text as at,
              ${columns.map((column) => `${column}::numeric(38, ${scale(column)})::text as ${column}`).join(', ')}
       from candles where interval in ('m1', 'h1') and derived_from is null and time >= '2024-01-01' and time < '2024-01-02'
       order by interval collate "C", candles.time`,
    );
    expect(inDuckdb).toHaveLength(22 * 60 + 24);
    expect(inDuckdb).toEqual(stored.rows);
  });

  it('chooses Parquet types by the values, and states them in the sidecar', async () => {
    const store = await openStore('main');
    await fillAll(store.database);
    const path = join(emptyDirectory(), 'x.parquet');
    await tidemark(['export', 'candles', ...market, '--interval', 'h1', '--out', path], store.env);
    const described = await askDuckdb(`describe select * from '${path}'`);
    const text = (name: string) => ({ column_name: name, column_type: 'VARCHAR' });
    const price = (name: string) => ({ column_name: name, column_type: 'DECIMAL(5,1)' });
    expect(described.map(({ column_name, column_type }) => ({ column_name, column_type }))).toEqual([
      ...['exchange', 'base', 'quote', 'interval'].map(text),
      { column_name: 'time', column_type: 'TIMESTAMP WITH TIME ZONE' },
      ...['open', 'high', 'low', 'close'].map(price),
      { column_name: 'volume', column_type: 'DECIMAL(37,20)' },
      text('fraction_digits'),
    ]);
    const sidecar = JSON.parse(readFileSync(`${path}.meta.json`, 'utf8'));
    expect(sidecar.columns.map(({ type }: { type: string }) => type)).toEqual([
      ...['text', 'text', 'text', 'text', 'time'],
      ...['decimal(5, 1)', 'decimal(5, 1)', 'decimal(5, 1)', 'decimal(5, 1)', 'decimal(37, 20)', 'text'],
    ]);
  });

  it('uses text where a DECIMAL is too short, without losing digits', async () => {
    const store = await openStore('main');
    const values = ['12345678901234567890', '0.1234567890123456789012345678901234567890', '-0.0'];
    await fill(store.database, {
      series: days,
      window: { startMs, endMs: startMs + 3 * dayMs },
      valueAt: (timeMs) => values[(timeMs - startMs) / dayMs] ?? '0',
    });
    const path = join(emptyDirectory(), 'x.parquet');
    await tidemark(
      ['export', 'history', '--asset', days.assetId, '--interval', 'd1', '--out', path],
      store.env,
    );
    expect(
      await askDuckdb(`select price_usd, typeof(price_usd) as type from '${path}' order by time`),
    ).toEqual(
      ['12345678901234567890', '0.1234567890123456789012345678901234567890', '0.0'].map((price_usd) => ({
        price_usd,
        type: 'VARCHAR',
      })),
    );
  });

  it('can filter by statistics: negative and positive values in several row groups', async () => {
    const store = await openStore('main');
    await fill(store.database, {
      series: minutes,
      window: { startMs, endMs: startMs + 60_000 * minuteMs },
      valueAt: (timeMs) => `${timeMs % 7 < 3 ? '-' : ''}${(timeMs - startMs) / minuteMs}.50`,
    });
    const path = join(emptyDirectory(), 'x.parquet');
    await tidemark(['export', 'candles', ...market, '--interval', 'm1', '--out', path], store.env);
    const summary = 'count(*)::varchar as rows, sum(close)::varchar as sum, min(close)::varchar as least';
    const exact = await store.database.pool.query(
      `select count(*)::text as rows, sum(close)::numeric(38, 1)::text as sum, min(close)::numeric(38, 1)::text as least
       from tidemark.candle_points where close < -55000`,
    );
    expect(await askDuckdb(`select ${summary} from '${path}' where close < -55000`)).toEqual(exact.rows);
    expect(
      await askDuckdb(
        `select count(distinct row_group_id)::varchar as groups from parquet_metadata('${path}')`,
      ),
    ).toEqual([{ groups: '2' }]);
  });

  it('runs the DuckDB examples of docs/export.md', async () => {
    const store = await openStore('main');
    await fillAll(store.database);
    const directory = emptyDirectory();
    const at = (name: string) => join(directory, name);
    const until = ['--to', '2024-01-02', '--out', at('bitcoin.parquet')];
    await tidemark(['export', 'candles', ...market, '--interval', 'm1', ...until], store.env);
    await tidemark(
      ['export', 'history', '--asset', days.assetId, '--interval', 'd1', '--out', at('bitcoin.csv')],
      store.env,
    );
    const [, block = ''] = /```sql\n-- DuckDB\n([^`]+)```/.exec(readFileSync('docs/export.md', 'utf8')) ?? [];
    const statements = block.split(';').filter((statement) => statement.trim() !== '');
    expect(statements).toHaveLength(2);
    const sums = [];
    for (const statement of statements) {
      sums.push(
        ...(await askDuckdb(statement.replaceAll("'bitcoin.", `'${directory}/bitcoin.`))).map(
          (row) => Object.values(row)[0],
        ),
      );
    }
    const exact = await store.database.pool.query(
      `select (select sum(close) from tidemark.candle_points p join tidemark.series s on s.id = p.series_id
               where s.interval = 'm1' and time < '2024-01-02')::numeric(38, 19)::text as close,
              (select sum(price_usd) from tidemark.asset_history_points)::numeric(38, 20)::text as price`,
    );
    expect(sums).toEqual([exact.rows[0].close, exact.rows[0].price]);
  });
});
