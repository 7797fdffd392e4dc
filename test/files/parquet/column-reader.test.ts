import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { expect, it } from 'vitest';
import { cellAt, DictionaryCells, FixedCells } from '../../../files/parquet/cells.ts';
import { ColumnReader, PieceReader } from '../../../files/parquet/column-reader.ts';
import { withoutMeaning } from '../../../files/parquet-columns.ts';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { emptyDirectory } from '../../scripts/command.ts';

const rows = 3000;

/** The cells of the only column at some places. DuckDB writes no dictionary of decimals that need 16 bytes. */
async function cellsOf(value: string, codec: string, digits = 38) {
  const path = join(emptyDirectory(), 'one.parquet');
  await askDuckdb(`copy (select (${value})::decimal(${digits}, 2) as price from range(0, ${rows}) as t(i) order by i)
    to '${path}' (format parquet, codec '${codec}')`);
  const { row_groups, schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  const [group] = row_groups;
  if (group === undefined) throw new Error('no row group');
  const file = await open(path);
  try {
    const pieces = new PieceReader(file);
    const reader = new ColumnReader({ pieces, compressors, schema: schema.map(withoutMeaning) }, group, 'price');
    await reader.reach(7);
    const cells = reader.slice(7, rows);
    const wholeAt = (row: number) => {
      const cell = cellAt(cells, row - 7);
      return cell instanceof Uint8Array ? BigInt(`0x${Buffer.from(cell).toString('hex')}`) : cell;
    };
    return { cells, read: [7, 8, rows - 1].map(wholeAt), reader };
  } finally {
    await file.close();
  }
}

describeNeedingDuckdb('a column of a row group', () => {
  it.each(['zstd', 'snappy', 'uncompressed'])('has the bytes of plain pages where none is null: %s', async (codec) => {
    const { cells, read } = await cellsOf('1.05 + i', codec);
    expect(cells).toBeInstanceOf(FixedCells);
    expect(read).toEqual([805n, 905n, 300_005n]);
  });

  it('has the places of a dictionary', async () => {
    const { cells, read } = await cellsOf('1.05 + i % 10', 'zstd', 18);
    expect(cells).toBeInstanceOf(DictionaryCells);
    expect(read).toEqual([805n, 905n, 1005n]);
  });

  it.each(['1.05 + i', '1.05 + i % 10'])('has nulls among %s', async (value) => {
    const { read } = await cellsOf(`case when i <> 8 then ${value} end`, 'snappy', 18);
    expect(read).toEqual([805n, null, value === '1.05 + i' ? 300_005n : 1005n]);
  });

  it('ends where its pages end', async () => {
    const { reader } = await cellsOf('1.05 + i', 'zstd');
    expect(reader.end).toBe(rows);
    await expect(reader.reach(rows)).rejects.toThrow('ends before its row group');
  });
});
