/**
 * The terminal: its abilities, and lines that are redrawn in place.
 *
 *   off        Nothing is drawn; the cursor is shown.
 *   drawn      The cursor is hidden, below the lines.
 *   suspended  By Ctrl-Z: the shell has the terminal. After `fg` the next drawing starts over.
 *
 * Every exit of the process except SIGKILL restores the terminal.
 */

import { styleText } from 'node:util';
import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green';

/** The room to draw in. */
export interface Space {
  readonly columns: number;
  readonly rows: number;
  /** Adds the escape codes of a style if the terminal and the user want colours. */
  paint(style: Style, text: string): string;
}

export interface Terminal {
  readonly stream: NodeJS.WriteStream;
  space(): Space;
}

/** @returns null where lines cannot be redrawn: in a pipe, in a file, on a dumb terminal. */
export function terminalOf(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Terminal | null {
  if (stream.isTTY !== true || env.TERM === 'dumb') return null;
  // Node evaluates NO_COLOR, FORCE_COLOR and TERM here. `styleText` does so only since 22.8 and 20.18.
  const hasColors = stream.hasColors();
  return {
    stream,
    space: () => ({
      columns: stream.columns || 80,
      rows: stream.rows || 24,
      paint: (style, text) => (hasColors ? styleText(style, text, { validateStream: false }) : text),
    }),
  };
}

export interface Frame {
  /** Draws these lines in place of the previous ones; lines that do not fit are omitted. */
  draw(lines: readonly string[]): void;
  /** Leaves the drawn lines and restores the terminal. A later `draw` starts over. */
  end(): void;
}

const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

export interface FrameOptions {
  /** Draws again: the terminal was resized, or `fg` has returned it. */
  readonly redraw: () => void;
}

/** Draws below the printed lines. */
export function openFrame(terminal: Terminal, options: FrameOptions): Frame {
  const { stream } = terminal;
  let isDrawn = false;
  /** Widths of the drawn lines. */
  let widths: readonly number[] = [];

  function begin(): void {
    isDrawn = true;
    widths = [];
    stream.write(hideCursor);
    stream.on('resize', options.redraw);
    process.on('exit', end);
    process.on('SIGTSTP', suspend);
  }

  function end(): void {
    if (!isDrawn) return;
    isDrawn = false;
    stream.off('resize', options.redraw);
    process.off('exit', end);
    process.off('SIGTSTP', suspend);
    // Synchronous on a terminal, so it is written before the process exits.
    stream.write(showCursor);
  }

  function suspend(): void {
    end();
    process.once('SIGCONT', options.redraw);
    process.kill(process.pid, 'SIGSTOP');
  }

  /** Moves to the first drawn line. Most terminals wrap a line that is too long after a resize. */
  function back(columns: number): string {
    const rows = widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return rows === 0 ? '' : `\u001b[${rows}A\r`;
  }

  return {
    draw(lines) {
      if (!isDrawn) begin();
      const { columns, rows } = terminal.space();
      // Terminals disagree on the cursor's position after a line that fills the last column.
      const shown = lines.slice(0, Math.max(1, rows - 1)).map((line) => truncate(line, columns - 1));
      const text = shown.map((line) => `${line}${clearLine}\r\n`).join('');
      stream.write(back(columns) + text + clearBelow);
      widths = shown.map((line) => stringWidth(line));
    },
    end,
  };
}

/** Returns a share as a bar of exactly `width` columns. It is full only when nothing is left. */
export function bar(part: number, whole: number, width: number, { paint }: Space): string {
  const share = whole <= 0 ? 1 : Math.min(1, Math.max(0, part / whole));
  const full = Math.floor(share * width);
  return paint('green', '█'.repeat(full)) + paint('dim', '░'.repeat(width - full));
}

function truncate(text: string, width: number, position: 'middle' | 'end' = 'end'): string {
  // cli-truncate returns a column too many where the cut is within a wide character.
  for (let room = width; ; room -= 1) {
    const short = cliTruncate(text, room, { position });
    if (stringWidth(short) <= width) return short;
  }
}

/** Fits the text to exactly `width` columns. It cuts the middle, because names of series differ at both ends. */
export function fitted(text: string, width: number): string {
  const short = truncate(text, width, 'middle');
  return short + ' '.repeat(Math.max(0, width - stringWidth(short)));
}

/** Joins as many parts as fit, most important first. The first one is always included. */
export function asFits(parts: readonly string[], width: number, separator = ', '): string {
  const [first = '', ...rest] = parts;
  let line = first;
  for (const part of rest) {
    if (stringWidth(line) + stringWidth(separator) + stringWidth(part) > width) break;
    line += separator + part;
  }
  return line;
}
