/** What `verify` found, for people and for programs. */

import { TidemarkError } from '../errors.ts';
import { mostDiffering } from '../planning/confidence.ts';
import { differing } from '../store/compare.ts';
import type { Difference } from '../store/differences.ts';
import type { SettledWindow } from './ask-windows.ts';
import { differenceJson, differencesText } from './differences.ts';
import { refuseUnanswered, unansweredJson } from './unanswered.ts';
import { count, counted } from './wording.ts';

export interface Verification {
  /** All that is covered, in windows. */
  readonly windows: number;
  /** Windows that were compared as a whole, and the points in them. */
  readonly compared: number;
  readonly points: number;
  readonly differing: readonly SettledWindow[];
  readonly rewritten: number;
  readonly unanswered: readonly SettledWindow[];
  readonly differences: readonly Difference[];
  readonly isWhole: boolean;
}

const confidence = 0.95;

/** Points that differ, in all. */
function pointsOf(windows: readonly SettledWindow[]): number {
  return windows.reduce((sum, settled) => sum + differing(settled), 0);
}

/** How many of all windows may differ by what the sample shows: those that were compared count, whole. */
function limitOf({ windows, compared, differing, unanswered }: Verification): number | null {
  const seen = differing.filter((settled) => !unanswered.includes(settled)).length;
  return compared === 0 ? null : mostDiffering({ windows, compared, differing: seen }, confidence);
}

/** In percent, rounded up: a limit must not look lower than it is. */
function percentUp(part: number, whole: number): string {
  return `${(Math.ceil((part / whole) * 1000) / 10).toFixed(1)} %`;
}

export function verificationText(outcome: Verification): string {
  const { windows, compared, points, differing, rewritten, unanswered, differences } = outcome;
  if (windows === 0) return 'nothing is covered yet, so there is nothing to verify';
  const found =
    differing.length === 0
      ? 'nothing differs'
      : `${counted(differing.length, 'window')} differ${differing.length === 1 ? 's' : ''}, in ${counted(pointsOf(outcome.differing), 'point')}`;
  const lines = [
    ...differencesText(differing, differences),
    `compared ${count(compared)} of ${counted(windows, 'covered window')}, ${counted(points, 'point')}, digit by digit: ${found}`,
  ];
  if (rewritten > 0)
    lines.push(
      `${counted(rewritten, 'point')} equal as numbers and written with other digits (1.10, 1.1): kept as first received`,
    );
  const limit = limitOf(outcome);
  if (limit !== null) {
    lines.push(
      compared === windows
        ? 'every covered window was compared, so this is certain of what the source gives now'
        : `with 95 % confidence at most ${percentUp(limit, windows)} of the covered windows differ (${count(limit)})`,
    );
  }
  if (unanswered.length > 0) lines.push(`${counted(unanswered.length, 'window')} could not be compared`);
  return lines.join('\n');
}

export function verificationJson(outcome: Verification) {
  const limit = limitOf(outcome);
  return {
    windows: outcome.windows,
    compared: outcome.compared,
    points: outcome.points,
    differing: outcome.differing.length,
    differingPoints: pointsOf(outcome.differing),
    rewritten: outcome.rewritten,
    confidence:
      limit === null
        ? null
        : { level: confidence, atMostWindows: limit, atMostShare: limit / outcome.windows },
    differences: differenceJson(outcome.differing, outcome.differences),
    unanswered: unansweredJson(outcome.unanswered),
    interrupted: !outcome.isWhole,
  };
}

/** @throws TidemarkError unless all that was to be compared was, and nothing differs. */
export function refuseDifferences(outcome: Verification): void {
  const { differing, unanswered, compared } = outcome;
  if (differing.length > 0) {
    throw new TidemarkError(
      'DIFFERENCES_FOUND',
      `${counted(pointsOf(outcome.differing), 'point')} in ${count(differing.length)} of ${counted(compared, 'compared window')} differ from the source`,
    );
  }
  if (!outcome.isWhole) {
    throw new TidemarkError('INTERRUPTED', `stopped after ${counted(compared, 'window')}`, {
      remedy: 'run the same command again: it begins anew',
    });
  }
  refuseUnanswered(unanswered, 'compared');
}
