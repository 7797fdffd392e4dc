/** Rows of tables of requests. */

import { verdictText } from '../../../model/reasons.ts';
import { defaultSource } from '../../../model/sources.ts';
import type { PastRequest } from '../../shapes.ts';
import { formatCount, formatTime, wholeSecond } from './format.ts';

export const requestTitles = ['At', 'From', 'To', 'For', 'Verdict', 'New', 'Changed', 'Took'];

/** @param timeText in which zone. */
export function requestCells(one: PastRequest, timeText = formatTime): readonly string[] {
  return [
    timeText(wholeSecond(one.timeMs)),
    one.range === null ? '' : timeText(one.range.startMs),
    one.range === null ? '' : timeText(one.range.endMs),
    one.source === defaultSource ? one.lane : `${one.lane} of ${one.source}`,
    [verdictText(one.verdict), one.error ?? one.body].filter((text) => text !== null).join(': '),
    formatCount(one.fresh),
    formatCount(one.changed),
    `${formatCount(one.durationMs)} ms`,
  ];
}
