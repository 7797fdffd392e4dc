/** Large row groups are encoded in a thread of the compiled program: to the same bytes, in their order. */

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { layouts } from '../../../files/layout.ts';
import type { FilledColumn } from '../../../files/parquet/columns.ts';
import { encodeGroup, loadCompression } from '../../../files/parquet/pages.ts';
import { RowGroup } from '../../../files/parquet/row-group.ts';
import { minuteMs } from '../../../model/intervals.ts';

const capacity = 20_000;
const columns = {
  layout: layouts.candles,
  digits: layouts.candles.values.map(() => ({ beforePoint: 18, afterPoint: 20 })),
  hasDoubles: true,
};

function filled(group: RowGroup, base: string, rows: number): FilledColumn[] {
  group.begin(['x', base, 'tether', 'm1']);
  for (let row = 0; row < rows; row += 1) {
    const price = `${row % 7}.${row * 7919}`;
    group.takeText({ timeMs: row * minuteMs, values: [price, price, '1.50', price, row % 2 === 0 ? '0' : '1000'] });
  }
  return group.filled();
}

it('gives the bytes of the same process, of groups that are filled again, and goes on after a failure', async () => {
  const compiled = pathToFileURL(resolve('dist/files/parquet/encoder.js')).href;
  const { encode }: typeof import('../../../files/parquet/encoder.ts') = await import(/* @vite-ignore */ compiled);
  await loadCompression();
  const groups = [new RowGroup(columns, capacity), new RowGroup(columns, capacity)] as const;
  for (const [first, second] of [
    [capacity, 10_000],
    // The thread goes on with small ones.
    [9000, 3],
  ] as const) {
    const all = [filled(groups[0], 'a', first), filled(groups[1], 'b', second)];
    const expected = all.map((one) => encodeGroup(one));
    const encoded = await Promise.all(all.map((one) => encode(one)));
    for (const [place, { bytes, ...described }] of expected.entries()) {
      const { bytes: found, ...others } = encoded[place] ?? {};
      expect(others).toEqual(described);
      expect(Buffer.compare(found ?? Buffer.alloc(0), bytes)).toBe(0);
    }
    for (const group of groups) group.clear();
  }
  const [time] = filled(groups[0], 'a', 9000);
  if (time === undefined) throw new Error('no column');
  const broken = { ...time, values: { kind: 'dictionary', texts: [], indexes: null } } as unknown as FilledColumn;
  await expect(Promise.all([encode([broken]), encode([time])])).rejects.toThrow('null');
  expect((await encode([time])).rows).toBe(9000);
});
