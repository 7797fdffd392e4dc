/** Rows of tables of requests. */

import { rejectedText, verdictText } from '../../../model/reasons.ts';
import { defaultSource } from '../../../model/sources.ts';
import type { PastRequest } from '../../shapes.ts';
import { formatCount, formatTime, wholeSecond } from './format.ts';

export const requestTitles = ['At', 'From', 'To', 'For', 'Verdict', 'New', 'Changed', 'Rejected', 'Took'];

/** @param timeText in which zone. */
export function requestCells(one: PastRequest, timeText = formatTime): readonly string[] {
  return [
    timeText(wholeSecond(one.timeMs)),
    one.range === null ? '' : timeText(one.range.startMs),
    one.range === null ? '' : timeText(one.range.endMs),
    one.source === defaultSource ? one.lane : `${one.lane} of ${one.source}`,
    [verdictText(one.verdict), rejectedText(one), one.error ?? one.body].filter((text) => text !== null).join(': '),
    formatCount(one.fresh),
    formatCount(one.changed),
    formatCount(one.rejected),
    `${formatCount(one.durationMs)} ms`,
  ];
}
