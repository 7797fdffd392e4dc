/** Stops a command whose source cannot answer. */

import type { EpochMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';
import { formatTime } from '../format.ts';
import { type FetchTally, readServiceMessage } from '../store/ledger/ledger.ts';
import type { OperationContext } from './context.ts';
import { isPausedBySource } from './progress.ts';

/** Failed requests without a success after which the source is considered unusable. */
const hopelessAfter = 4;

/** @throws TidemarkError SOURCE_NOTICE when the source answers with a service message. */
export async function assertNoServiceMessage(
  context: OperationContext,
  { startedMs, pausedMs }: { startedMs: EpochMs; pausedMs: number },
): Promise<void> {
  const serviceMessage = await readServiceMessage(context.database, Date.now());
  if (serviceMessage === null || (serviceMessage.timeMs < startedMs && !isPausedBySource(pausedMs))) return;
  const nowMs = Date.now();
  const when =
    serviceMessage.timeMs < startedMs
      ? `, received ${formatTime(serviceMessage.timeMs)}; running workers retry ${formatTime(nowMs + pausedMs)}`
      : '';
  throw new TidemarkError('SOURCE_NOTICE', `${serviceMessage.message}${when}`);
}

/** @throws TidemarkError when every request failed so far. */
export function assertSourceUsable(tally: FetchTally): void {
  const last = tally.lastFailure;
  if (last === null) return;
  // An expired key: every later request is refused too.
  if (last.kind === 'unauthorized' && tally.endsInFailure)
    throw new TidemarkError('SOURCE_REFUSED', last.message);
  if (tally.succeeded > 0 || tally.failed < hopelessAfter) return;
  const failedMostlyBy = (...kinds: string[]) =>
    2 * kinds.reduce((sum, kind) => sum + (tally.failures[kind] ?? 0), 0) > tally.failed;
  // A 404 without the interface's JSON: the server does not know its paths.
  if (failedMostlyBy('unexpected', 'not_found')) {
    throw new TidemarkError('SOURCE_NOT_A_MARKET_DATA_SERVICE', last.message);
  }
  if (failedMostlyBy('unreachable', 'timeout')) throw new TidemarkError('SOURCE_UNREACHABLE', last.message);
}
