import type { Rate } from '../contract/resources.ts';
import { commitRates } from '../store/rates.ts';
import type { WindowAnswer } from '../store/windows.ts';
import type { Work, WorkParts } from './work.ts';

/** One snapshot of all rates: one request of `/rates`. */
export function ratesWork(parts: WorkParts): Work<WindowAnswer<Rate>> {
  return {
    dataset: 'rates',
    lane: 'poll',
    window: null,
    fetch: () => parts.source.rates(),
    commit: (answer, attempt) =>
      parts.commitSlot(() =>
        commitRates(parts.database, { answer, attempt: attempt.number, nowMs: attempt.nowMs }),
      ),
  };
}
