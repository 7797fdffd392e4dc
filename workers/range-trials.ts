/**
 * Finds out how long a range the source lets one request span, when it refuses one (400).
 *
 *   plain       The range is asked for as it was planned. Refused in words that may be about its length: *halving*. In
 *               any other words: asked for once more, for a source may answer anything once; then *halving*.
 *   halving     Windows of that series are asked for in their first half, then in half of that, and so on. When one is
 *               accepted that was refused in full, that is the longest range: *learned*. Refused ten times, or down to
 *               one period: *given up*. Should those that were refused be taken by other workers: *plain*.
 *   learned     No window of the dataset and interval is asked for in more, here at once, and everywhere from the next
 *               plan on: the store remembers it. A range that is refused nevertheless is halved again.
 *   given up    It was not about the length. What the series is refused is put aside at once for as long as a failed
 *               window waits, so that it costs a dozen requests and no more.
 *
 * A crash forgets what is being tried, never what was learned. Several workers try on their own.
 */

import { type EpochMs, intervalMs } from '../contract/intervals.ts';
import { askedInterval, type RangeKey, rangeKey, type Window } from '../planning/windows.ts';

export interface RangeTrials {
  /** What of the window to ask for now: all of it, or its beginning. */
  shortened(window: Window): Window;
  /** What to do about a window that was refused as it was asked for. */
  refused(asked: Window, refusal: { readonly message: string; readonly nowMs: EpochMs }): 'again' | 'give_up';
  /** @returns what an accepted window teaches, to be remembered; null: nothing. */
  accepted(asked: Window): { readonly key: RangeKey; readonly longestMs: number } | null;
  /** Takes over what is known already. */
  learn(key: RangeKey, longestMs: number): void;
}

interface Trial {
  /** Length of what was refused, by its start. */
  readonly refused: Map<EpochMs, number>;
  /** Null: asked for in full once more. */
  lengthMs: number | null;
  halvings: number;
  /** Windows accepted that were never refused. */
  others: number;
}

/** As many of them in a row show that what was refused does not come back here. */
const mostOthers = 50;

/** From the longest range of the interface, 20 years of days, to a week of them; from a day of minutes to two. */
const mostHalvings = 10;

/** Words of services that refuse a range for its length. Any others are believed at the second time. */
const lengthWords = /range|too (?:long|large|many|big)|limit|exceed|span|maximum|window|period|days/i;

/** @param restMs how long what is refused for another reason is left alone. */
export function rangeTrials({ restMs }: { restMs: number }): RangeTrials {
  const learned = new Map<RangeKey, number>();
  const trials = new Map<string, Trial>();
  const givenUp = new Map<string, EpochMs>();
  const nameOf = (window: Window) => `${window.seriesId} ${rangeKey(window)}`;

  function learn(key: RangeKey, longestMs: number): void {
    learned.set(key, Math.min(longestMs, learned.get(key) ?? longestMs));
  }

  return Object.freeze({
    shortened(window) {
      const longestMs = learned.get(rangeKey(window)) ?? Number.POSITIVE_INFINITY;
      const trialMs = trials.get(nameOf(window))?.lengthMs ?? longestMs;
      const endMs = Math.min(window.endMs, window.startMs + Math.min(longestMs, trialMs));
      if (endMs === window.endMs) return window;
      const asked = window.run === undefined ? {} : { askedEndMs: window.endMs };
      return Object.freeze({ ...window, endMs, ...asked });
    },

    refused(asked, { message, nowMs }) {
      const name = nameOf(asked);
      if (nowMs < (givenUp.get(name) ?? 0)) return 'give_up';
      const trial = trials.get(name) ?? { refused: new Map(), lengthMs: null, halvings: 0, others: 0 };
      const askedMs = asked.endMs - asked.startMs;
      const isAgain = trial.refused.has(asked.startMs);
      trial.refused.set(asked.startMs, Math.max(askedMs, trial.refused.get(asked.startMs) ?? 0));
      trials.set(name, trial);
      if (trial.lengthMs === null && !isAgain && !lengthWords.test(message)) return 'again';
      // One that was under way when the trial became shorter says nothing new.
      if (trial.lengthMs !== null && askedMs > trial.lengthMs) return 'again';
      const periodMs = intervalMs[askedInterval(asked)];
      trial.lengthMs = Math.floor(askedMs / 2 / periodMs) * periodMs;
      trial.halvings += 1;
      if (trial.lengthMs >= periodMs && trial.halvings <= mostHalvings) return 'again';
      trials.delete(name);
      givenUp.set(name, nowMs + restMs);
      return 'give_up';
    },

    accepted(asked) {
      const name = nameOf(asked);
      givenUp.delete(name);
      const trial = trials.get(name);
      if (trial === undefined) return null;
      const refusedMs = trial.refused.get(asked.startMs);
      if (refusedMs === undefined) {
        trial.others += 1;
        if (trial.others >= mostOthers) trials.delete(name);
        return null;
      }
      trials.delete(name);
      const longestMs = asked.endMs - asked.startMs;
      // Accepted in full the second time: it had been refused for something that passed.
      if (longestMs >= refusedMs) return null;
      const key = rangeKey(asked);
      learn(key, longestMs);
      return { key, longestMs };
    },

    learn,
  } satisfies RangeTrials);
}
