/**
 * Learns the longest range that the source accepts in one request, when it refuses one with 400.
 *
 *   plain       The range is requested as planned. A refusal whose words may concern its length: *halving*. Any other
 *               words: requested once more, since a source may answer anything once; then *halving*.
 *   halving     Windows of that series are requested in their first half, then in half of that, and so on. When a
 *               window is accepted that was refused in full, its length is the limit: *learned*. Ten refusals, or one
 *               single period refused: *given up*. If other workers take the refused windows: *plain*.
 *   learned     No request of the dataset and interval is longer: here at once, elsewhere from the next planning pass
 *               on, since the limit is stored. A range that is still refused is halved again.
 *   given up    The length is not the reason. Refused windows of the series are deferred at once, so that they cost a
 *               dozen requests at most.
 *
 * A restart forgets trials, but not learned limits. Each worker tries on its own.
 */

import { type EpochMs, intervalMs } from '../model/intervals.ts';
import { type RangeKey, rangeKey } from '../model/request-range.ts';
import { askedInterval, asksAlone, asksDays, isProbe, type Window } from '../model/window.ts';

export type RangeLimitLearner = ReturnType<typeof createRangeLimitLearner>;

interface Trial {
  /** Lengths of refused windows, by start. */
  readonly refused: Map<EpochMs, number>;
  /** Null: requested in full once more. */
  lengthMs: number | null;
  halvings: number;
  /** Windows accepted that were never refused. */
  others: number;
}

/** After so many, the refused windows have gone to other workers. */
const maxOthers = 50;

/** From the interface's longest range, 20 years of days, to a week; from a day of minutes to two minutes. */
const maxHalvings = 10;

/** Key of the limit on the length of the window's request. */
function limitKey(window: Window): RangeKey {
  return rangeKey(window.series, askedInterval(window));
}

/** @param restMs how long a series is not tried again after *given up*. */
export function createRangeLimitLearner({ restMs }: { restMs: number }) {
  const learned = new Map<RangeKey, number>();
  const trials = new Map<string, Trial>();
  const givenUp = new Map<string, EpochMs>();
  const nameOf = (window: Window) => `${window.seriesId} ${limitKey(window)}`;

  function learn(key: RangeKey, longestMs: number): void {
    learned.set(key, Math.min(longestMs, learned.get(key) ?? longestMs));
  }

  return Object.freeze({
    /** The part of the window to request now: all of it, or its beginning. */
    shortened(window: Window): Window {
      const longestMs = learned.get(limitKey(window)) ?? Number.POSITIVE_INFINITY;
      const trialMs = trials.get(nameOf(window))?.lengthMs ?? longestMs;
      const maxMs = Math.min(longestMs, trialMs);
      if (window.asks.endMs - window.asks.startMs <= maxMs) return window;
      const part = { startMs: window.startMs, endMs: Math.min(window.endMs, window.startMs + maxMs) };
      // The witnesses are dropped first.
      return Object.freeze({ ...window, ...part, ...(isProbe(window) ? asksDays : asksAlone)(part) });
    },

    /**
     * Whether to request a refused window again, in part or in full. A refusal whose words do not concern the length
     * counts the second time.
     */
    refused(
      asked: Window,
      { namesLength, nowMs }: { readonly namesLength: boolean; readonly nowMs: EpochMs },
    ): 'again' | 'give_up' {
      const name = nameOf(asked);
      if (nowMs < (givenUp.get(name) ?? 0)) return 'give_up';
      const trial = trials.get(name) ?? { refused: new Map(), lengthMs: null, halvings: 0, others: 0 };
      const askedMs = asked.endMs - asked.startMs;
      const isAgain = trial.refused.has(asked.startMs);
      trial.refused.set(asked.startMs, Math.max(askedMs, trial.refused.get(asked.startMs) ?? 0));
      trials.set(name, trial);
      if (trial.lengthMs === null && !isAgain && !namesLength) return 'again';
      // A request that was active before the trial became shorter proves nothing.
      if (trial.lengthMs !== null && askedMs > trial.lengthMs) return 'again';
      const periodMs = intervalMs[askedInterval(asked)];
      trial.lengthMs = Math.floor(askedMs / 2 / periodMs) * periodMs;
      trial.halvings += 1;
      if (trial.lengthMs >= periodMs && trial.halvings <= maxHalvings) return 'again';
      trials.delete(name);
      givenUp.set(name, nowMs + restMs);
      return 'give_up';
    },

    /** @returns the limit that an accepted window proves, to be stored; null: none. */
    accepted(asked: Window): { readonly key: RangeKey; readonly longestMs: number } | null {
      const name = nameOf(asked);
      givenUp.delete(name);
      const trial = trials.get(name);
      if (trial === undefined) return null;
      const refusedMs = trial.refused.get(asked.startMs);
      if (refusedMs === undefined) {
        trial.others += 1;
        if (trial.others >= maxOthers) trials.delete(name);
        return null;
      }
      trials.delete(name);
      const longestMs = asked.endMs - asked.startMs;
      // Accepted in full the second time: the cause was temporary.
      if (longestMs >= refusedMs) return null;
      const key = limitKey(asked);
      learn(key, longestMs);
      return { key, longestMs };
    },

    /** Adds a stored limit. */
    learn,
  });
}
