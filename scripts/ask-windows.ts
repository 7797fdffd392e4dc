/**
 * Has windows of what is covered asked for again, by whichever workers there are.
 *
 *   looking    Reads which of its windows are queued, then what it was told came of them. Every window settled:
 *              *ended*.
 *   asking     Keeps a few of them in the queue, which come after everything else there. Where no worker is connected,
 *              this process runs one.
 *   ended      All are settled, or Ctrl-C. What nobody has started is taken out of the queue.
 *
 * A window that is neither queued nor answered was lost with the queue, and is asked for again; so is one that was
 * answered empty where points are stored, a few times. What an answer did not reach, as one that was cut short, is a
 * request of its own. A crash leaves a few windows queued that nobody waits for.
 */

import { randomBytes } from 'node:crypto';
import { dayMs } from '../contract/intervals.ts';
import { askedSlots } from '../planning/budget.ts';
import type { Range } from '../planning/ranges.ts';
import type { CoveredWindow } from '../planning/sample.ts';
import type { Window } from '../planning/windows.ts';
import { type AskedWindow, forgetUnread, takeAnswers } from '../store/asked.ts';
import { tallyFetches } from '../store/ledger.ts';
import { emptied } from '../store/verification.ts';
import { refuseHopelessSource, refuseNotice } from './fill-gaps.ts';
import { MissingParts } from './missing-parts.ts';
import { explainQueueError, lookUntilDone } from './patience.ts';
import type { Session } from './session.ts';
import type { WindowProgress } from './window-progress.ts';

/** What came of a window: the sums over its answers. */
export interface SettledWindow extends Omit<AskedWindow, 'reached' | 'seriesId' | 'startMs' | 'endMs'> {
  readonly window: CoveredWindow;
  /** What was settled of it; where that is not all, `message` says why. */
  readonly reached: readonly Range[];
}

/** The order in which they are listed. */
export function bySeriesAndTime(a: SettledWindow, b: SettledWindow): number {
  return a.window.seriesId - b.window.seriesId || a.window.startMs - b.window.startMs;
}

export interface Asking {
  readonly lane: 'verify' | 'repair';
  readonly windows: Iterable<CoveredWindow>;
  /** How many these are. */
  readonly count: number;
  readonly seriesIds: readonly number[];
  readonly signal: AbortSignal;
  readonly progress: WindowProgress;
  readonly onSettled: (settled: SettledWindow) => void;
}

type Open = { -readonly [Key in keyof SettledWindow]: SettledWindow[Key] } & { reached: Range[] };

interface Entry {
  readonly piece: Window;
  readonly open: Open;
  /** How often it was answered empty although points of it are stored. */
  readonly emptied: number;
}

/** Of a source that falsely answers empty three times in ten, one window in four hundred then remains. */
const mostEmptied = 4;

/** How far back the ledger is asked whether the source is of any use. */
const hopelessWithinMs = 300_000;
const summed = ['points', 'missingHere', 'missingThere', 'changed', 'rewritten', 'fresh', 'revised'] as const;

/**
 * @returns whether every window was settled: not so after Ctrl-C.
 * @throws TidemarkError when the source, the database or the queue cannot be used.
 */
export async function askWindows(session: Session, asking: Asking): Promise<{ readonly isWhole: boolean }> {
  const { database, config } = session;
  const { requestsPerMinute } = config.source;
  const run = randomBytes(8).toString('hex');
  const parts = new MissingParts(session, null, run);
  const startedMs = Date.now();
  const plan = asking.windows[Symbol.iterator]();
  /** In the queue, as far as is known, by series and range. */
  const waiting = new Map<string, Entry>();
  const rests: Entry[] = [];
  const unknown = new Map<number, Pick<AskedWindow, 'kind' | 'message'>>();
  let isPlanned = false;
  let settled = 0;

  function settle(open: Open): void {
    settled += 1;
    asking.onSettled(open);
  }

  function receive(answer: AskedWindow): void {
    const entry = waiting.get(keyOf(answer));
    if (entry === undefined) return;
    waiting.delete(keyOf(answer));
    const { piece, open } = entry;
    for (const count of summed) open[count] += answer[count];
    if (answer.kind === emptied && entry.emptied < mostEmptied) {
      rests.push({ piece, open, emptied: entry.emptied + 1 });
      return;
    }
    if (answer.reached === null) {
      ({ kind: open.kind, message: open.message } = answer);
      if (answer.kind === 'not_found') unknown.set(piece.seriesId, answer);
      settle(open);
      return;
    }
    open.reached.push(answer.reached);
    open.kind = answer.kind ?? open.kind;
    if (answer.reached.endMs >= piece.endMs) settle(open);
    else rests.push({ piece: { ...piece, startMs: answer.reached.endMs }, open, emptied: 0 });
  }

  function nextPiece(): Entry | null {
    for (;;) {
      const rest = rests.shift();
      if (rest !== undefined) return rest;
      const next = plan.next();
      if (next.done) {
        isPlanned = true;
        return null;
      }
      const window = next.value;
      const open: Open = { window, reached: [], ...nothing };
      const refused = unknown.get(window.seriesId);
      if (refused === undefined) return { piece: { ...window, lane: asking.lane, run }, open, emptied: 0 };
      settle({ ...open, kind: refused.kind, message: refused.message });
    }
  }

  async function look(): Promise<{ readonly isWhole: boolean } | null> {
    session.assertRoom();
    const queues = await parts.ensure(true);
    // Claims before answers: what ends in between is then taken for queued still, and not for lost.
    const claimed = await queues.requests
      .claimedWindows()
      .catch((error: unknown) => explainQueueError(error, queues.kind));
    for (const answer of await takeAnswers(database, run)) receive(answer);
    const queued = new Set<string>();
    for (const [seriesId, windows] of claimed.windows) {
      for (const window of windows) if (window.run === run) queued.add(keyOf({ seriesId, ...window }));
    }
    const lost = [...waiting].filter(([key]) => !queued.has(key)).map(([, { piece }]) => piece);
    const { refresh, backfill, probe, reread, repair, verify } = claimed.load;
    const added = [...lost];
    if (!asking.signal.aborted) {
      const room = askedSlots({ requestsPerMinute, queued: repair + verify });
      while (added.length < room) {
        const next = nextPiece();
        if (next === null) break;
        waiting.set(keyOf(next.piece), next);
        added.push(next.piece);
      }
      await queues.requests.addWindows(added);
    }
    const pausedMs = await queues.requests.pausedForMs();
    asking.progress.update({
      done: settled,
      of: asking.count,
      perMinute: requestsPerMinute,
      pausedMs,
      ahead: refresh + backfill + probe + reread,
    });
    if (asking.signal.aborted) return { isWhole: false };
    if (isPlanned && waiting.size === 0 && rests.length === 0) return { isWhole: true };
    const sinceMs = Math.max(startedMs, Date.now() - hopelessWithinMs);
    await refuseNotice(session, { startedMs, pausedMs });
    refuseHopelessSource(await tallyFetches(database, { sinceMs, seriesIds: asking.seriesIds }));
    return null;
  }

  try {
    await forgetUnread(database, startedMs - dayMs);
    return await lookUntilDone(look, asking.signal);
  } finally {
    asking.progress.stop();
    await parts.close();
  }
}

const nothing = Object.freeze({
  ...{ kind: null, message: null, points: 0, missingHere: 0, missingThere: 0 },
  ...{ changed: 0, rewritten: 0, fresh: 0, revised: 0 },
});

function keyOf(window: Range & { readonly seriesId: number }): string {
  return `${window.seriesId} ${window.startMs} ${window.endMs}`;
}
