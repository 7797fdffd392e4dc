/** The three ways in which `status --watch` shows what it sees. */

import type { TidemarkError } from '../errors.ts';
import { openFrame } from './terminal/frame.ts';
import { readKeys } from './terminal/keys.ts';
import type { Terminal } from './terminal/terminal.ts';
import { watchJson, watchLine } from './watch-line.ts';
import type { Sight } from './watch-look.ts';
import { lostText, type Watched, watchLines } from './watch-view.ts';
import { moment } from './wording.ts';

export interface Showing {
  /** @param etaMs null: not known. */
  show(sight: Sight, etaMs: number | null): void;
  /** Database or queue are away. */
  lost(error: TidemarkError): void;
  end(): void;
}

/** On the whole screen, which is as before at the end. */
export function showDrawn(terminal: Terminal, options: { everyMs: number; onQuit: () => void }): Showing {
  const { stream } = terminal;
  let shown: Watched | null = null;
  const draw = () => {
    if (shown !== null) frame.draw(watchLines(shown, terminal.space()));
  };
  const keys = readKeys(process.stdin, (key) => {
    if (key === 'q' || key === 'Q') options.onQuit();
  });
  const frame = openFrame(terminal, {
    whole: true,
    onSuspend: keys.pause,
    onContinue() {
      keys.resume();
      draw();
    },
  });
  stream.on('resize', draw);
  return {
    show(sight, etaMs) {
      shown = { ...sight, etaMs, lost: null, everyMs: options.everyMs };
      draw();
    },
    lost(error) {
      if (shown === null) return;
      shown = { ...shown, etaMs: null, lost: lostText(error) };
      draw();
    },
    end() {
      stream.off('resize', draw);
      frame.end();
      keys.pause();
    },
  };
}

/** News more often than this nobody reads in a log, unless asked for. */
const newsEveryMs = 30_000;
/** Without any news: a log shows that somebody watches, and a reader that left is noticed. */
const noNewsEveryMs = 600_000;

/** @param options.everyMs as asked for; null: nobody did. */
export function showLines(options: { everyMs: number | null }): Showing {
  const newsMs = options.everyMs ?? newsEveryMs;
  let said = { line: '', atMs: Number.NEGATIVE_INFINITY };
  let isLost = false;
  const say = (line: string, atMs = Date.now()) => console.log(`${moment(secondOf(atMs))} ${line}`);
  return {
    show(sight, etaMs) {
      const line = watchLine(sight, etaMs);
      const nowMs = performance.now();
      const isDue = nowMs - said.atMs >= (line === said.line ? noNewsEveryMs : newsMs);
      // That it is back is news whatever else.
      if (!isDue && !isLost) return;
      isLost = false;
      said = { line, atMs: nowMs };
      say(line, sight.atMs);
    },
    lost(error) {
      if (!isLost) say(`${lostText(error)}; trying again`);
      isLost = true;
    },
    end: () => {},
  };
}

/** A document a look. */
export function showJson(): Showing {
  return {
    show: (sight, etaMs) => console.log(JSON.stringify(watchJson(sight, etaMs))),
    lost: (error) =>
      console.log(
        JSON.stringify({
          time: new Date().toISOString(),
          error: { code: error.code, message: error.message },
        }),
      ),
    end: () => {},
  };
}

function secondOf(timeMs: number): number {
  return timeMs - (timeMs % 1000);
}
