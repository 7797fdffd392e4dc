/** JSON Lines as jsonl-writer.ts writes them. A decimal that is a number has been through a double, and is none. */

import { columnsOf, type Layout, layoutOf, rowOf } from './layout.ts';
import { pageRows, type ReadRow, type RowFile, unknownColumns } from './row-reader.ts';
import { cutOff, type Line, linesOf } from './text-lines.ts';

/** @throws Error when it is no JSON Lines of an export. */
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

/** An empty file has no columns, and so no layout. */
async function firstObject(path: string): Promise<object> {
  for await (const [line] of linesOf(path)) {
    const value = line === undefined ? null : objectOf(line.text);
    if (value !== null) return value;
    break;
  }
  throw new Error('its first line is no JSON object');
}

function readRow({ text, isWhole }: Line, layout: Layout): ReadRow {
  if (!isWhole) return { raw: text, reason: cutOff };
  const value = objectOf(text);
  if (value === null) return { raw: text, reason: 'it is no JSON object' };
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
