/**
 * JSON Lines: an object per line. Decimals are strings, because most readers convert a JSON number to a double. For the same
 * reason the reader rejects decimals that are numbers.
 */

import {
  columnsOf,
  type Layout,
  layoutOf,
  type Output,
  pageRows,
  type ReadRow,
  type RowFile,
  type RowWriter,
  rowOf,
  timeText,
  unknownColumns,
} from './layout.ts';
import { cutOff, type Line, linesOf } from './text-lines.ts';

/** @throws Error when it is not a JSON Lines file of an export. */
export async function readJsonl(path: string): Promise<RowFile> {
  const first = await firstObject(path);
  const layout = layoutOf(Object.keys(first));
  if (layout === null) throw unknownColumns(Object.keys(first));
  return {
    layout,
    async *pages() {
      let page: ReadRow[] = [];
      for await (const lines of linesOf(path)) {
        for (const line of lines) {
          if (line.text.trim() === '') continue;
          page.push(readRow(line, layout));
          if (page.length < pageRows) continue;
          yield page;
          page = [];
        }
      }
      if (page.length > 0) yield page;
    },
  };
}

async function firstObject(path: string): Promise<object> {
  for await (const [line] of linesOf(path)) {
    const value = line === undefined ? null : objectOf(line.text);
    if (value !== null) return value;
    break;
  }
  throw new Error('its first line is not a JSON object');
}

function readRow({ text, isWhole }: Line, layout: Layout): ReadRow {
  if (!isWhole) return { raw: text, reason: cutOff };
  const value = objectOf(text);
  if (value === null) return { raw: text, reason: 'not a JSON object' };
  const cells = columnsOf(layout).map((name) => textOf(value[name]));
  return rowOf(layout, cells);
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export async function jsonlWriter(layout: Layout, output: Output): Promise<RowWriter> {
  return {
    async write({ names, points }) {
      const head = layout.names
        .map((name, place) => `${JSON.stringify(name)}:${JSON.stringify(names[place] ?? null)}`)
        .join(',');
      const lines = points.map(({ timeMs, values }) => {
        const rest = values.map((value, place) => `"${layout.values[place]}":"${value}"`).join(',');
        return `{${head},"time":"${timeText(timeMs)}",${rest}}\n`;
      });
      if (lines.length > 0) await output.write(Buffer.from(lines.join('')));
    },
    end: async () => {},
  };
}
