/** For what makes use of an answer only when the source has all of what was asked for. */

import type { Range } from '../planning/ranges.ts';
import { SourceError } from '../source/source-error.ts';
import type { WindowAnswer } from '../store/windows.ts';

/**
 * The answer, when its source does not say that something of the range is missing there: a comparison would take that for
 * a difference, and a probe for the time before a series begins.
 *
 * @throws SourceError `incomplete`.
 */
export function wholeAnswer<Answer extends WindowAnswer<unknown>>(answer: Answer, range: Range): Answer {
  const { known, status, bytes, durationMs } = answer;
  const [missing] = known?.missing ?? [];
  if (missing === undefined) return answer;
  const text = (timeMs: number) => new Date(Math.max(timeMs, 0)).toISOString();
  const asked = `${text(range.startMs)} to ${text(range.endMs)}`;
  throw new SourceError({
    kind: 'incomplete',
    message: `of ${asked} the source says that it does not have ${text(missing.startMs)} to ${text(missing.endMs)} itself`,
    ...{ status, bytes, durationMs },
  });
}
