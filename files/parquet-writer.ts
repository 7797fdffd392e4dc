/**
 * Writes Parquet by row groups. Memory holds one row group and a few hundred bytes per written one. hyparquet-writer takes
 * decimals as the stored integers, so none passes through a double.
 */

import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { columnsOf, type Layout, type Output, type Rows, type RowWriter } from './layout.ts';
import { type Digits, fractionDigits, fractionDigitsOf, parquetSchema, unscaled } from './parquet-schema.ts';

const rowsOfGroup = 50_000;

export async function parquetWriter(
  layout: Layout,
  digits: readonly Digits[],
  output: Output,
): Promise<RowWriter> {
  const schema = parquetSchema(layout, digits);
  const writer = new ParquetWriter({ writer: new OutputWriter(output), schema, createdBy: 'tidemark' });
  let group = emptyGroup();
  let rows = 0;

  function emptyGroup(): Map<string, Cell[]> {
    return new Map([...columnsOf(layout), fractionDigits].map((name) => [name, []]));
  }
  const scales = new Map(
    schema.flatMap((element) =>
      element.converted_type === 'DECIMAL' ? [[element.name, element.scale ?? 0]] : [],
    ),
  );
  function put(name: string, cell: Cell): void {
    group.get(name)?.push(cell);
  }
  function add(names: Rows['names'], { timeMs, values }: Rows['points'][number]): void {
    for (const [place, name] of layout.names.entries()) put(name, names[place] ?? null);
    put('time', BigInt(timeMs));
    for (const [place, name] of layout.values.entries()) {
      const scale = scales.get(name);
      const value = values[place] ?? '';
      put(name, scale === undefined ? value : unscaled(value, scale));
    }
    put(fractionDigits, values.map(fractionDigitsOf).join(' '));
  }
  async function flush(): Promise<void> {
    const columnData = [...group].map(([name, data]) => ({ name, data, offsetIndex: false }));
    group = emptyGroup();
    const size = rows;
    rows = 0;
    if (size > 0) await writer.write({ columnData, rowGroupSize: size });
  }
  return {
    async write({ names, points }) {
      for (const point of points) {
        add(names, point);
        rows += 1;
        if (rows === rowsOfGroup) await flush();
      }
    },
    async end() {
      await flush();
      await writer.finish();
    },
  };
}

type Cell = string | bigint | null;

/** Passes the bytes of each row group to the output, and waits for it. */
class OutputWriter extends ByteWriter {
  readonly #output: Output;

  constructor(output: Output) {
    super();
    this.#output = output;
  }

  async flush(): Promise<void> {
    const bytes = Buffer.from(this.buffer.slice(0, this.index));
    this.index = 0;
    await this.#output.write(bytes);
  }

  override finish(): Promise<void> {
    return this.flush();
  }
}
