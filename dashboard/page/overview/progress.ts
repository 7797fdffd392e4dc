/** How far the backfill is, in words. */

import { coveredText, progressText } from '../../../planning/progress.ts';
import type { Summary } from '../../shapes.ts';
import { formatCount } from '../parts/format.ts';
import type { Progress } from '../state/model.ts';

export function progressWords(series: number, { left, refused }: Progress, { state, queue }: Summary): string {
  if (series === 0) return 'No series is tracked.';
  if (state.waiting !== null) return state.waiting;
  // What no source gives is missing, too.
  if (state.left === 0)
    return left + refused === 0
      ? 'Complete: nothing is left to fetch.'
      : `Nothing can be fetched now, ${coveredText(state)}.`;
  const are = `${refused === 1 ? 'is' : 'are'} refused by the source`;
  const more = refused === 0 ? '' : `; ${formatCount(refused)} more ${are}`;
  // The headline has the reason for which nothing moves.
  const idle = state.etaMs === null && queue?.workers === 0 ? '; no worker is running' : '';
  return `${progressText(state)}${idle}${more}`;
}

/** Conditions of a source that gets or answers no requests. */
const ofSources = ['source_away', 'source_notice', 'source_refuses_key', 'banned', 'paused', 'source_paused'] as const;
export type SourceCondition = (typeof ofSources)[number];

/** The first of them, with the sources that it is about; null: there is none. */
export function sourceTrouble({
  state: { headline, also },
}: Summary): { readonly kind: SourceCondition; readonly sources: readonly string[] } | null {
  const all = [headline, ...also];
  const kind = ofSources.find((one) => all.some((found) => found.kind === one));
  if (kind === undefined) return null;
  return { kind, sources: all.flatMap((one) => (one.kind === kind && one.source !== null ? [one.source] : [])) };
}
