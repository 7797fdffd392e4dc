/** What the reader of Parquet holds does not grow with the length of a file. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startChildModule } from '../../parts/child-module.ts';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { emptyDirectory } from '../../scripts/command.ts';

/** DuckDB's. */
const rowsOfGroup = 122_880;

async function peakOf(groups: number): Promise<number> {
  const rows = groups * rowsOfGroup;
  const path = join(emptyDirectory(), 'minutes.parquet');
  const value = `(hash(i)::decimal(38, 0) / 1000000000)::decimal(38, 20)`;
  await askDuckdb(`
    copy (select 'binance' as exchange, 'bitcoin' as base, 'tether' as quote, 'm1' as interval,
                 timestamptz '2020-01-01' + interval (i) minute as time,
                 ${['open', 'high', 'low', 'close', 'volume'].map((name) => `${value} as ${name}`).join(', ')}
          from range(0, ${rows}) as t(i) order by i)
    to '${path}' (format parquet, compression zstd, row_group_size ${rowsOfGroup})`);
  const child = startChildModule('test/files/parquet/read-all.ts', [path]);
  const [, read, peak] = await child.waitForPrinted(/rows (\d+) peak (\d+)/);
  await child.end();
  expect(Number(read)).toBe(rows);
  return Number(peak);
}

// Only Linux says what the peak was.
describeNeedingDuckdb('a Parquet file', () => {
  it.skipIf(!existsSync('/proc/self/status'))('of five times as many row groups takes the same memory', async () => {
    const short = await peakOf(2);
    const long = await peakOf(10);
    // All of it would be 200 MiB more.
    expect(long - short).toBeLessThan(100);
  });
});
