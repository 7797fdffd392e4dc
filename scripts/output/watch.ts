/**
 * Prints a view again and again, until the signal is aborted: in place on a terminal, elsewhere below the view before.
 * While the database or the queue is unreachable the last view stays, with the error, and reading continues.
 */

import { systemClock, unlessStopped } from '../../clock.ts';
import type { TidemarkError } from '../../errors.ts';
import { formatDuration, formatTime } from '../../model/format.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { isUnreachable, unreachableText } from '../../operations/poll-until.ts';
import { explainDatabaseError } from '../../store/db/failure.ts';
import { terminalWidth, wrapped } from './table.ts';
import { openFrame, type Terminal } from './terminal.ts';

/** How views are shown, and the errors between them. */
export interface Screen<View> {
  show(view: View): void;
  lost(error: TidemarkError): void;
  end(): void;
}

/** The pause after a view is at least this multiple of the time that it took. */
const restShare = 4;

/** @throws TidemarkError when the first view fails, or a later one for another reason than an unreachable server. */
export async function watch<View extends object>(
  screen: Screen<View>,
  read: () => Promise<View>,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  let wasReachable = false;
  try {
    while (!signal.aborted) {
      const startedMs = systemClock.monotonicMs();
      try {
        // Ctrl-C does not wait for an unreachable server.
        const view = await unlessStopped(read(), signal);
        if (view === undefined || signal.aborted) break;
        wasReachable = true;
        screen.show(view);
      } catch (thrown) {
        const error = explainDatabaseError(thrown);
        // A server that was never reachable may be a wrong address.
        if (!wasReachable || !isUnreachable(error)) throw error;
        screen.lost(error);
      }
      const tookMs = systemClock.monotonicMs() - startedMs;
      await systemClock.sleep(Math.max(everyMs - tookMs, tookMs * restShare), signal);
    }
  } finally {
    screen.end();
  }
}

/** Draws each view over the one before. @param textOf is called again when the terminal is resized. */
export function drawnScreen<View>(terminal: Terminal, everyMs: number, textOf: (view: View) => string): Screen<View> {
  let shown: { view: View; atMs: number } | undefined;
  let problem: string | undefined;
  const draw = () => {
    if (shown === undefined) return;
    const { paint } = terminal.space();
    frame.draw([
      paint('dim', `${clockText(shown.atMs)}, every ${formatDuration(everyMs)}; Ctrl-C ends`),
      ...(problem === undefined ? [] : [paint('red', problem)]),
      ...wrapped(textOf(shown.view), terminalWidth()).split('\n'),
    ]);
  };
  const frame = openFrame(terminal, { redraw: draw });
  return {
    show(view) {
      shown = { view, atMs: systemClock.now() };
      problem = undefined;
      draw();
    },
    lost(error) {
      problem = lostText(error);
      draw();
    },
    end: frame.end,
  };
}

/** Prints each view below its time, and an error once. */
export function printedScreen<View>(textOf: (view: View) => string): Screen<View> {
  let isLost = false;
  const print = (text: string) => console.log(`${clockText(systemClock.now())}\n${text}\n`);
  return {
    show(view) {
      isLost = false;
      print(wrapped(textOf(view), terminalWidth()));
    },
    lost(error) {
      if (!isLost) print(lostText(error));
      isLost = true;
    },
    end: () => {},
  };
}

/** Prints a JSON document a line. */
export function jsonScreen<View>(
  documentOf: (view: View) => object,
  errorDocument: (error: TidemarkError) => object,
): Screen<View> {
  const print = (document: object) => console.log(JSON.stringify(document));
  return { show: (view) => print(documentOf(view)), lost: (error) => print(errorDocument(error)), end: () => {} };
}

function clockText(nowMs: EpochMs): string {
  return formatTime(nowMs - (nowMs % 1000));
}

function lostText(error: TidemarkError): string {
  return `${unreachableText(error)}; retrying`;
}
