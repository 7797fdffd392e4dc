/** Shows how far something is: drawn over and over on a terminal, a line now and then elsewhere. */

import { openFrame } from './frame.ts';
import type { Line } from './lines.ts';
import { nowAndThen } from './now-and-then.ts';
import { type Space, type Terminal, terminalOf } from './terminal.ts';

/** The same in two forms. */
export interface View {
  /** For a terminal with that much room. */
  readonly lines: (space: Space) => readonly Line[];
  /** Where nothing can be drawn over. */
  readonly line: string;
  /** Whether nothing comes after it: its line is then not held back. */
  readonly isLast: boolean;
}

export interface Progress {
  show(view: View): void;
  /** Prints a line for good, below what stands there. */
  say(text: string): void;
  /** What was shown last stays. */
  stop(): void;
}

export interface ProgressOptions {
  readonly stream: NodeJS.WriteStream;
  /** Shows nothing. */
  readonly quiet: boolean;
  /** Before every line. */
  readonly label?: string;
  /** Before the first line that is not drawn: what is short needs none. */
  readonly quietForMs?: number;
}

export function openProgress(options: ProgressOptions): Progress {
  if (options.quiet) return { show: () => {}, say: () => {}, stop: () => {} };
  const { stream, label = '' } = options;
  const say = (text: string) => void stream.write(`${label}${text}\n`);
  const terminal = terminalOf(stream);
  if (terminal !== null) return drawn(terminal, label, say);
  const print = nowAndThen(say, options.quietForMs);
  return { show: (view) => print(view.line, view.isLast), say, stop: () => {} };
}

/** Faster than this nobody reads, and a terminal at the other end of a slow line falls behind. */
const drawEveryMs = 100;

function drawn(terminal: Terminal, label: string, print: (text: string) => void): Progress {
  let shown: View | null = null;
  let nextMs = 0;
  const frame = openFrame(terminal, { whole: false, onContinue: draw });

  function draw(): void {
    if (shown === null) return;
    const space = terminal.space();
    const lines = shown.lines({ ...space, columns: space.columns - label.length });
    nextMs = performance.now() + drawEveryMs;
    frame.draw(label === '' ? lines : lines.map((line) => [{ text: label }, ...line]));
  }

  function stop(): void {
    draw();
    shown = null;
    terminal.stream.off('resize', draw);
    frame.end();
  }

  return {
    show(view) {
      if (shown === null) terminal.stream.on('resize', draw);
      shown = view;
      if (performance.now() >= nextMs) draw();
    },
    say(text) {
      stop();
      print(text);
    },
    stop,
  };
}
