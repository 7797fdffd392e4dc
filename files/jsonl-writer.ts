/**
 * JSON Lines: an object a line. Decimals are strings, as in the interface: most readers would make a number a double.
 */

import { type Layout, timeText } from './layout.ts';
import type { Output, RowWriter } from './row-writer.ts';

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
