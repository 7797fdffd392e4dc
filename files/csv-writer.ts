/**
 * CSV as RFC 4180 has it, with a header and `\n` at the ends of lines. An absent name is an empty field, and an empty
 * name a quoted one, as in PostgreSQL's own.
 */

import { columnsOf, type Layout, timeText } from './layout.ts';
import type { Output, RowWriter } from './row-writer.ts';

export async function csvWriter(layout: Layout, output: Output): Promise<RowWriter> {
  await output.write(Buffer.from(`${columnsOf(layout).join(',')}\n`));
  return {
    async write({ names, points }) {
      const head = names.map(field).join(',');
      // Decimals and times need no quotes.
      const lines = points.map(({ timeMs, values }) => `${head},${timeText(timeMs)},${values.join(',')}\n`);
      if (lines.length > 0) await output.write(Buffer.from(lines.join('')));
    },
    end: async () => {},
  };
}

function field(text: string | null): string {
  if (text === null) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
