/** What `repair` came to, for people and for programs. */

import { type SeriesKey, seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import type { Difference } from '../store/differences.ts';
import type { SettledWindow } from './ask-windows.ts';
import { differenceJson, differencesText } from './differences.ts';
import { refuseUnanswered, unansweredJson } from './unanswered.ts';
import { count, counted } from './wording.ts';

export interface Repair {
  /** Windows that were asked for: of differences, and of what was empty. */
  readonly asked: { readonly differences: number; readonly empties: number };
  readonly answered: number;
  readonly fresh: number;
  readonly revised: number;
  /** Windows whose differences are not gone. */
  readonly remaining: readonly SettledWindow[];
  readonly differences: readonly Difference[];
  /** Series with points before what was taken for their beginning: the years before are gaps now. */
  readonly earlier: readonly SeriesKey[];
  readonly unanswered: readonly SettledWindow[];
  readonly isWhole: boolean;
}

export function repairText(outcome: Repair): string {
  const { asked, answered, fresh, revised, remaining, differences } = outcome;
  if (asked.differences + asked.empties === 0) return 'nothing is known to differ: see `tidemark verify`';
  const what = [
    asked.differences > 0 ? `${counted(asked.differences, 'window')} with differences` : '',
    asked.empties > 0 ? `${counted(asked.empties, 'window')} confirmed empty` : '',
  ].filter((text) => text !== '');
  const lines = [
    ...differencesText(remaining, differences),
    `asked again for ${what.join(' and ')}, ${count(answered)} answered: ${counted(fresh, 'point')} new, ${count(revised)} changed`,
  ];
  if (differences.length > 0)
    lines.push(`${counted(differences.length, 'point')} stored here and not at the source: kept`);
  for (const series of outcome.earlier)
    lines.push(`${seriesName(series)} begins earlier than was known: what lies before is missing now`);
  return lines.join('\n');
}

export function repairJson(outcome: Repair) {
  return {
    asked: outcome.asked,
    answered: outcome.answered,
    fresh: outcome.fresh,
    revised: outcome.revised,
    remaining: differenceJson(outcome.remaining, outcome.differences),
    earlier: outcome.earlier,
    unanswered: unansweredJson(outcome.unanswered),
    interrupted: !outcome.isWhole,
  };
}

/** @throws TidemarkError unless every window was answered and no difference is left. */
export function refuseRemaining(outcome: Repair): void {
  const { unanswered, differences, answered } = outcome;
  if (!outcome.isWhole) {
    throw new TidemarkError('INTERRUPTED', `stopped after ${counted(answered, 'window')}`);
  }
  refuseUnanswered(unanswered, 'repaired');
  if (differences.length > 0) {
    throw new TidemarkError(
      'DIFFERENCES_REMAIN',
      `${counted(differences.length, 'stored point')} that the source does not have`,
    );
  }
  const [series] = outcome.earlier;
  if (series !== undefined) {
    throw new TidemarkError('GAPS_REMAIN', `${seriesName(series)} has points before its beginning`, {
      remedy: '`tidemark run` or `tidemark backfill` fetches them',
    });
  }
}
