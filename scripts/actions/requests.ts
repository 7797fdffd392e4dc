/** `tidemark pause`, `resume` and `retry`: whether anything is requested, on all machines, and deferred windows now. */

import { systemClock } from '../../clock.ts';
import { retriedText, retry as retryDeferred } from '../../operations/retry.ts';
import { withContext } from '../../runtime/context.ts';
import { endPause, writePause } from '../../store/settings/settings.ts';
import { readSourcePauses } from '../../store/settings/source-orders.ts';
import { findSeries } from '../../store/status/series-history.ts';
import { userAtHost } from '../input/asked-by.ts';
import { actedRange, type RangeOptions } from '../input/selectors.ts';
import { commandCostJson, printCost } from '../output/cost-report.ts';
import type { JsonDocument } from '../output/documents.ts';

export async function pause(): Promise<void> {
  await withContext({ command: 'pause', needsDatabase: true }, async ({ clock, database }) => {
    const isNew = await writePause(database, { sinceMs: clock.now(), by: userAtHost() });
    console.log(isNew ? 'paused: only requests under way end; `tidemark resume` goes on' : 'paused before');
  });
}

export async function resume(): Promise<void> {
  await withContext({ command: 'resume', needsDatabase: true }, async ({ clock, database }) => {
    const isNew = await endPause(database, clock.now());
    const rest = [...(await readSourcePauses(database)).keys()];
    const stay =
      rest.length === 0
        ? ''
        : `; ${rest.join(', ')} ${rest.length === 1 ? 'stays' : 'stay'} paused: \`tidemark sources resume NAME\``;
    console.log(`${isNew ? 'resumed' : 'not paused'}${stay}`);
  });
}

export interface RetryOptions extends Partial<RangeOptions> {
  readonly json?: true;
}

/** Makes deferred windows due now. */
export async function retry(words: readonly string[], { json, ...range }: RetryOptions): Promise<void> {
  const within = actedRange(range, systemClock.now());
  await withContext({ command: 'retry', needsDatabase: true }, async (context) => {
    const seriesIds = words.length === 0 ? undefined : await findSeries(context.database, words);
    const outcome = await retryDeferred(context, { seriesIds, within }, json ? () => {} : printCost);
    console.log(json ? JSON.stringify(retryJson(outcome), null, 2) : retriedText(outcome));
  });
}

type Outcome = Awaited<ReturnType<typeof retryDeferred>>;

function retryJson({ windows, series, dueBefore, cost }: Outcome): JsonDocument<'retry'> {
  return { ranges: windows, refusedSeries: series, dueBefore, cost: commandCostJson(cost) };
}
