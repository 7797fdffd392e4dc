/** What DuckDB makes of exported files, as those read them who take them out. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { FileFormat } from '../../../files/layout.ts';
import { dayMs } from '../../../model/intervals.ts';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { useStore } from '../../store/open-store.ts';
import { emptyDirectory, market, tidemark } from '../command.ts';
import { days, fill, fillAll, startMs } from './export-store.ts';

describeNeedingDuckdb('DuckDB reads what export wrote', () => {
  const store = useStore();
  let env: Record<string, string>;
  beforeAll(async () => {
    env = { DATABASE_URL: store.url };
    await fillAll(store.database);
    // Values for which a DECIMAL is too short.
    const long = ['12345678901234567890', '0.1234567890123456789012345678901234567890', '-0.0'];
    await fill(store.database, {
      series: { ...days, assetId: 'long' },
      window: { startMs, endMs: startMs + 3 * dayMs },
      valueAt: (timeMs) => long[(timeMs - startMs) / dayMs] ?? '0',
    });
  });

  const exported = async (name: string, ...words: string[]) => {
    const path = join(emptyDirectory(), name);
    const ended = await tidemark(['export', ...words, '--out', path], env);
    expect(ended).toMatchObject({ exitCode: 0 });
    return path;
  };
  const reading = (path: string, format: FileFormat) =>
    format === 'parquet' ? `read_parquet('${path}')` : `read_csv('${path}', all_varchar = true)`;
  const day = ['--from', '2024-01-01', '--to', '2024-01-02'];

  it.each(['csv', 'parquet'] as const)('%s: every row and every digit of candles', async (format) => {
    const path = await exported(`x.${format}`, 'candles', ...market, '--interval', 'm1,h1', ...day);
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
       from candles where exchange = 'binance' and interval in ('m1', 'h1') and derived_from is null
         and time >= '2024-01-01' and time < '2024-01-02'
       order by interval collate "C", candles.time`,
    );
    expect(inDuckdb).toHaveLength(22 * 60 + 24);
    expect(inDuckdb).toEqual(stored.rows);
  });

  it('chooses Parquet types by the values, and states them in the sidecar', async () => {
    const path = await exported('x.parquet', 'candles', ...market, '--interval', 'h1');
    const described = await askDuckdb(`describe select * from '${path}'`);
    expect(described.map(({ column_name, column_type }) => [column_name, column_type])).toEqual([
      ...['exchange', 'base', 'quote', 'interval'].map((name) => [name, 'VARCHAR']),
      ['time', 'TIMESTAMP WITH TIME ZONE'],
      ...['open', 'high', 'low', 'close'].map((name) => [name, 'DECIMAL(5,1)']),
      ['volume', 'DECIMAL(37,20)'],
      ['fraction_digits', 'VARCHAR'],
    ]);
    const sidecar = JSON.parse(readFileSync(`${path}.meta.json`, 'utf8'));
    expect(sidecar.columns.map(({ type }: { type: string }) => type)).toEqual([
      ...['text', 'text', 'text', 'text', 'time'],
      ...['decimal(5, 1)', 'decimal(5, 1)', 'decimal(5, 1)', 'decimal(5, 1)', 'decimal(37, 20)', 'text'],
    ]);
  });

  it('uses text where a DECIMAL is too short, without losing digits', async () => {
    const path = await exported('x.parquet', 'history', '--asset', 'long', '--interval', 'd1');
    expect(await askDuckdb(`select price_usd, typeof(price_usd) as type from '${path}' order by time`)).toEqual(
      ['12345678901234567890', '0.1234567890123456789012345678901234567890', '0.0'].map((price_usd) => ({
        price_usd,
        type: 'VARCHAR',
      })),
    );
  });

  it('runs the DuckDB examples of docs/export.md', async () => {
    const names = ['bitcoin.parquet', 'bitcoin.csv'] as const;
    const paths = {
      'bitcoin.parquet': await exported(names[0], 'candles', ...market, '--interval', 'm1', ...day),
      'bitcoin.csv': await exported(names[1], 'history', '--asset', days.assetId, '--interval', 'd1'),
    };
    const [, block = ''] = /```sql\n-- DuckDB\n([^`]+)```/.exec(readFileSync('docs/export.md', 'utf8')) ?? [];
    const statements = block.split(';').filter((statement) => statement.trim() !== '');
    expect(statements).toHaveLength(2);
    const sums = [];
    for (const statement of statements) {
      const text = names.reduce((sql, name) => sql.replaceAll(`'${name}`, `'${paths[name]}`), statement);
      sums.push(...(await askDuckdb(text)).map((row) => Object.values(row)[0]));
    }
    const exact = await store.database.pool.query(
      `select (select sum(close) from candles where exchange = 'binance' and interval = 'm1'
                and time >= '2024-01-01' and time < '2024-01-02')::numeric(38, 19)::text as close,
              (select sum(price_usd) from tidemark.asset_history_points p join tidemark.series s on s.id = p.series_id
                where s.asset_id <> 'long')::numeric(38, 20)::text as price`,
    );
    expect(sums).toEqual([exact.rows[0].close, exact.rows[0].price]);
  });
});
