/** A share as a bar. */

import type { Line } from './lines.ts';
import type { Glyphs } from './terminal.ts';

/** Exactly `width` columns, and full only when nothing is left. */
export function bar(part: number, whole: number, width: number, glyphs: Glyphs): Line {
  const share = whole <= 0 ? 1 : Math.min(1, Math.max(0, part / whole));
  const full = Math.floor(share * width);
  return [
    { text: glyphs.full.repeat(full), style: 'green' },
    { text: glyphs.empty.repeat(width - full), style: 'dim' },
  ];
}
