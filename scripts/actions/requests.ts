/** `tidemark pause`, `resume` and `retry`: whether anything is requested, on all machines, and deferred windows now. */

import { counted, formatCount } from '../../model/format.ts';
import { withContext } from '../../runtime/context.ts';
import { retryNow } from '../../store/commit/retry-now.ts';
import { writePause } from '../../store/settings/settings.ts';
import { findSeries } from '../../store/status/series-history.ts';

export async function pause(): Promise<void> {
  await withContext({ command: 'pause', needsDatabase: true }, async ({ clock, database }) => {
    const isNew = await writePause(database, { sinceMs: clock.now(), by: null });
    console.log(isNew ? 'paused: only requests under way end; `tidemark resume` goes on' : 'paused before');
  });
}

export async function resume(): Promise<void> {
  await withContext({ command: 'resume', needsDatabase: true }, async ({ database }) => {
    const isNew = await writePause(database, null);
    console.log(isNew ? 'resumed' : 'not paused');
  });
}

/** Makes deferred windows due now. */
export async function retry(words: readonly string[]): Promise<void> {
  await withContext({ command: 'retry', needsDatabase: true }, async ({ clock, database }) => {
    const seriesIds = words.length === 0 ? undefined : await findSeries(database, words);
    const { windows, series } = await retryNow(database, clock.now(), seriesIds);
    const refused = series === 0 ? '' : ` and ${formatCount(series)} refused series`;
    console.log(
      windows + series === 0
        ? 'nothing to retry: no range waits for its next attempt'
        : `${counted(windows, 'range')}${refused} can be requested now`,
    );
  });
}
