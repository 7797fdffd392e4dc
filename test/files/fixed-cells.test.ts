import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { expect, it } from 'vitest';
import { readFixedCells } from '../../files/fixed-cells.ts';
import { askDuckdb, describeNeedingDuckdb } from '../parts/duckdb.ts';
import { emptyDirectory } from '../scripts/command.ts';

/** The cells of the only column, a DECIMAL(38, 2), as whole numbers. */
async function cellsOf(values: string, codec: string): Promise<string[] | null> {
  const path = join(emptyDirectory(), 'one.parquet');
  await askDuckdb(`copy (select ${values}::decimal(38, 2) as price from range(0, 3000) as t(i) order by i)
    to '${path}' (format parquet, codec '${codec}')`);
  const file = await asyncBufferFromFile(path);
  const { row_groups, schema } = await parquetMetadataAsync(file);
  const [group, element] = [row_groups[0], schema[1]];
  if (group === undefined || element === undefined) throw new Error('no column');
  const cells = await readFixedCells(file, group, element, compressors);
  const hex = (place: number) => BigInt(`0x${Buffer.from(cells?.at(place) ?? []).toString('hex')}`).toString();
  return cells === null ? null : [0, 1, 2999].map(hex);
}

describeNeedingDuckdb('the cells of a fixed length', () => {
  it.each(['zstd', 'uncompressed'])('are read from plain pages where none is null: %s', async (codec) => {
    expect(await cellsOf('1.05 + i', codec)).toEqual(['105', '205', '300005']);
  });

  it('are left to the library where some are null', async () => {
    expect(await cellsOf('case when i <> 7 then 1.05 + i end', 'snappy')).toBeNull();
  });
});
