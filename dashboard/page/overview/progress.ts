/** How far the backfill is, in words. */

import type { Summary } from '../../shapes.ts';
import { aboutText, counted, formatCount, formatPercent } from '../parts/format.ts';
import type { Progress } from '../state/model.ts';

export function progressWords(
  series: number,
  { left, refused, requests: all, isDeferred }: Progress,
  { state: { etaMs, left: due }, queue }: Summary,
): string {
  if (series === 0) return 'No series is tracked.';
  const more =
    refused === 0 ? '' : `; ${formatCount(refused)} more ${refused === 1 ? 'is' : 'are'} refused by the source`;
  if (left === 0) return refused === 0 ? 'Complete: nothing is left to fetch.' : `0 windows left${more}`;
  const share = formatPercent(all - left, all);
  // A period may have closed since what is due was counted.
  if (due === 0) {
    if (!isDeferred) return `${share}, ${counted(left, 'window')} left${more}`;
    return `${formatCount(left)} of ${counted(all, 'request')} left, waiting for a retry${more}`;
  }
  // As the headline counts them: those that can be requested now.
  const done = `${share}, ${counted(due, 'window')} left`;
  // The headline has the reason.
  if (etaMs === null) return `${done}${queue?.workers === 0 ? '; no worker is running' : ''}${more}`;
  return `${done}, ${aboutText(etaMs)}${more}`;
}

/** Conditions of a source that answers no requests. */
const ofSources = ['source_away', 'source_notice', 'source_refuses_key', 'banned'] as const;
export type SourceCondition = (typeof ofSources)[number];

/** The first of them; null: there is none. */
export function sourceTrouble({ state: { headline, also } }: Summary): SourceCondition | null {
  const kinds = [headline, ...also].map(({ kind }) => kind);
  return ofSources.find((one) => kinds.includes(one)) ?? null;
}
