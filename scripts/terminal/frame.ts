/**
 * Lines that are drawn over and over in the same place.
 *
 *   off        Nothing is drawn; the cursor is where and as it was.
 *   drawn      The cursor is hidden, below the lines.
 *   suspended  By Ctrl-Z: the terminal is the shell's again. Continued, the next drawing begins anew.
 *
 * Whatever ends the process, save a kill that nobody can catch, leaves it off.
 */

import { cut, type Line, textOf, widthOf } from './lines.ts';
import type { Terminal } from './terminal.ts';

export interface Frame {
  /** Draws these lines in place of the ones before; what does not fit is left out. */
  draw(lines: readonly Line[]): void;
  /** Leaves what stands there, and gives the terminal back. A later `draw` begins anew. */
  end(): void;
}

const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const toOtherScreen = `\u001b[?1049h`;
const toFormerScreen = `\u001b[?1049l`;
const toTop = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

export interface FrameOptions {
  /** Whether it takes the whole screen, and leaves it as it was before. Otherwise it stays below what was printed. */
  readonly whole: boolean;
  /** Around the time in which the process is suspended. */
  readonly onSuspend?: () => void;
  readonly onContinue?: () => void;
}

export function openFrame(terminal: Terminal, options: FrameOptions): Frame {
  const { stream } = terminal;
  const { whole } = options;
  let isDrawn = false;
  /** Of the lines that stand there: how wide each is. */
  let widths: readonly number[] = [];

  function begin(): void {
    isDrawn = true;
    widths = [];
    stream.write(whole ? toOtherScreen + hideCursor : hideCursor);
    process.on('exit', end);
    process.on('SIGTSTP', suspend);
  }

  function end(): void {
    if (!isDrawn) return;
    isDrawn = false;
    process.off('exit', end);
    process.off('SIGTSTP', suspend);
    // Synchronous on a terminal: it is out before the process ends.
    stream.write(whole ? showCursor + toFormerScreen : showCursor);
  }

  function suspend(): void {
    options.onSuspend?.();
    end();
    process.once('SIGCONT', () => options.onContinue?.());
    process.kill(process.pid, 'SIGSTOP');
  }

  /** To the first of the lines that stand there. Most terminals fold a line that became too long for them. */
  function back(columns: number): string {
    const rows = widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return rows === 0 ? '' : `\u001b[${rows}A\r`;
  }

  return {
    draw(lines) {
      if (!isDrawn) begin();
      const { columns, rows, glyphs } = terminal.space();
      // A line that ends in the last column leaves the cursor in a place that terminals do not agree on.
      const shown = lines.slice(0, Math.max(1, rows - 1)).map((line) => cut(line, columns - 1, glyphs.more));
      const text = shown.map((line) => `${terminal.paint(line)}${clearLine}\r\n`).join('');
      stream.write((whole ? toTop : back(columns)) + text + clearBelow);
      widths = shown.map((line) => widthOf(textOf(line)));
    },
    end,
  };
}
