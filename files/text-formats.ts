/**
 * The text formats. Their lines are read with bounded memory.
 *
 *   CSV         as RFC 4180 defines it, with a header and `\n`. The reader also accepts `\r\n` and quotes around any
 *               field. An absent name or value is an empty field, and an empty name a quoted one, as in PostgreSQL.
 *   JSON Lines  an object per line. Decimals are strings, because most readers convert a JSON number to a double. For
 *               the same reason the reader rejects decimals that are numbers. An absent name or value is null.
 */

import { objectOf } from '../model/json.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { contentOf } from './content.ts';
import { parseCopiedTime } from './csv-writer.ts';
import { FileProblem } from './file-problem.ts';
import {
  columnsOf,
  type Layout,
  layoutOf,
  type Output,
  type ReadRow,
  type RowWriter,
  rowOf,
  timeText,
} from './layout.ts';
import { cutOff, type Line, linesOf } from './lines.ts';
import type { RowFile } from './point-pages.ts';

/** @throws FileProblem when it is not a JSON Lines file of an export. */
export async function readJsonl(path: string, dataset: StoredDataset | null): Promise<RowFile> {
  const layout = layoutOf(Object.keys(await firstObject(path)), dataset);
  return {
    layout,
    async *pages() {
      let before = 0;
      for await (const lines of linesOf(contentOf(path, 'jsonl'))) {
        const from = before;
        before += lines.length;
        yield lines.flatMap((line, at) =>
          line.text.trim() === '' ? [] : [readObject(line, layout, `line ${from + at + 1}`)],
        );
      }
    },
  };
}

async function firstObject(path: string): Promise<object> {
  for await (const [line] of linesOf(contentOf(path, 'jsonl'))) {
    const value = line === undefined ? null : objectOf(line.text);
    if (value !== null) return value;
    break;
  }
  throw new FileProblem('its first line is not a JSON object', 'check its format: --format names it');
}

function readObject({ text, isWhole }: Line, layout: Layout, place: string): ReadRow {
  if (!isWhole) return { raw: text, reason: `${place}: ${cutOff}` };
  const value = objectOf(text);
  if (value === null) return { raw: text, reason: `${place}: not a JSON object` };
  const wrong = layout.optional.find((name) => value[name] != null && typeof value[name] !== 'string');
  if (wrong !== undefined) return { raw: text, reason: `${place}: ${wrong}: not a decimal as text` };
  const cells = columnsOf(layout).map((name) => value[name]);
  return rowOf(
    layout,
    cells.map((cell) => (typeof cell === 'string' ? cell : null)),
    place,
  );
}

export function jsonlWriter(layout: Layout, output: Output): RowWriter {
  return {
    takes: 'csv',
    async writeSeries(names, copied, onRows) {
      const head = layout.names
        .map((name, place) => `${JSON.stringify(name)}:${JSON.stringify(names[place] ?? null)}`)
        .join(',');
      for await (const lines of linesOf(copied)) {
        onRows(lines.length);
        const texts = lines.map(({ text }) => {
          // Decimals have no quotes, and null is nothing.
          const [time = '', ...values] = text.split(',');
          const rest = values
            .map((value, place) => `"${layout.values[place]}":${value === '' ? null : `"${value}"`}`)
            .join(',');
          return `{${head},"time":"${timeText(parseCopiedTime(time))}",${rest}}\n`;
        });
        if (texts.length > 0) await output.write(Buffer.from(texts.join('')));
      }
    },
    end: async () => {},
  };
}
