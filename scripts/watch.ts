/**
 * `tidemark status --watch`: the state, again and again, until Ctrl-C, `q`, or a reader that leaves.
 *
 *   looking    Reads database and queue, and shows what it sees: drawn on a terminal, else a line where there is news,
 *              or a document of JSON each time.
 *   away       Database or queue were there and are not: said once, what was seen last stays, and it goes on looking.
 *   ended      The terminal is as it was before, whatever ended it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { minuteMs } from '../contract/intervals.ts';
import { exitCodes, TidemarkError } from '../errors.ts';
import { timeLeftMs } from '../planning/rate.ts';
import { explainDatabaseError } from '../store/failure.ts';
import { Closing } from './closing.ts';
import { Pace } from './pace.ts';
import { configFromEnvironment, openSession } from './session.ts';
import { onStop, unlessStopped } from './stop.ts';
import { terminalOf } from './terminal/terminal.ts';
import { Lookout, type Sight } from './watch-look.ts';
import { type Showing, showDrawn, showJson, showLines } from './watch-showing.ts';

export interface WatchOptions {
  readonly json: boolean;
  /** Null: as often as suits what it is shown on. */
  readonly everyMs: number | null;
}

const usualMs = 2000;
/** Looking takes no more of the database's time than one part in so many. */
const restShare = 4;
/** Below this a rate is chance. */
const fewAnswers = 3;
const awayCodes = new Set(['DATABASE_UNREACHABLE', 'QUEUE_UNREACHABLE']);

/** @throws TidemarkError when it cannot look for any other cause than an absence, and at the first look for that too. */
export async function watch(options: WatchOptions): Promise<void> {
  const stop = onStop();
  const quit = new AbortController();
  const leave = () => quit.abort();
  process.stdout.on('error', leave);
  const signal = AbortSignal.any([stop.signal, quit.signal]);
  const terminal = options.json ? null : terminalOf(process.stdout);
  const config = configFromEnvironment();
  // A log would be written across what is drawn, and what it would say of database and queue is shown.
  const isAcross = terminal !== null && process.stderr.isTTY;
  const session = await openSession({
    ...{ command: 'status', defaultLogLevel: 'error', handlesSignals: true },
    config: isAcross ? { ...config, logLevel: 'silent' } : config,
  });
  const lookout = new Lookout(session);
  const closing = new Closing();
  closing.add(() => session.close());
  closing.add(() => lookout.close());
  let showing: Showing | undefined;
  try {
    const everyMs = options.everyMs ?? usualMs;
    const pace = new Pace();
    const beganMs = performance.now();
    let wasThere = false;
    while (!signal.aborted) {
      const startedMs = performance.now();
      // Who leaves does not wait for a server that is away.
      const seen = await unlessStopped(lookOnce(lookout, wasThere), signal);
      if (seen === undefined || signal.aborted) break;
      showing ??=
        terminal !== null
          ? showDrawn(terminal, { everyMs, onQuit: leave })
          : options.json
            ? showJson()
            : showLines({ everyMs: options.everyMs });
      if (seen instanceof TidemarkError) showing.lost(seen);
      else {
        wasThere = true;
        pace.sawLeft(seen.left);
        const etaMs = pace.timeLeftMs(seen.left, seen);
        const isYoung = performance.now() - beganMs < minuteMs;
        showing.show(seen, etaMs ?? (isYoung ? timeLeftMs(seen.left, ledgerRate(seen), seen) : null));
      }
      const tookMs = performance.now() - startedMs;
      await delay(Math.max(everyMs - tookMs, tookMs * restShare), undefined, { signal }).catch(() => {});
    }
  } finally {
    showing?.end();
    process.stdout.off('error', leave);
    await closing.run(session.log);
    stop.release();
  }
  if (stop.signal.aborted) process.exitCode = exitCodes.interrupted;
}

/** Windows answered in a millisecond of the last minute: what is known at the first look. Null: too few to tell. */
function ledgerRate({ activity }: Sight): number | null {
  const answered = Object.values(activity.verdicts).reduce((sum, requests) => sum + requests, 0);
  return answered < fewAnswers ? null : answered / minuteMs;
}

async function lookOnce(lookout: Lookout, wasThere: boolean): Promise<Sight | TidemarkError> {
  try {
    return await lookout.look(Date.now());
  } catch (error) {
    const explained = explainDatabaseError(error);
    // What was never there may be a wrong address, which is to be said at once.
    if (wasThere && explained instanceof TidemarkError && awayCodes.has(explained.code)) return explained;
    throw explained;
  }
}
