/** Sets of the reasons in model/reasons.ts as SQL, for statements over deferred windows. */

import { type ReasonRule, reasonsWith } from '../../model/reasons.ts';

/** Whether a column has a reason whose rule fulfils a condition. */
export function hasReason(column: string, isWanted: (rule: ReasonRule) => boolean): string {
  const names = reasonsWith(isWanted).map((name) => `'${name}'`);
  return `${column} in (${names.join(', ')})`;
}

/** Whether the range was answered empty, and awaits a second answer. */
export const isAwaiting = (column: string) => hasReason(column, ({ counts }) => counts === 'awaiting');
/** Whether the range failed, also if it can never be requested. */
export const isFailed = (column: string) => hasReason(column, ({ shown }) => shown === 'failed');
/** Whether it failed, and a source after this one may have it. */
export const isOfferedToNext = (column: string) =>
  hasReason(column, ({ shown, mayBeElsewhere }) => shown === 'failed' && mayBeElsewhere);
/** Whether the source lacks the range. */
export const isLacking = (column: string) =>
  hasReason(column, ({ isLeftToNext, mayBeElsewhere }) => isLeftToNext || !mayBeElsewhere);
