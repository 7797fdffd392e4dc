/** What a terminal can show, by what it and the environment say of it. */

import { styleText } from 'node:util';
import type { Line } from './lines.ts';

export interface Glyphs {
  readonly full: string;
  readonly empty: string;
  /** Stands for what was left out. */
  readonly more: string;
}

/** The room there is to draw in. */
export interface Space {
  readonly columns: number;
  readonly rows: number;
  readonly glyphs: Glyphs;
}

export interface Terminal {
  readonly stream: NodeJS.WriteStream;
  space(): Space;
  /** The line with escape codes for its styles, where the terminal shows them and the user wants them. */
  paint(line: Line): string;
}

const unicode: Glyphs = { full: '█', empty: '░', more: '…' };
const ascii: Glyphs = { full: '#', empty: '-', more: '~' };

/** @returns null where what was written cannot be drawn over: in a pipe, in a file, on a terminal that calls itself dumb. */
export function terminalOf(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Terminal | null {
  if (stream.isTTY !== true || env.TERM === 'dumb') return null;
  const glyphs = saysUnicode(env) ? unicode : ascii;
  // Node's own judgement of NO_COLOR, NODE_DISABLE_COLORS, FORCE_COLOR and TERM. `styleText` asks for it only since
  // 22.8 and 20.18, and for one style at a time only.
  const hasColors = stream.hasColors();
  return Object.freeze({
    stream,
    space: () => ({ columns: stream.columns || 80, rows: stream.rows || 24, glyphs }),
    paint: (line) =>
      line
        .map(({ text, style }) =>
          style === undefined || !hasColors ? text : styleText(style, text, { validateStream: false }),
        )
        .join(''),
  } satisfies Terminal);
}

/** Not on Linux's console, whose letters are few, nor where the locale names another encoding. */
function saysUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.TERM === 'linux') return false;
  // In the order in which they count; an empty one does not.
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return locale === '' || /utf-?8/i.test(locale);
}
