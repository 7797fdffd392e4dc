/** Parquet files of several row groups, as DuckDB reads them: values, nulls, encodings and statistics. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ValueMisfit } from '../../../files/decimals/decimal-type.ts';
import { layouts } from '../../../files/layout.ts';
import { ParquetRows } from '../../../files/parquet/writer.ts';
import { copyPoints } from '../../../transfer/queries/export-points.ts';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { useStore } from '../../store/open-store.ts';

const store = useStore();
const directory = mkdtempSync(join(tmpdir(), 'tidemark-parquet-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const layout = layouts.long_short_ratios;
const columns = layout.values;
/** By column: few values, many values, negative and long ones, half of them null, all null, and one value. */
const [ratio = '', long = '', short = '', accounts = '', positions = '', taker = ''] = columns;
const points = 70_000;
const series = ['first', 'second'];
const pointsSql = (name: string) => `(
  select timestamptz '1969-12-01Z' + i * interval '1 minute' as time,
         (i % 7 + 0.10)::numeric as ${ratio}, ((i * 7919) % 99991 + 0.123)::numeric(20, 5) as ${long},
         ((i % 2) * 2 - 1) * (i + 12345678901234.56789012345678)::numeric as ${short},
         case when i % 2 = 0 then (i * i)::numeric end as ${accounts}, null::numeric as ${positions},
         ${name === 'first' ? '0.5' : '-0.25'}::numeric as ${taker}
  from generate_series(1::bigint, ${points}) i) points`;
const digits = [
  [1, 2],
  [5, 5],
  [14, 14],
  [10, 0],
  [1, 0],
  [1, 2],
].map(([beforePoint = 0, afterPoint = 0]) => ({ beforePoint, afterPoint }));

async function written(name: string, from: string, hasDoubles = false): Promise<string> {
  const pieces: Uint8Array[] = [];
  const output = { write: async (piece: Uint8Array) => void pieces.push(piece) };
  const writer = new ParquetRows({ layout, digits, output, hasDoubles });
  const client = await store.database.pool.connect();
  let isBroken = true;
  try {
    for (const base of series)
      await writer.writeSeries(['x', base, 'q', 'm1'], copyPoints(client, { columns, from }, 'binary'), () => {});
    await writer.end();
    isBroken = false;
  } finally {
    client.release(isBroken);
  }
  const path = join(directory, `${name}.parquet`);
  writeFileSync(path, Buffer.concat(pieces));
  return path;
}

const sums = columns.map((name) => `coalesce(sum(${name}), 0)::numeric(38, 14)::text, count(${name})::text`).join(', ');

describeNeedingDuckdb('a Parquet file of row groups', () => {
  let path: string;
  beforeAll(async () => {
    path = await written('groups', pointsSql('first'), true);
  });

  it('has every value, null and time', async () => {
    const inDuckdb = await askDuckdb(
      `select base, count(*)::varchar as rows, min(epoch_ms(time))::varchar as first, max(epoch_ms(time))::varchar as last,
              concat_ws(' ', ${sums}) as sums,
              bool_and(${columns.map((name) => `${name}_double is not distinct from ${name}::double`).join(' and ')}) as same
       from '${path}' group by base order by base`,
    );
    const { rows } = await store.database.pool.query(
      `select base, count(*)::text as rows, (extract(epoch from min(time)) * 1000)::bigint::text as first,
              (extract(epoch from max(time)) * 1000)::bigint::text as last, concat_ws(' ', ${sums}) as sums, true as same
       from unnest($1::text[]) base, ${pointsSql('first')} group by base order by base`,
      [series],
    );
    expect(inDuckdb).toEqual(rows);
  });

  it('states the extremes and nulls of each row group, by which readers leave some out', async () => {
    const stated = await askDuckdb(
      `select row_group_id::integer as place, path_in_schema as name, stats_min_value as least,
              stats_max_value as greatest, stats_null_count::integer as nulls
       from parquet_metadata('${path}') where path_in_schema in ('base', 'time', ${columns.map((name) => `'${name}'`).join(', ')})
       order by 1, 2`,
    );
    const found = await askDuckdb(
      `with numbered as (select *, (row_number() over () - 1) // 50000 as place from '${path}')
       ${['base', 'time', ...columns]
         .map(
           (name) => `select place::integer as place, '${name}' as name,
             min(${name})::varchar as least, max(${name})::varchar as greatest,
             (count(*) - count(${name}))::integer as nulls from numbered group by place`,
         )
         .join(' union all ')} order by 1, 2`,
    );
    expect(stated).toHaveLength(3 * 8);
    expect(stated).toEqual(found);
  });

  it('has a dictionary where values repeat, and none where they do not', async () => {
    const encodings = await askDuckdb(
      `select distinct path_in_schema as name, compression, encodings like '%DICTIONARY%' as repeats
       from parquet_metadata('${path}') where row_group_id = 0 order by 1`,
    );
    const repeats = Object.fromEntries(encodings.map(({ name, repeats }) => [name, repeats]));
    expect(repeats).toMatchObject({ base: true, time: false, fraction_digits: true });
    expect(columns.map((name) => repeats[name])).toEqual([true, false, false, false, false, true]);
    expect(new Set(encodings.map(({ compression }) => compression))).toEqual(new Set(['ZSTD']));
  });

  it('is refused with a value that is no number, or too long, and says which', async () => {
    const with1 = (value: string) => `(
      select timestamptz '2024-01-01Z' as time, ${value}::numeric as ${ratio}, null::numeric as ${long},
             null::numeric as ${short}, null::numeric as ${accounts}, null::numeric as ${positions},
             null::numeric as ${taker}) points`;
    for (const [value, reason] of [
      [`'NaN'`, 'is NaN, which DECIMAL(3, 2) does not hold'],
      ['1.234', 'has 3 fraction digits; DECIMAL(3, 2) holds 2'],
      ['-12', 'has 2 digits before the point; DECIMAL(3, 2) holds 1'],
    ] as const) {
      const error = await written('misfit', with1(value)).catch((found: unknown) => found);
      expect(error).toBeInstanceOf(ValueMisfit);
      expect(error).toMatchObject({ message: `${ratio} of 2024-01-01T00:00:00Z ${reason}` });
    }
  });
});
