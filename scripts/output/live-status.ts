/**
 * `tidemark status --watch`: shows the status until Ctrl-C, `q`, or the end of the output pipe.
 *
 *   polling      Reads the database and the queue and shows them: drawn on a terminal, else a line per change or a JSON
 *                document per poll.
 *   unreachable  The database or the queue was reachable before. The error is shown once, the last snapshot stays, and
 *                polling continues.
 *   ended        The terminal is restored.
 */

import { type Clock, systemClock } from '../../clock.ts';
import { exitCodes, TidemarkError } from '../../errors.ts';
import { formatTime } from '../../model/format.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { Disposer } from '../../operations/disposer.ts';
import { isUnreachable, unreachableText } from '../../operations/poll-until.ts';
import { awayHeadline } from '../../operations/status/facts.ts';
import { StatusPoller, type StatusSnapshot } from '../../operations/status/poller.ts';
import { configFromEnvironment, openContext } from '../../runtime/context.ts';
import { onStop, unlessStopped } from '../../runtime/lifecycle.ts';
import { explainDatabaseError } from '../../store/db/failure.ts';
import { type LiveStatus, liveStatusJson, liveStatusLine, liveStatusLines } from './live-status-view.ts';
import { openFrame, readKeys, type Terminal, terminalOf } from './terminal.ts';

export interface LiveStatusOptions {
  readonly json: boolean;
  /** Null: the default of the output. */
  readonly everyMs: number | null;
}

const defaultEveryMs = 2000;
/** The pause after a poll is at least this multiple of its duration. */
const restShare = 4;

/** @throws TidemarkError when the first poll fails, or a later one for another reason than an unreachable server. */
export async function showLiveStatus(options: LiveStatusOptions): Promise<void> {
  const stop = onStop({ clock: systemClock });
  const quit = new AbortController();
  const leave = () => quit.abort();
  process.stdout.on('error', leave);
  const signal = AbortSignal.any([stop.signal, quit.signal]);
  const terminal = options.json ? null : terminalOf(process.stdout);
  const config = configFromEnvironment();
  // Log lines would break the drawing.
  const isDrawnOnLog = terminal !== null && process.stderr.isTTY;
  const context = await openContext({
    command: 'status',
    defaultLogLevel: 'error',
    handlesSignals: true,
    config: isDrawnOnLog ? { ...config, logLevel: 'silent' } : config,
  });
  const { clock } = context;
  context.phase('reading the database and the queue');
  const poller = new StatusPoller(context);
  const disposer = new Disposer(clock);
  disposer.add(() => context.close());
  disposer.add(() => poller.close());
  let renderer: StatusRenderer | undefined;
  try {
    const everyMs = options.everyMs ?? defaultEveryMs;
    let wasReachable = false;
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs();
      // Ctrl-C does not wait for an unreachable server.
      const polled = await unlessStopped(pollOnce(poller, wasReachable, clock.now()), signal);
      if (polled === undefined || signal.aborted) break;
      context.phase(null);
      renderer ??=
        terminal !== null
          ? showDrawn(terminal, { everyMs, onQuit: leave })
          : options.json
            ? showJson(clock)
            : showLines(clock, { everyMs: options.everyMs });
      if (polled instanceof TidemarkError) renderer.lost(polled);
      else {
        wasReachable = true;
        renderer.show(polled);
      }
      const tookMs = clock.monotonicMs() - startedMs;
      await clock.sleep(Math.max(everyMs - tookMs, tookMs * restShare), signal);
    }
  } finally {
    renderer?.end();
    process.stdout.off('error', leave);
    await disposer.run(context.log);
    stop.release();
  }
  if (stop.signal.aborted) process.exitCode = exitCodes.interrupted;
}

async function pollOnce(
  poller: StatusPoller,
  wasReachable: boolean,
  nowMs: EpochMs,
): Promise<StatusSnapshot | TidemarkError> {
  try {
    return await poller.poll(nowMs);
  } catch (error) {
    const explained = explainDatabaseError(error);
    // A server that was never reachable may be a wrong address: fail at once.
    if (wasReachable && isUnreachable(explained)) return explained;
    throw explained;
  }
}

interface StatusRenderer {
  show(status: StatusSnapshot): void;
  /** The database or the queue is unreachable. */
  lost(error: TidemarkError): void;
  end(): void;
}

/** Draws on the whole screen, which is restored at the end. */
function showDrawn(terminal: Terminal, options: { everyMs: number; onQuit: () => void }): StatusRenderer {
  let shown: LiveStatus | null = null;
  const draw = () => {
    if (shown !== null) frame.draw(liveStatusLines(shown, terminal.space()));
  };
  const keys = readKeys(process.stdin, (key) => {
    if (key === 'q' || key === 'Q') options.onQuit();
  });
  const frame = openFrame(terminal, {
    whole: true,
    redraw: draw,
    onSuspend: keys.pause,
    onContinue: keys.resume,
  });
  return {
    show(status) {
      shown = { ...status, lost: null, everyMs: options.everyMs };
      draw();
    },
    lost(error) {
      if (shown === null) return;
      shown = { ...shown, lost: unreachableText(error) };
      draw();
    },
    end() {
      frame.end();
      keys.pause();
    },
  };
}

/** Minimum time between two changed lines of a log. */
const changedEveryMs = 30_000;
/** An unchanged line is repeated after this time, which also detects a closed pipe. */
const repeatedEveryMs = 600_000;

/** @param options.everyMs null: the default. */
function showLines(clock: Clock, options: { everyMs: number | null }): StatusRenderer {
  const dueMs = options.everyMs ?? changedEveryMs;
  let said = { line: '', atMs: Number.NEGATIVE_INFINITY };
  let isLost = false;
  const say = (line: string, atMs = clock.now()) => console.log(`${formatTime(atMs - (atMs % 1000))} ${line}`);
  return {
    show(status) {
      const line = liveStatusLine(status);
      const nowMs = clock.monotonicMs();
      const isDue = nowMs - said.atMs >= (line === said.line ? repeatedEveryMs : dueMs);
      // The first line after an error is always due.
      if (!isDue && !isLost) return;
      isLost = false;
      said = { line, atMs: nowMs };
      say(line, status.atMs);
    },
    lost(error) {
      if (!isLost) say(`${unreachableText(error)}; retrying`);
      isLost = true;
    },
    end: () => {},
  };
}

/** Prints a document per poll. */
function showJson(clock: Clock): StatusRenderer {
  return {
    show: (status) => console.log(JSON.stringify(liveStatusJson(status))),
    lost: (error) =>
      console.log(
        JSON.stringify({
          time: new Date(clock.now()).toISOString(),
          headline: awayHeadline(error),
          error: { code: error.code, message: error.message },
        }),
      ),
    end: () => {},
  };
}
