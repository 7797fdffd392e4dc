/**
 * Says on standard error what a command does while it prints nothing: on a terminal in a line that gives way to any
 * other output, elsewhere in a line now and then.
 *
 *   resting   No phase: the command waits for its user, or runs until it is stopped.
 *   quiet     A phase lasts, and the silence is short.
 *   said      The phase was said, or other output followed its beginning. It is repeated after a longer silence.
 */

import cliTruncate from 'cli-truncate';
import type { Clock } from '../clock.ts';
import { formatDuration } from '../model/format.ts';
import type { ShowPhase } from '../planning/progress.ts';

/** Silence before a phase is said for the first time, and again in a log. */
const firstMs = 1000;
/** Longer than between two lines of progress (scripts/output/progress.ts), which say more. */
const againMs = 15_000;
const tickMs = 250;

/** @param log of a process that logs what it does: its phases are lines of it. */
export function openPhases(clock: Clock, log?: (line: string) => void) {
  const stream = process.stderr;
  const isLive = log === undefined && stream.isTTY === true && process.env.TERM !== 'dumb';
  const say = log ?? ((line: string) => write(`tidemark: ${line}\n`));
  let what: string | null = null;
  let progress: string | undefined;
  let sinceMs = 0;
  let outputMs = clock.monotonicMs();
  let isSaid = false;
  let isDrawn = false;
  let isOwn = false;

  function write(text: string): void {
    isOwn = true;
    stream.write(text);
    isOwn = false;
  }

  function erase(): void {
    if (isDrawn) write('\r\u001b[K');
    isDrawn = false;
  }

  function tick(): void {
    if (what === null) return;
    const nowMs = clock.monotonicMs();
    const isDue = nowMs - outputMs >= (isSaid && !isLive ? againMs : firstMs);
    if (!isDue && !isDrawn) return;
    const tookMs = Math.max(1000, nowMs - sinceMs);
    const text = `${what}${progress === undefined ? '' : `, ${progress}`}, ${formatDuration(tookMs)} so far`;
    if (isLive) write(`\r${cliTruncate(text, (stream.columns || 80) - 1)}\u001b[K`);
    else say(text);
    isSaid = true;
    isDrawn = isLive;
    outputMs = nowMs;
  }

  const unlisten = listenToOutput(() => {
    if (isOwn) return;
    erase();
    isSaid = true;
    outputMs = clock.monotonicMs();
  });
  const timer = clock.every(tickMs, tick);
  process.on('exit', erase);
  const phase: ShowPhase = (next, nextProgress) => {
    const before = what;
    progress = nextProgress;
    if (next === before) return before;
    what = next;
    sinceMs = clock.monotonicMs();
    isSaid = false;
    if (what === null) erase();
    return before;
  };
  return {
    phase,
    close(): void {
      erase();
      timer.stop();
      process.off('exit', erase);
      unlisten();
    },
  };
}

const listeners = new Set<() => void>();
let uninstall = () => {};

/** Calls the listener before each write to standard output and standard error, whoever writes. @returns ends it. */
function listenToOutput(listener: () => void): () => void {
  if (listeners.size === 0) {
    const restore = [process.stdout, process.stderr].map((stream) => {
      const write = stream.write;
      stream.write = (...values: unknown[]) => {
        for (const called of listeners) called();
        return Reflect.apply(write, stream, values);
      };
      return () => {
        stream.write = write;
      };
    });
    uninstall = () => {
      for (const one of restore) one();
    };
  }
  listeners.add(listener);
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) uninstall();
  };
}
