/** Formats for the page, beside those of the command line. */

import {
  aboutText,
  counted,
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  formatTime,
  wholeSecond,
} from '../../../model/format.ts';
import { minuteMs } from '../../../model/intervals.ts';
import { coveredText } from '../../../planning/progress.ts';

export { aboutText, counted, formatBytes, formatCount, formatDuration, formatPercent, formatTime, wholeSecond };

/** A time between the columns of a drawing has no better precision. */
export function nearestMinute(timeMs: number): number {
  return Math.round(timeMs / minuteMs) * minuteMs;
}

/** An age in its largest unit. */
export function formatAge(ms: number): string {
  return ms < 1000 ? '0 s' : formatDuration(ms, 1);
}

/** A time whose fraction of a second does not matter. */
export function formatSecond(timeMs: number): string {
  return formatTime(wholeSecond(timeMs));
}

/** With a full stop, unless what a source or the service said brings its own. */
export function asSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** The covered share of a series, or why there is none yet. */
export function describeCoverage(
  { coveredMs, wantedMs, fromMs }: { coveredMs: number; wantedMs: number; fromMs: number },
  nowMs: number,
): string {
  if (wantedMs > 0) return coveredText({ coveredMs, wantedMs });
  return fromMs > nowMs ? `tracked from ${formatTime(fromMs)} onward` : 'no period has closed yet';
}
