/** Telling what the source changed afterwards: once, as the old value is then replaced. */

import type { Logger } from 'pino';
import type { SeenRevision } from '../store/points.ts';
import { nameOf } from './attempt-parts.ts';
import type { Work } from './work.ts';

/**
 * One line a window, however many of its values changed: the count, and the first few with both values.
 *
 * @param summary what the commit gave back; of a poll it holds no revisions.
 */
export function tellRevisions<Answer>(work: Work<Answer>, summary: object, log: Logger): void {
  if (!isRevised(summary)) return;
  const { revised, revisions } = summary;
  const told = revisions.map(({ timeMs, before, after }) => ({
    time: new Date(timeMs).toISOString(),
    before,
    after,
  }));
  log.info({ ...nameOf(work), revised, revisions: told }, 'the source changed what it gave before');
}

function isRevised(summary: object): summary is { revised: number; revisions: readonly SeenRevision[] } {
  return (
    'revised' in summary &&
    typeof summary.revised === 'number' &&
    summary.revised > 0 &&
    'revisions' in summary
  );
}
